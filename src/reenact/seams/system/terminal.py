"""The seam in the terminal: what is typed into the program, and what it sees of the terminal itself."""

from __future__ import annotations

import builtins
import io
import os
import sys
from collections.abc import Callable
from typing import Any

from reenact import _real
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import get_lane
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.tape.event import DrawKind, Failed, Kind, PartKind

_STANDARD = (0, 1, 2)


def install(patches: Patches) -> None:
    """Meets the terminal's size, and `input` on a terminal."""
    patches.function(os, "get_terminal_size", _terminal_size(os.get_terminal_size))


def start(session: Session, terminal: tuple[bool, bool, bool], patches: Patches) -> None:
    """Gives the program the standard input and the terminal of the recording. `terminal`: which of 0, 1, 2 were one."""
    replaying = session.plan.prefix is not None
    if sys.stdin is not None and hasattr(sys.stdin, "buffer"):
        patches.set(sys, "stdin", stdin_of(sys.stdin, session, terminal[0]))
        patches.set(sys, "__stdin__", sys.stdin)
    if terminal[0] and terminal[1]:
        patches.set(builtins, "input", _input(builtins.input))
    if replaying:
        for stream, was in ((sys.stdout, terminal[1]), (sys.stderr, terminal[2])):
            if stream is not None and hasattr(stream, "__dict__"):
                patches.set(stream, "isatty", lambda was=was: was)
        patches.function(os, "isatty", _isatty(terminal))


def _isatty(terminal: tuple[bool, bool, bool]) -> Callable[[int], bool]:
    def isatty(fd: int, /) -> bool:
        return terminal[fd] if fd in _STANDARD else _real.isatty(fd)

    return isatty


def _terminal_size(real: Callable[..., os.terminal_size]) -> Callable[..., os.terminal_size]:
    def get_terminal_size(*descriptor: int) -> os.terminal_size:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(*descriptor)

        def measure() -> list[int]:
            try:
                return list(real(*descriptor))
            except OSError as error:
                return [-1, error.errno or 0]

        size = lane.session.draw(lane, DrawKind.TERMINAL_SIZE, measure, _real.getframe(1))
        assert isinstance(size, list)  # noqa: S101  a TERMINAL_SIZE draw is a list
        if size[0] < 0:
            raise OSError(size[1], os.strerror(size[1]))
        return os.terminal_size(size)

    return get_terminal_size


def _revive(failed: Failed) -> BaseException:
    return failure.decode(failed, ())


def _input(real: Callable[..., str]) -> Callable[..., str]:
    """On a terminal `input` reads past `sys.stdin`, with line editing; so its lines are kept as such."""

    def input(prompt: object = "", /) -> str:  # noqa: A001  it is the one
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(prompt)

        def perform() -> Answer:
            return Answer(PartKind.VALUE, real(prompt).encode("utf-8", "surrogateescape"))

        answer = Crossing.begin(lane, Call(Kind.STDIN, "input"), _revive).pull(perform)
        return answer.data.decode("utf-8", "surrogateescape")

    return input


def stdin_of(old: Any, session: Session, was_terminal: bool) -> Any:  # noqa: FBT001
    """The standard input in the place of a stream that reads it: text, buffered bytes, or plain ones."""
    if hasattr(old, "buffer"):
        return io.TextIOWrapper(
            stdin_of(old.buffer, session, was_terminal),
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=old.line_buffering,
        )
    reader = _Stdin(old, session, was_terminal)
    return io.BufferedReader(reader) if hasattr(old, "raw") else reader


def read(real: Callable[[], bytes]) -> bytes:
    """What `real` reads from the standard input, or read in the recording."""
    lane = get_lane()
    if lane is None or lane.session is None:
        return real()

    def perform() -> Answer:
        return Answer(PartKind.VALUE, real())

    return Crossing.begin(lane, Call(Kind.STDIN, "read"), _revive).pull(perform).data


class _Stdin(io.RawIOBase):
    """The standard input's reader; each read is an event."""

    name = "<stdin>"
    mode = "rb"

    def __init__(self, real: Any, session: Session, was_terminal: bool) -> None:  # noqa: FBT001
        self._whole = real  # which closes what is below it when nobody holds it any more
        self._under = getattr(real, "raw", real)
        self._terminal = was_terminal
        self._session = session

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._under.fileno())

    def isatty(self) -> bool:
        return self._terminal

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._whole.close()

    def readinto(self, buffer: Any, /) -> int:
        data = read(lambda: b"" if not self._session.live else self._under.read(len(buffer)) or b"")
        buffer[: len(data)] = data
        return len(data)
