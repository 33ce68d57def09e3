"""What the processes of a run tell each other of its secrets: a file that only they can read, while the run goes on.

Its key is in their memory and on no disk. When the tape is closed the file has done its work and is deleted; where all
of them are gone before that, nobody can read it any more.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reenact import _real

_open, _write, _read, _close = os.open, os.write, os.read, os.close  # not as a seam makes them
_NONCE: Final = 16
_SIZE: Final = 4


def beside(tape: Path) -> Path:
    """Where it is of the run on that tape."""
    return tape.with_name(tape.name + "-secrets")


class Sealed:
    """The file. Entries are appended, each sealed by itself: nonce, length, and the value under a pad made of both."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        self._read = 0

    def add(self, values: Iterable[bytes]) -> None:
        """Keeps values for the others."""
        entries = b"".join(self._sealed(value) for value in values)
        file = _open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            _write(file, entries)  # at once, so that entries of two processes do not mix
        finally:
            _close(file)

    def read(self) -> list[bytes]:
        """The values that have been added since this was last asked."""
        try:
            data = _content(self._path)
        except OSError:
            return []
        found = []
        while self._read + _NONCE + _SIZE <= len(data):
            at = self._read + _NONCE
            size = int.from_bytes(data[at : at + _SIZE], "big")
            if at + _SIZE + size > len(data):
                break  # it is being written
            found.append(self._padded(data[self._read : at], data[at + _SIZE : at + _SIZE + size]))
            self._read = at + _SIZE + size
        return found

    def _sealed(self, value: bytes) -> bytes:
        nonce = _real.urandom(_NONCE)
        return nonce + len(value).to_bytes(_SIZE, "big") + self._padded(nonce, value)

    def _padded(self, nonce: bytes, value: bytes) -> bytes:
        pad = hashlib.shake_256(self._key + nonce).digest(len(value))
        return bytes(one ^ other for one, other in zip(value, pad, strict=True))


def _content(path: Path) -> bytes:
    file = _open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        return b"".join(iter(lambda: _read(file, 1 << 16), b""))
    finally:
        _close(file)
