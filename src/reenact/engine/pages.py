"""Large pages of memory, for a process whose exchanges are large.

An agent that sends its whole history at each step goes through so much memory in each that what the processor knew of
it is gone by the next: what was in it, and where it was. With pages of 2 MB there are few places to be found again.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from reenact.engine.lane import muted

LARGE_BYTES = 128 * 1024  # from here on an exchange is one
_OFTEN = 64  # so many of them pay for it
_GROWN = 1.25  # by so much they have grown when it is worth to look again
_SMALL_PAGE, _LARGE_PAGE = 4096, 2 * 1024 * 1024
_FULL = _LARGE_PAGE // _SMALL_PAGE * 7 // 8  # small pages of a large one that are there, so that it costs little memory
_AT_ONCE = 16  # large pages, which takes about 10 ms
_MAPS = "/proc/self/maps"
_COLLAPSE = 25  # MADV_COLLAPSE, see madvise(2): Linux 6.1
KNOWN = sys.platform == "linux"


@cache
def _libc() -> ctypes.CDLL:
    found = ctypes.CDLL(None)
    found.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    return found


class Pages:
    """Of which pages the memory of this process is. The program sees no difference, save in how long it takes."""

    def __init__(self) -> None:
        self._exchanges = 0
        self._size = 0.0
        self._asked: set[int] = set()

    def outgrown(self, size: int) -> None:
        """There is one more exchange of at least `LARGE_BYTES`: of `size` bytes. Never raises."""
        self._exchanges += 1
        if KNOWN and self._exchanges >= _OFTEN and size > self._size * _GROWN:
            self._size = size
            with muted(), contextlib.suppress(Exception):  # it is no harm when there are none
                self.gather()

    def gather(self) -> int:
        """Puts what fills a large page nearly into one: of how many that was asked. An older system does nothing."""
        starts = [*islice((start for start in _places() if start not in self._asked and _is_full(start)), _AT_ONCE)]
        self._asked.update(starts)
        for first, count in _runs(starts):
            _libc().madvise(first, count * _LARGE_PAGE, _COLLAPSE)
        return len(starts)


def _places() -> Iterator[int]:
    """Where large pages could begin: in memory that belongs to no file."""
    for line in Path(_MAPS).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        span, access, _, _, inode, *name = line.split(None, 5)
        if access == "rw-p" and inode == "0" and (not name or name[0].strip() == "[heap]"):
            first, last = (int(end, 16) for end in span.split("-"))
            yield from range(-(-first // _LARGE_PAGE) * _LARGE_PAGE, last - _LARGE_PAGE + 1, _LARGE_PAGE)


def _is_full(start: int) -> bool:
    held = ctypes.create_string_buffer(_LARGE_PAGE // _SMALL_PAGE)
    return _libc().mincore(start, _LARGE_PAGE, held) == 0 and held.raw.count(1) >= _FULL


def _runs(starts: list[int]) -> Iterator[tuple[int, int]]:
    """Neighbours together, since each call makes the system tidy up first: where they begin, and how many they are."""
    first = 0
    for at in range(1, len(starts) + 1):
        if at == len(starts) or starts[at] != starts[at - 1] + _LARGE_PAGE:
            yield starts[first], at - first
            first = at
