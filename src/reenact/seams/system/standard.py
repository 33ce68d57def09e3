"""The seam in the standard streams where a program takes them by their descriptors, or by duplicates of these.

A server that speaks over its stdin and stdout may keep them for itself under other numbers, and point the old ones
elsewhere, so that nothing else gets in between.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from typing import Any

from reenact import _real
from reenact.engine.lane import get_lane
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system import output, terminal
from reenact.tape.event import Stream

_STDIN = 0
_OWN = (0, 1, 2)
_DUPLICATES = ("F_DUPFD", "F_DUPFD_CLOEXEC")


def install(patches: Patches, session: Session, was_terminal: bool) -> None:  # noqa: FBT001
    """Meets what duplicates descriptors, and what reads and writes by them."""
    seam = _Standard(session, was_terminal)
    patches.function(os, "dup", seam.dup(os.dup))
    patches.function(os, "dup2", seam.dup2(os.dup2))
    patches.function(os, "close", seam.close(os.close))
    patches.function(os, "read", seam.read(os.read))
    patches.function(os, "write", seam.write(os.write))
    patches.function(io, "open", seam.open(io.open))
    pipe = asyncio.unix_events._UnixReadPipeTransport  # type: ignore[attr-defined]
    patches.set(pipe, "__init__", seam.reading(pipe.__init__))
    try:
        import fcntl
    except ImportError:
        return
    commands = tuple(getattr(fcntl, name) for name in _DUPLICATES if hasattr(fcntl, name))
    patches.function(fcntl, "fcntl", seam.fcntl(fcntl.fcntl, commands))


class _Standard:
    """`streams` are the descriptors that are one of the three, with which."""

    def __init__(self, session: Session, was_terminal: bool) -> None:  # noqa: FBT001
        self._session = session
        self._was_terminal = was_terminal
        self._streams = {0: 0, 1: 1, 2: 2}

    def _of(self, descriptor: Any) -> int | None:
        """Which of the three that is, in this run."""
        lane = get_lane() if type(descriptor) is int and descriptor in self._streams else None
        return self._streams[descriptor] if lane is not None and lane.session is self._session else None

    def _became(self, descriptor: int, stream: int | None) -> None:
        if descriptor in _OWN:
            return  # these are what they are called, wherever they are pointed
        if stream is None:
            self._streams.pop(descriptor, None)
        else:
            self._streams[descriptor] = stream

    def reading(self, real: Callable[..., None]) -> Callable[..., None]:
        """A pipe that an event loop reads: of stdin nothing is kept then, and a recording tells."""

        def __init__(self_: Any, loop: Any, pipe: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  its name
            if self._session.recording and self._of(pipe.fileno()) == _STDIN:
                told = "what it reads from its standard input, by an event loop, is not on tape"
                self._session.note("unseen", told, _real.getframe(1))
            real(self_, loop, pipe, *args, **kwargs)

        return __init__

    # Descriptors

    def dup(self, real: Callable[[int], int]) -> Callable[[int], int]:
        """`os.dup`."""

        def dup(fd: int, /) -> int:
            new = real(fd)
            self._became(new, self._of(fd))
            return new

        return dup

    def dup2(self, real: Callable[..., int]) -> Callable[..., int]:
        """`os.dup2`."""

        def dup2(fd: int, fd2: int, inheritable: bool = True) -> int:  # noqa: FBT001, FBT002  its own
            new = real(fd, fd2, inheritable)
            self._became(new, self._of(fd))
            return new

        return dup2

    def fcntl(self, real: Callable[..., Any], duplicates: tuple[int, ...]) -> Callable[..., Any]:
        """`fcntl.fcntl`, which duplicates, too."""

        def fcntl(fd: Any, cmd: int, arg: Any = 0, /) -> Any:
            given = real(fd, cmd, arg)
            if cmd in duplicates:
                self._became(given, self._of(fd))
            return given

        return fcntl

    def close(self, real: Callable[[int], None]) -> Callable[[int], None]:
        """`os.close`."""

        def close(fd: int) -> None:
            self._became(fd, None)
            real(fd)

        return close

    # What passes through

    def read(self, real: Callable[[int, int], bytes]) -> Callable[[int, int], bytes]:
        """`os.read`."""

        def read(fd: int, length: int, /) -> bytes:
            if self._of(fd) != _STDIN:
                return real(fd, length)
            return terminal.read(lambda: real(fd, length))

        return read

    def write(self, real: Callable[[int, Any], int]) -> Callable[[int, Any], int]:
        """`os.write`, to a duplicate: to the descriptors themselves, it is met already."""

        def write(fd: int, data: Any, /) -> int:
            count = real(fd, data)
            stream = self._of(fd)
            if stream and fd not in _OWN:
                output.tell(Stream(stream), bytes(data)[:count])
            return count

        return write

    def open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`open`, of a descriptor."""

        def open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001  its name
            opened = real(file, mode, *args, **kwargs)
            stream = self._of(file)
            if stream is None:
                return opened
            if stream == _STDIN:
                return terminal.stdin_of(opened, self._session, self._was_terminal)
            output.meet(opened, Stream(stream), setattr)
            return opened

        return open
