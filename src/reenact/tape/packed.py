"""Content codings (RFC 9110, 8.4): what is packed unpacked, and packed anew to a given length.

With something else in the place of a secret, a text packs to another length. The rest is filled with what means nothing
in that coding: an answer stays as long as it was. For brotli a library is needed, as the program needs one to read it.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Any, Final

MOST: Final = 64 * 1024 * 1024  # bytes that an answer may unpack to and be looked into
_STEP: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b\x08"
_TRIES: Final = [(level, memory) for memory in (9, 8) for level in (9, 8, 7, 6, 5)]  # of zlib, which packs so and so
_FILLERS: Final = ((), (1,), (2,), (1, 2), (3,))  # of deflate, by the bytes that fill no blocks of 5
_BROTLI_EMPTY: Final = b"\x06"  # metadata of no bytes (RFC 7932, 9.2)
_ZSTD_EMPTY: Final = bytes(3)  # a raw block of no bytes (RFC 8878, 3.1.1.2)
_ZSTD_LEVEL: Final = 19


def unpacked(coding: str, data: bytes) -> bytes | None:
    """What is in it, of data that is cut as far as it goes; None where that cannot be told, or is too much."""
    unpack = _UNPACK.get(coding)
    return unpack(data) if unpack is not None else None


def repacked(coding: str, plain: bytes, size: int) -> bytes | None:
    """The text in that coding, in exactly so many bytes; None where that cannot be had."""
    return next((data for data in _REPACK[coding](plain, size) if len(data) == size), None)


def inflated(data: bytes, bits: int) -> bytes | None:
    """As `unpacked`, of zlib's formats."""
    unpacker = zlib.decompressobj(bits)
    try:
        plain = unpacker.decompress(data, MOST)
    except zlib.error:
        return None
    return None if unpacker.unconsumed_tail else plain


def _deflate(data: bytes) -> bytes | None:
    """With a header before it (RFC 1950, 2.2), or bare, as some servers send it under the same name."""
    headed = len(data) > 1 and data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return inflated(data, zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)


def _zstd(data: bytes) -> bytes | None:
    import zstandard  # noqa: PLC0415  only what came so needs it

    reader = zstandard.ZstdDecompressor().stream_reader(BytesIO(data), read_across_frames=True)
    return _together(iter(lambda: reader.read(_STEP), b""), zstandard.ZstdError)


def _brotli(data: bytes) -> bytes | None:
    library = _brotli_library()
    if library is None:
        return None
    unpacker = library.Decompressor()
    return _together((unpacker.process(data[at : at + 256]) for at in range(0, len(data), 256)), library.error)


def _together(pieces: Iterator[bytes], fault: type[Exception]) -> bytes | None:
    found, size = [], 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > MOST:
                return None
            found.append(piece)
    except fault:
        return None
    return b"".join(found)


def _brotli_library() -> Any:
    """Whichever there is."""
    for name in ("brotli", "brotlicffi"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _gzipped(plain: bytes, size: int) -> Iterator[bytes]:
    """A member of gzip (RFC 1952). What is over is a file's name."""
    for level, memory in _TRIES:
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, memory)
        deflated = packer.compress(plain) + packer.flush()
        over = size - len(deflated) - 18
        flags, name = (b"\x08", b"x" * (over - 1) + b"\0") if over > 0 else (b"\0", b"")
        check = zlib.crc32(plain).to_bytes(4, "little") + (len(plain) & 0xFFFFFFFF).to_bytes(4, "little")
        yield _GZIP + flags + bytes(4) + b"\x02\xff" + name + deflated + check


def _zlibbed(plain: bytes, size: int) -> Iterator[bytes]:
    """What zlib writes (RFC 1950). What is over are empty blocks."""
    check = zlib.adler32(plain).to_bytes(4, "big")
    for level, memory in _TRIES:
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, memory)
        deflated = packer.compress(plain) + packer.flush()
        yield b"\x78\xda" + filler(size - len(deflated) - 6) + deflated + check


def filler(size: int) -> bytes:
    """Deflated data of so many bytes that say nothing, where that can be had: up to 4 and 8 it cannot."""
    rest = b"".join(map(_empty, _FILLERS[size % 5]))
    return rest + _empty(0) * ((size - len(rest)) // 5)


def _empty(before: int) -> bytes:
    """A stored block of no bytes, to a byte's border (RFC 1951, 3.2.4), after so many of fixed codes, of 10 bits."""
    bits = sum(1 << 10 * at + 1 for at in range(before))
    return bits.to_bytes((10 * before + 3 + 7) // 8, "little") + b"\x00\x00\xff\xff"


def _zstandard(plain: bytes, size: int) -> Iterator[bytes]:
    """A frame (RFC 8878, 3.1.1). What is over are empty blocks, and in 1 or 2 bytes the number of no dictionary."""
    import zstandard  # noqa: PLC0415  as above

    parameters = zstandard.ZstdCompressionParameters.from_level(_ZSTD_LEVEL, write_content_size=False)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compress(plain)
    empty, number = divmod(size - len(frame), len(_ZSTD_EMPTY))
    yield frame[:4] + bytes((frame[4] | number,)) + frame[5:6] + bytes(number) + _ZSTD_EMPTY * empty + frame[6:]


def _brotlied(plain: bytes, size: int) -> Iterator[bytes]:
    """A stream of brotli (RFC 7932). What is over is metadata of no bytes."""
    for window in (22, 24, 18, 16):
        packer = _brotli_library().Compressor(quality=11, lgwin=window)
        begun = packer.flush()
        packed = packer.process(plain) + packer.finish()
        yield begun + _BROTLI_EMPTY * (size - len(begun) - len(packed)) + packed


_UNPACK: Final[dict[str, Callable[[bytes], bytes | None]]] = {
    "gzip": lambda data: inflated(data, 16 + zlib.MAX_WBITS),
    "x-gzip": lambda data: inflated(data, 16 + zlib.MAX_WBITS),
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
_REPACK: Final[dict[str, Callable[[bytes, int], Iterable[bytes]]]] = {
    "gzip": _gzipped,
    "x-gzip": _gzipped,
    "deflate": _zlibbed,
    "zstd": _zstandard,
    "br": _brotlied,
}
