"""The frames of `application/vnd.amazon.eventstream`.

A frame: total length, header length, CRC32 of these 8 bytes, headers, payload, CRC32 of all before it;
numbers are 32-bit big-endian. https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

_STRING = 7
_PRELUDE = struct.Struct(">II")
_CRC = struct.Struct(">I")
_AROUND = _PRELUDE.size + 2 * _CRC.size


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One frame whose headers are all strings."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = _PRELUDE.pack(len(head) + len(payload) + _AROUND, len(head))
    start = prelude + _CRC.pack(zlib.crc32(prelude)) + head + payload
    return start + _CRC.pack(zlib.crc32(start))


def event(kind: str, payload: bytes) -> bytes:
    """A frame that carries an event with a JSON payload."""
    return frame({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, payload)


def frames(body: bytes) -> Iterator[bytes]:
    """The frames of a body, told by their lengths; what is left over at the end comes as it is."""
    at = 0
    while at + _PRELUDE.size <= len(body):
        size = max(_PRELUDE.unpack_from(body, at)[0], _AROUND)
        yield body[at : at + size]
        at += size
    if at < len(body):
        yield body[at:]


def _header(name: str, value: str) -> bytes:
    n, v = name.encode(), value.encode()
    return struct.pack(">B", len(n)) + n + struct.pack(">BH", _STRING, len(v)) + v
