"""The seam in descriptors: those of the tape are not there for the program, which neither closes nor replaces them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from reenact.engine.session import Session
from reenact.seams.patch import Patches


def install(patches: Patches, session: Session) -> None:
    """Meets what closes descriptors, and what puts a file in the place of another."""

    def ours() -> frozenset[int]:
        return session.writer.descriptors if session.writer is not None else frozenset()

    patches.function(os, "close", _close(os.close, ours))
    patches.function(os, "closerange", _closerange(os.closerange, ours))
    patches.function(os, "dup2", _dup2(os.dup2, ours, session))


def _close(real: Callable[[int], None], ours: Callable[[], frozenset[int]]) -> Callable[[int], None]:
    def close(fd: int) -> None:
        if type(fd) is int and fd in ours():
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(fd)

    return close


def _closerange(real: Callable[[int, int], None], ours: Callable[[], frozenset[int]]) -> Callable[[int, int], None]:
    def closerange(fd_low: int, fd_high: int, /) -> None:
        for number in sorted(ours()):
            if fd_low <= number < fd_high:
                real(fd_low, number)
                fd_low = number + 1
        real(fd_low, fd_high)

    return closerange


def _dup2(real: Callable[..., int], ours: Callable[[], frozenset[int]], session: Session) -> Callable[..., int]:
    def dup2(fd: int, fd2: int, inheritable: bool = True) -> int:  # noqa: FBT001, FBT002  its own
        if fd2 not in ours() or session.writer is None:
            return real(fd, fd2, inheritable)
        with session.writer.aside():
            return real(fd, fd2, inheritable)

    return dup2
