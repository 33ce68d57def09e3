"""A file that another tool has made: what sort it is, and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from reenact.errors import ForeignError
from reenact.foreign import cassette, har, yaml
from reenact.foreign.exchange import Found

LARGEST = 256 << 20


def load(path: Path) -> Found:
    """The exchanges in a cassette of vcrpy or a HAR.

    Raises:
        ForeignError: it is neither, or is not as it should be.
    """
    return _found(_read(path))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ForeignError(f"it cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise ForeignError(f"it is larger than {LARGEST >> 20} MB")
    return data


def _found(data: bytes) -> Found:
    document = _document(data.removeprefix(b"\xef\xbb\xbf"))
    if har.is_har(document):
        return Found("HAR", har.exchanges(document))
    if cassette.is_cassette(document):
        return Found("vcrpy cassette", cassette.exchanges(document))
    raise ForeignError("it is neither a cassette of vcrpy nor a HAR: it has no 'interactions' and no 'log'")


def _document(data: bytes) -> Any:
    """JSON where it begins as that; YAML has it within itself, and takes much longer."""
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ForeignError(f"it cannot be read as JSON: {error}") from error
    return yaml.load(data)
