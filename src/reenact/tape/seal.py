"""The seal: the last bytes of a closed tape. By it one knows that the file is what was closed, and who has signed it.

    the database | signatures | size of the database | SHA-256 of all before | magic number

SQLite reads as many pages as its header counts, and so no further than to the seal.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from reenact.errors import TapeCorruptError
from reenact.tape.replacing import replacing

MAGIC: Final = b"rnctseal"
MOST_SIGNATURES: Final = 64
_SIZE_BYTES: Final = 8
_END_BYTES: Final = _SIZE_BYTES + 32 + len(MAGIC)
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = _KEY_BYTES + 64
_SECTOR: Final = 512  # a database is a multiple of it; a seal, of 48 bytes and 96 for each signature, never is
_BLOCK: Final = 1 << 20
SIGNED: Final = b"a sealed tape of reenact\n"


class Signature(Struct, frozen=True):
    """One of Ed25519 (RFC 8032), with the private half of `key`, of what `Seal.statement` says."""

    key: bytes
    value: bytes


class Seal(Struct, frozen=True):
    """`digest` is the SHA-256 of the database, of `size` bytes: of the journal, of the tables made from it, of all."""

    size: int
    digest: bytes
    signatures: tuple[Signature, ...] = ()

    @property
    def statement(self) -> bytes:
        """What is signed. It says of what, so that a signature of anything else is none of a tape."""
        return SIGNED + self.digest


def is_sealed(path: Path) -> bool:
    """Whether the file ends with a seal, be it right or wrong.

    A file that can have none is not opened: this process may be recording on it, and who closes a file lets go of all
    locks that its process has on it (POSIX, fcntl).
    """
    if not path.stat().st_size % _SECTOR:
        return False
    with path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - len(MAGIC), 0))
        return file.read() == MAGIC


def read(path: Path) -> Seal:
    """The seal of a sealed file, of which every bit is looked at. Whether signatures are right is not.

    Raises:
        TapeCorruptError: a bit is not what was sealed.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - _END_BYTES, 0))
        size = int.from_bytes(file.read(_SIZE_BYTES), "big")
        signed = length - _END_BYTES - size
        if 0 <= signed <= MOST_SIGNATURES * _SIGNATURE_BYTES and not signed % _SIGNATURE_BYTES:
            file.seek(0)
            _through(file, size, digest.update)
            seal = Seal(size, digest.digest(), _signatures(file.read(signed)))
            file.seek(size)
            if file.read() == _end(seal, digest.update, digest.digest):
                return seal
    raise TapeCorruptError(f"{path} is damaged: its bytes are not those that were sealed when it was closed")


def put(path: Path) -> Seal:
    """Ends a database with its seal."""
    digest = hashlib.sha256()
    with path.open("r+b") as file:
        size = path.stat().st_size
        _through(file, size, digest.update)
        seal = Seal(size, digest.digest())
        file.write(_end(seal, digest.update, digest.digest))
    return seal


def change(path: Path, seal: Seal) -> None:
    """Ends a sealed tape with this seal of the same database instead.

    Raises:
        TapeCorruptError: the database is another.
    """
    digest = hashlib.sha256()
    with replacing(path) as new, path.open("rb") as old, new.open("wb") as file:
        _through(old, seal.size, digest.update, file.write)
        if digest.digest() != seal.digest:
            raise TapeCorruptError(f"{path} has changed meanwhile")
        file.write(_end(seal, digest.update, digest.digest))


def _through(file: BinaryIO, size: int, *sinks: Callable[[bytes], object]) -> None:
    """Gives the next bytes of a file to all of these."""
    while size and (block := file.read(min(size, _BLOCK))):
        size -= len(block)
        for sink in sinks:
            sink(block)


def _end(seal: Seal, update: Callable[[bytes], None], digest: Callable[[], bytes]) -> bytes:
    """The bytes of a seal. What is given is of the SHA-256 of the database, and goes on to that of all."""
    begin = b"".join(one.key + one.value for one in seal.signatures) + seal.size.to_bytes(_SIZE_BYTES, "big")
    update(begin)
    return begin + digest() + MAGIC


def _signatures(data: bytes) -> tuple[Signature, ...]:
    found = (data[at : at + _SIGNATURE_BYTES] for at in range(0, len(data), _SIGNATURE_BYTES))
    return tuple(Signature(one[:_KEY_BYTES], one[_KEY_BYTES:]) for one in found)
