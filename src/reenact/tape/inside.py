"""What a text holds in other forms: packed, in base64, with escapes of URLs. For who looks for something in it."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from reenact.tape.packed import unpacked

_PACKED: Final = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
    "deflate": re.compile(rb"\x78[\x01\x5e\x9c\xda]"),
}
_MOST: Final = 1000  # places in one text where something packed may begin
_RUN: Final = re.compile(rb"[A-Za-z0-9+/]{16,}|[A-Za-z0-9_-]{16,}")
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_GROUP: Final = 4
_LONG: Final = 64 * 1024  # bytes of a run that is taken to begin with a whole group
_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_DEPTH: Final = 3


def inside(text: bytes, depth: int = _DEPTH) -> Iterator[tuple[str, bytes]]:
    """Each with the form that it is in, outermost first, such as "base64, gzip"."""
    for form, plain in _once(text):
        yield form, plain
        if depth > 1:
            for deeper, found in inside(plain, depth - 1):
                yield f"{form}, {deeper}", found


def _once(text: bytes) -> Iterator[tuple[str, bytes]]:
    for coding, beginning in _PACKED.items():
        for match, _ in zip(beginning.finditer(text), range(_MOST), strict=False):
            plain = _begun(coding, text[match.start() :])
            if plain:
                yield coding, plain
    runs = b"\n".join(plain for match in _RUN.finditer(text) for plain in _decoded(match[0]))
    if runs:
        yield "base64", runs
    if _ESCAPE.search(text) is not None:
        yield "escapes of a URL", unquote_to_bytes(text)


def _begun(coding: str, data: bytes) -> bytes | None:
    """What is packed there, whatever comes after it."""
    if coding != "deflate":
        return unpacked(coding, data)
    try:
        return zlib.decompressobj().decompress(data, 1 << 26)
    except zlib.error:
        return None


def _decoded(run: bytes) -> Iterator[bytes]:
    """A run of letters of base64, which may begin within a group: other letters stood before it."""
    for start in range(_GROUP if len(run) <= _LONG else 1):
        letters = run[start:].translate(_STANDARD)
        letters = letters[: len(letters) - (len(letters) % _GROUP == 1)]
        try:
            yield base64.b64decode(letters + b"=" * (-len(letters) % _GROUP))
        except binascii.Error:
            continue
