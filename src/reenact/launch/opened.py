"""Files that a process has open when it is copied: the system would share between both how far each is read.

A copy, which has files of its own, opens them again, where they stand for it, under the same numbers.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from reenact import _real

_FDS, _ABOUT = "/proc/self/fd", "/proc/self/fdinfo"
# before seams meet them
_open, _close, _read, _dup2, _lseek = os.open, os.close, os.read, os.dup2, os.lseek
_listdir, _readlink, _fstat, _stat = os.listdir, os.readlink, os.fstat, os.stat
_get_inheritable = os.get_inheritable


class File(NamedTuple):
    """One of them: its number, its path, how it was opened and how far it is read."""

    number: int
    path: str
    flags: int
    offset: int
    inode: int
    inheritable: bool

    def open_again(self) -> None:
        """In a copy.

        Raises:
            OSError: it is not there for it.
        """
        new = _open(self.path, self.flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))
        try:
            if _fstat(new).st_ino != self.inode:
                raise OSError(f"{self.path} is another file in a copy")
            _lseek(new, self.offset, os.SEEK_SET)
            _dup2(new, self.number, self.inheritable)
        finally:
            _close(new)


def files(ours: int) -> list[File]:
    """All of them but that descriptor."""
    found = []
    for number, path, about in _all(ours):
        told = dict(line.split(":\t") for line in _content(f"{_ABOUT}/{number}").splitlines() if ":\t" in line)
        flags = int(told["flags"], 8)
        inheritable = _get_inheritable(number)
        found.append(File(number, path, flags & ~os.O_CLOEXEC, int(told["pos"]), about.st_ino, inheritable))
    return found


def obstacle(ours: int) -> str:
    """Why they cannot be opened again; "" where they can."""
    before: dict[tuple[int, int], list[int]] = {}
    for number, path, about in _all(ours):
        which = about.st_dev, about.st_ino
        try:
            now = _stat(path)
            there = (now.st_dev, now.st_ino) == which
        except OSError:
            there = False
        if not there:
            return f"it has a file open that is not where it was any more ({path})"
        if any(_are_one(number, other) for other in before.get(which, ())):
            return f"it has {path} open under two numbers that go on together"
        before.setdefault(which, []).append(number)
    return ""


def _all(ours: int) -> Iterator[tuple[int, str, os.stat_result]]:
    for name in _listdir(_FDS):
        with contextlib.suppress(OSError):
            about = _fstat(int(name))
            if int(name) not in (0, 1, 2, ours) and (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
                path = _readlink(f"{_FDS}/{name}")
                if path != f"/proc/{_real.getpid()}/fd":  # which was open for this
                    yield int(name), path, about


def _are_one(number: int, other: int) -> bool:
    """Whether to read from one is to read from the other."""
    at = _lseek(number, 0, os.SEEK_CUR)
    before = _lseek(other, 0, os.SEEK_CUR)
    _lseek(number, at + 1, os.SEEK_SET)
    moved = _lseek(other, 0, os.SEEK_CUR) != before
    _lseek(number, at, os.SEEK_SET)
    return moved


def _content(path: str) -> str:
    file = _open(path, os.O_RDONLY)
    try:
        return _read(file, 4096).decode()
    finally:
        _close(file)
