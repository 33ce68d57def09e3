"""Frames of `application/vnd.amazon.eventstream`, the binary framing of AWS streams.

A frame is: total length (4), headers length (4), CRC-32 of these 8 bytes (4), headers, payload, and
CRC-32 of all before it (4); integers are big-endian (Smithy, "Amazon Event Stream Specification").
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeAlias
from zlib import crc32

HeaderValue: TypeAlias = bool | int | bytes | str

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_SHORTEST = _PRELUDE.size + _CRC.size
# The specification allows 24 MiB of payload and 128 KiB of headers; a longer length is noise, not a frame to wait for.
_LONGEST = (24 << 20) + (128 << 10) + _SHORTEST
_MOST = 1 << 17

# Header types by their number: byte, short, integer, long and timestamp, with their sizes.
_INTEGERS = {2: 1, 3: 2, 4: 4, 5: 8, 8: 8}
_TRUE, _FALSE, _BYTES, _STRING, _UUID = 0, 1, 6, 7, 9


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of the stream. A timestamp header is an int in ms since 1970; a UUID stands as 32 hex digits."""

    headers: dict[str, HeaderValue]
    payload: bytes

    def word(self, name: str) -> str:
        """Return the string header `name`, else the empty string."""
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Frames:
    """The sound frames from the start on. `fault` says why the bytes from `end` on are no frame; None at the end."""

    frames: tuple[Frame, ...]
    end: int
    fault: str | None


def frames(body: bytes) -> Frames:
    """Decode frames until the end of the bytes or the first one that is cut or damaged."""
    found: list[Frame] = []
    at = 0
    while at < len(body):
        if len(found) == _MOST:
            return Frames(tuple(found), at, f"more than {_MOST:,} frames")
        try:
            frame, at = _frame(body, at)
        except ValueError as problem:
            return Frames(tuple(found), at, f"frame {len(found)}: {problem}")
        found.append(frame)
    return Frames(tuple(found), at, None)


def _frame(body: bytes, at: int) -> tuple[Frame, int]:
    """Decode the frame at `at`; raises ValueError with the reason."""
    if len(body) - at < _PRELUDE.size:
        raise ValueError("cut")
    total, headers_length, prelude_crc = _PRELUDE.unpack_from(body, at)
    if crc32(body[at : at + 8]) != prelude_crc:
        raise ValueError("wrong CRC of the prelude")
    if not _SHORTEST + headers_length <= total <= _LONGEST:
        raise ValueError("impossible length")
    if len(body) - at < total:
        raise ValueError("cut")
    end = at + total - _CRC.size
    if crc32(body[at:end]) != _CRC.unpack_from(body, end)[0]:
        raise ValueError("wrong CRC of the message")
    start = at + _PRELUDE.size
    headers = _headers(body[start : start + headers_length])
    return Frame(headers, body[start + headers_length : end]), at + total


def _headers(block: bytes) -> dict[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    at = 0
    while at < len(block):
        name_end = at + 1 + block[at]
        if name_end >= len(block):
            raise ValueError("a header is longer than its block")
        name = block[at + 1 : name_end].decode("utf-8", "replace")
        headers[name], at = _value(block, name_end)
    return headers


def _value(block: bytes, at: int) -> tuple[HeaderValue, int]:
    """Decode the type byte at `at` and the value after it."""
    kind, at = block[at], at + 1
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind in _INTEGERS:
        size = _INTEGERS[kind]
        return int.from_bytes(_taken(block, at, size), "big", signed=True), at + size
    if kind == _UUID:
        return _taken(block, at, 16).hex(), at + 16
    if kind in (_BYTES, _STRING):
        length = int.from_bytes(_taken(block, at, 2), "big")
        raw = _taken(block, at + 2, length)
        return raw if kind == _BYTES else raw.decode("utf-8", "replace"), at + 2 + length
    raise ValueError(f"unknown header type {kind}")


def _taken(block: bytes, at: int, size: int) -> bytes:
    raw = block[at : at + size]
    if len(raw) < size:
        raise ValueError("a header is longer than its block")
    return raw
