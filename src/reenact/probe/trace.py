"""Counts the lines of the agent's own that the interpreter comes to, and tells who wants to know of them.

Tracing is on only while somebody counts: a process that runs free to an event runs as it would without us.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, Protocol

from reenact.engine.lane import Lane, get_lane
from reenact.engine.place import BOTTOM, is_library
from reenact.probe.messages import Moment

Error = tuple[type[BaseException], BaseException, TracebackType | None]

_OWN: dict[str, bool] = {}
_NO_ERRORS = (StopIteration, StopAsyncIteration, GeneratorExit)  # by which generators end
_RESUME = dis.opmap["RESUME"]


class Listener(Protocol):
    """Who wants to know what the agent's code does, in the agent's thread."""

    def line(self, steps: Steps, frame: FrameType, lane: Lane) -> None:
        """The interpreter comes to a line."""

    def left(self, steps: Steps, frame: FrameType) -> None:
        """A frame is left; one of a coroutine or a generator may only wait."""

    def raised(self, frame: FrameType, error: Error, lane: Lane) -> None:
        """An exception comes through a frame."""


class Steps:
    """What is traced of one frame: `serial` tells frames apart. It lives as long as its frame does, and no longer.

    `begins`: its first line is still to come.
    """

    __slots__ = ("_trace", "begins", "serial")

    def __init__(self, trace: Trace, serial: int, *, begins: bool) -> None:
        self._trace = trace
        self.serial = serial
        self.begins = begins

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Steps:
        """What the interpreter calls; it calls again what this returns. Never raises: that would end the tracing."""
        try:
            self._trace.comes(self, frame, event, arg)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._trace.fault(error)
        return self


class Trace:
    """The tracing of one process. `event` and `line` say where it is; the lines are right as long as it is `on`.

    `fault` is told of errors of ours.
    """

    def __init__(self, listener: Listener, fault: Callable[[Exception], None]) -> None:
        self.fault = fault
        self.event = self.line = 0
        self.on = False
        self._listener = listener
        self._serials = 0

    @property
    def moment(self) -> Moment:
        """Where the process is."""
        return Moment(self.event, self.line)

    def begin(self, frame: FrameType | None) -> None:
        """Lines are seen from here on, also those of functions that run already."""
        if not self.on:
            self.on = True
            threading.settrace(self._called)
        self.take_up(frame)

    def take_up(self, frame: FrameType | None) -> None:
        """The same in this thread, and in what `frame` leads to."""
        if sys.gettrace() != self._called:
            sys.settrace(self._called)
        while frame is not None:
            if is_own(frame.f_code) and not isinstance(frame.f_trace, Steps):
                frame.f_trace = self._steps()
            frame = frame.f_back

    def end(self) -> None:
        """Nobody needs to see lines any more. Other threads learn of it when they call something."""
        if self.on:
            self.on = False
            threading.settrace(None)  # which is what it is until somebody sets it
            sys.settrace(None)

    def comes(self, steps: Steps, frame: FrameType, event: str, arg: Any) -> None:
        """Something happens in a frame of the agent's own."""
        lane = get_lane()
        if not self.on or lane is None or lane.session is None:
            return  # in no run, or ours: an expression is evaluated
        if event == "line":
            self.line += 1
            self._listener.line(steps, frame, lane)
            steps.begins = False
        elif event == "return":
            self._listener.left(steps, frame)
        elif event == "exception" and not issubclass(arg[0], _NO_ERRORS):
            self.line += 1
            self._listener.raised(frame, arg, lane)

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Steps | None:
        if not self.on:
            sys.settrace(None)
            return None
        if not is_own(frame.f_code):
            return None
        return frame.f_trace if isinstance(frame.f_trace, Steps) else self._steps(begins=_begins(frame))

    def _steps(self, *, begins: bool = False) -> Steps:
        self._serials += 1
        return Steps(self, self._serials, begins=begins)


def _begins(frame: FrameType) -> bool:
    """Whether a frame that is called is a new one, and not that of a coroutine or a generator which goes on."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] != _RESUME or not code[at + 1] & 3


def is_own(code: CodeType) -> bool:
    """Whether code is the agent's own: from a file of its own, and not made up by a library as it runs."""
    known = _OWN.get(code.co_filename)
    if known is None:
        given = "<string>" if sys.argv[:1] == ["-c"] else "<stdin>"
        made_up = code.co_filename.startswith("<") and code.co_filename != given
        known = _OWN[code.co_filename] = not made_up and not is_library(code.co_filename)
    return known


def the_agents(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the agent's own."""
    while frame is not None and not is_own(frame.f_code):
        frame = frame.f_back
    return frame


def serials(frame: FrameType | None) -> list[int]:
    """Those of the agent's own frames on the way to this one in its lane, the innermost first."""
    found = []
    while frame is not None and id(frame.f_code) not in BOTTOM:
        if isinstance(frame.f_trace, Steps):
            found.append(frame.f_trace.serial)
        frame = frame.f_back
    return found
