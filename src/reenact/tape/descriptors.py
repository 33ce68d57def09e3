"""The files of an open tape as descriptors of the process that writes it, which is the program's.

A program may close descriptors that it knows nothing of (daemons do), and the system gives their numbers to the next
files that it opens. SQLite would go on to write there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

_FOLDER = "/dev/fd"
_HIGH = 512  # what closes descriptors without asking which there are mostly ends at 256
_ROOM = 16  # numbers that stay free where there are not that many
_LOG = "-wal"
_ENDS = ("", _LOG, "-shm")
_stat, _fstat, _listdir = os.stat, os.fstat, os.listdir  # before seams meet them
_open, _close, _dup = os.open, os.close, os.dup


class Files(msgspec.Struct, frozen=True):
    """`numbers` are the descriptors of a tape's files, and `log` is the one that every commit is written to.

    `device` and `inode` are what that is.
    """

    numbers: frozenset[int]
    log: int
    device: int
    inode: int

    @classmethod
    def of(cls, tape: Path) -> Files | None:
        """Those of the calling process. None where it cannot be known."""
        ours = {identity: end for end in _ENDS if (identity := _identity(f"{tape}{end}")) is not None}
        found = {number: ours[one] for number in _numbers() if (one := _identity(number)) in ours}
        for number, end in found.items():
            if end == _LOG:
                about = _fstat(number)
                return cls(frozenset(found), number, about.st_dev, about.st_ino)
        return None

    def log_size(self) -> int:
        """How large the log is; -1 when it no longer is what is written to. Who closes blindly closes it, too."""
        try:
            about = _fstat(self.log)
        except OSError:
            return -1
        return about.st_size if about.st_ino == self.inode and about.st_dev == self.device else -1


@contextlib.contextmanager
def out_of_the_way() -> Iterator[None]:
    """What is opened inside of this gets high numbers, and the program the low ones that it gets without us."""
    high = min(_HIGH, os.sysconf("SC_OPEN_MAX") - _ROOM)
    taken: list[int] = []
    try:
        with contextlib.suppress(OSError):  # there are no more: then it gets what there is
            taken.append(_open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            while taken[-1] < high - 1:
                taken.append(_dup(taken[0]))
        yield
    finally:
        for number in taken:
            _close(number)


def _numbers() -> list[int]:
    try:
        return [int(name) for name in _listdir(_FOLDER)]
    except OSError:
        return []


def _identity(file: str | int) -> tuple[int, int] | None:
    """What there is at a path or a descriptor; None for nothing."""
    try:
        about = _stat(file)
    except OSError:
        return None
    return about.st_dev, about.st_ino
