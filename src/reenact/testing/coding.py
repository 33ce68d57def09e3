"""Content codings: gzip, br and zstd, for whole bodies and flushed chunk by chunk for streams."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Literal, Protocol

from reenact.testing.response import Response

Coding = Literal["gzip", "br", "zstd"]

_GZIP = 16 + zlib.MAX_WBITS


class CodingUnavailableError(ImportError):
    """The library of a content coding is not installed; the message names it."""


class _Press(Protocol):
    def push(self, data: bytes) -> bytes:
        """What the data became, all of it."""

    def end(self) -> bytes:
        """What closes the stream."""


class _Gzip:
    def __init__(self) -> None:
        self._z = zlib.compressobj(6, zlib.DEFLATED, _GZIP)

    def push(self, data: bytes) -> bytes:
        return self._z.compress(data) + self._z.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._z.flush()


class _Brotli:
    def __init__(self) -> None:
        self._z = import_module("brotli").Compressor(quality=4)

    def push(self, data: bytes) -> bytes:
        return bytes(self._z.process(data)) + bytes(self._z.flush())

    def end(self) -> bytes:
        return bytes(self._z.finish())


class _Zstd:
    def __init__(self) -> None:
        library = import_module("zstandard")
        self._z = library.ZstdCompressor().compressobj()
        self._flush_block = library.COMPRESSOBJ_FLUSH_BLOCK

    def push(self, data: bytes) -> bytes:
        return bytes(self._z.compress(data)) + bytes(self._z.flush(self._flush_block))

    def end(self) -> bytes:
        return bytes(self._z.flush())


_PRESSES: dict[Coding, Callable[[], _Press]] = {"gzip": _Gzip, "br": _Brotli, "zstd": _Zstd}
_LIBRARIES: dict[Coding, str] = {"br": "brotli", "zstd": "zstandard"}


def require(coding: Coding) -> None:
    """Raise CodingUnavailableError when this interpreter cannot write the coding."""
    if coding not in _PRESSES:
        message = f"unknown content coding {coding!r}: one of {', '.join(_PRESSES)}"
        raise ValueError(message)
    try:
        _PRESSES[coding]()
    except ImportError as error:
        library = _LIBRARIES[coding]
        message = f"content coding {coding!r} needs the library {library!r}: pip install {library}"
        raise CodingUnavailableError(message) from error


def accepts(accept_encoding: str, coding: Coding) -> bool:
    """Whether the Accept-Encoding header names the coding with a weight above 0 (RFC 9110 12.5.3)."""
    for item in accept_encoding.split(","):
        name, _, weight = item.partition(";")
        if name.strip().lower() == coding:
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def encoded(response: Response, coding: Coding) -> Response:
    """The response in the coding; each chunk of a stream can be decoded as soon as it arrives."""
    press = _PRESSES[coding]()
    headers = (*response.headers, ("content-encoding", coding), ("vary", "Accept-Encoding"))
    if isinstance(response.body, bytes):
        return Response(response.status, headers, press.push(response.body) + press.end(), response.pace)
    chunks = [press.push(chunk) for chunk in response.body]
    if chunks:
        chunks[-1] += press.end()
    return Response(response.status, headers, tuple(chunks), response.pace)
