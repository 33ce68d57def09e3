"""Loose reading of JSON from strangers: a value of the wrong type reads as absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

Doc: TypeAlias = Mapping[str, object]
NOTHING: Doc = {}
MOST = 4 << 20  # values of a document, events of a stream: each takes far more memory than it has bytes
_HIGHEST = 10**12  # no count of tokens is higher, so that sums of them are numbers that JSON has


def too_large(body: bytes) -> bool:
    """Whether JSON holds more values than are read."""
    return len(body) > MOST and sum(map(body.count, (b",", b"[", b"{"))) > MOST


def load(body: bytes) -> object:
    """Decode JSON. Raises ValueError, and nothing else, where it is not JSON, or too large to be read."""
    if too_large(body):
        raise ValueError(f"more than {MOST:,} values")
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except ValueError:
        return _forgiving(body)


def _forgiving(body: bytes) -> object:
    """Decode what Python's own json writes and RFC 8259 does not allow: NaN, halves of surrogate pairs."""
    try:
        value: object = json.loads(body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
        # A lone surrogate cannot be printed or encoded; it becomes "?" on the way through UTF-8.
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deep") from None


def load_doc(body: bytes) -> Doc:
    """Decode a JSON object. Raises ValueError where it is anything else."""
    value = load(body)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  callers ask one question: readable or not
    return value


def dump(value: object) -> str:
    """Compact JSON text of a decoded value."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return '"nested too deep"'


def doc(source: object, *keys: str) -> Doc:
    """Return the object at `keys`, else an empty one."""
    for key in keys:
        source = source.get(key) if isinstance(source, dict) else None
    return source if isinstance(source, dict) else NOTHING


def items(source: Doc, key: str) -> list[object]:
    """Return the list at `key`, else an empty one."""
    value = source.get(key)
    return value if isinstance(value, list) else []


def docs(source: Doc, key: str) -> list[Doc]:
    """Return the objects in the list at `key`."""
    return [item for item in items(source, key) if isinstance(item, dict)]


def text(source: Doc, *keys: str) -> str:
    """Return the first string found under any of `keys`, else the empty one."""
    for key in keys:
        value = source.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def count(source: Doc, *keys: str) -> int:
    """Return the first whole number found under any of `keys`, else 0; 0 for what is no count at all."""
    for key in keys:
        value = source.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
            return int(value) if 0 <= value <= _HIGHEST else 0
    return 0


def either(source: Doc, *keys: str) -> object:
    """Return the first value that is present and not null under any of `keys`."""
    for key in keys:
        if (value := source.get(key)) is not None:
            return value
    return None


def as_json(value: object) -> str:
    """Return a string as it is and anything else as JSON; what is absent is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dump(value)
