"""Bodies as on the wire made plain: HTTP/1.1 chunks (RFC 9112, 7.1) and content codings (RFC 9110, 8.4).

What was cut gives what could be decoded of it; what is damaged, too large or unknown gives `Unreadable`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from io import BytesIO

import zstandard

from reenact.providers.call import Unreadable
from reenact.providers.wire import Headers

LIMIT = 256 << 20
_STEP = 1 << 16
_SLICE = 1 << 13
_CODINGS_AT_MOST = 4
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n")


class _UndecodableError(Exception):
    """Why a coding could not be taken off; never leaves this file."""


def dechunk(body: bytes) -> bytes:
    """Take off chunked framing, up to where the body was cut. A body that begins with no chunk is returned as it is."""
    size_line = _CHUNK_SIZE.match(body)
    if size_line is None:
        return body
    pieces: list[bytes] = []
    while size_line is not None and (size := int(size_line[1], 16)):
        start = size_line.end()
        pieces.append(body[start : start + size])
        end = min(start + size, len(body))
        end += 2 if body[end : end + 2] == b"\r\n" else 1
        size_line = _CHUNK_SIZE.match(body, end)
    return b"".join(pieces)


def decode_content(headers: Headers, body: bytes, *, limit: int = LIMIT) -> bytes | Unreadable:
    """Take off every content coding that `headers` name; `limit` bounds the bytes after each."""
    named = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    codings = [
        coding for coding in (word.strip().lower() for word in named.split(",")) if coding not in ("", "identity")
    ]
    if len(codings) > _CODINGS_AT_MOST:
        return Unreadable(f"{len(codings)} content codings over one another", body)
    plain = body
    for coding in reversed(codings):
        decoder = _DECODERS.get(coding)
        if decoder is None:
            return Unreadable(f"unknown content coding {coding!r}", body)
        try:
            plain = decoder(plain, limit)
        except _UndecodableError as problem:
            return Unreadable(f"{coding}: {problem}", body)
    return plain


class _Bounded:
    """Output that refuses to grow over its limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self.pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self.limit:
            raise _UndecodableError(f"more than {self.limit} bytes when decoded")
        self.pieces.append(piece)

    def all(self) -> bytes:
        return b"".join(self.pieces)


def _inflate(body: bytes, limit: int, wbits: int, *, members: bool) -> bytes:
    """Decode zlib's formats; `members` goes on with the next gzip member after the end of one."""
    out = _Bounded(limit)
    stream = zlib.decompressobj(wbits)
    # In slices, because zlib copies what it has not taken yet at every call.
    for at in range(0, len(body), _SLICE):
        rest = body[at : at + _SLICE]
        while rest:
            if stream.eof:
                if not members or rest.startswith(b"\0"):
                    return out.all()
                stream = zlib.decompressobj(wbits)
            try:
                out.add(stream.decompress(rest, _STEP))
            except zlib.error as problem:
                raise _UndecodableError(str(problem)) from None
            rest = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        out.add(stream.flush())
    return out.all()


def _gzip(body: bytes, limit: int) -> bytes:
    return _inflate(body, limit, 16 + zlib.MAX_WBITS, members=True)


def _deflate(body: bytes, limit: int) -> bytes:
    """Decode zlib data, or the bare deflate data that some servers send under the same name."""
    # RFC 1950, 2.2: the method is 8, and the two first bytes as a number are divisible by 31.
    wrapped = len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    return _inflate(body, limit, zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS, members=False)


def _zstd(body: bytes, limit: int) -> bytes:
    out = _Bounded(limit)
    reader = zstandard.ZstdDecompressor().stream_reader(BytesIO(body), read_across_frames=True)
    try:
        while piece := reader.read(_STEP):
            out.add(piece)
    except zstandard.ZstdError as problem:
        raise _UndecodableError(str(problem)) from None
    return out.all()


def _brotli(body: bytes, limit: int) -> bytes:
    try:
        import brotli  # type: ignore[import-untyped]  # noqa: PLC0415  optional: only bodies in brotli need it
    except ImportError:
        raise _UndecodableError("the library brotli is not installed") from None
    out = _Bounded(limit)
    stream = brotli.Decompressor()
    try:
        if not hasattr(stream, "can_accept_more_data"):
            # Before 1.2 the output of one call cannot be bounded, so the input of one call is kept small.
            for at in range(0, len(body), 64):
                out.add(stream.process(body[at : at + 64]))
            return out.all()
        while not stream.is_finished():
            piece = stream.process(body, output_buffer_limit=_STEP)
            body = b""
            out.add(piece)
            if not piece and stream.can_accept_more_data():
                break
    except brotli.error as problem:
        raise _UndecodableError(str(problem)) from None
    return out.all()


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
