"""The seam in the process itself: its number, its abrupt end, and the signals that reach its handlers.

A signal is noted with the event during which it came, and its handler is called there again in replay. On a thread
that turns an event loop it is let in like an outcome, when the loop is at rest.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from reenact import _real
from reenact.engine.gate import gate_of
from reenact.engine.lane import MUTED, current, enter, get_lane, leave
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.tape.event import DrawKind, Signal


def install(patches: Patches, session: Session, finish: Callable[[], None]) -> None:
    """Meets `os.getpid`, `os._exit` and `signal.signal`. `finish` ends the session before an abrupt exit."""
    patches.function(os, "getpid", _getpid)
    if session.plan.prefix is not None:
        patches.function(os, "kill", _kill(os.kill, session))
        patches.function(signal, "setitimer", lambda *_: (0.0, 0.0))
        patches.function(signal, "alarm", lambda _: 0)
    patches.function(os, "_exit", _exit(os._exit, finish))
    handlers = _Handlers(session, signal.signal, signal.getsignal)
    patches.function(signal, "signal", handlers.set)
    patches.function(signal, "getsignal", handlers.get)
    session.call_handler = handlers.call


def _getpid() -> int:
    lane = get_lane()
    if lane is None or lane.session is None:
        return _real.getpid()
    return lane.session.draw(lane, DrawKind.PID, _real.getpid, _real.getframe(1))  # type: ignore[return-value]


_getpid.__name__ = _getpid.__qualname__ = "getpid"


def _kill(real: Callable[[int, int], None], session: Session) -> Callable[[int, int], None]:
    def kill(pid: int, signum: int, /) -> None:
        # in replay the program believes that it still has the number that it had
        real(_real.getpid() if pid == session.recorded_pid else pid, signum)

    return kill


def _exit(real: Callable[[int], NoReturn], finish: Callable[[], None]) -> Callable[[int], NoReturn]:
    owner = _real.getpid()

    def _exit(status: int) -> NoReturn:
        if _real.getpid() == owner and current() is not None:
            finish()
        real(status)

    return _exit


class _Handlers:
    """The program's own signal handlers, each within a note that it was called."""

    def __init__(self, session: Session, real_set: Callable[..., Any], real_get: Callable[[int], Any]) -> None:
        self._session = session
        self._set = real_set
        self._get = real_get
        self._own: dict[int, Any] = {}

    def set(self, signalnum: int, handler: Any, /) -> Any:
        """As `signal.signal`."""
        old = self.get(signalnum)
        if callable(handler) and handler is not signal.default_int_handler:
            self._set(signalnum, self._noted)
            self._own[signalnum] = handler
        else:
            self._set(signalnum, handler)
            self._own.pop(signalnum, None)
        return old

    def get(self, signalnum: int, /) -> Any:
        """As `signal.getsignal`."""
        return self._own.get(signalnum, self._get(signalnum))

    def call(self, number: int) -> None:
        """Calls the program's handler, as the interpreter would (replay)."""
        handler = self.get(number)
        if callable(handler):
            handler(number, _real.getframe(1))

    def _noted(self, number: int, frame: FrameType | None) -> None:
        handler = self._own[number]
        session = self._session
        if session.writer is None:
            # what the recording saw comes from the tape; only the person at the terminal may interrupt a replay
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        gate = gate_of(session)
        if gate is None:
            session.keep(Signal(number, session.main.current, session.main.events))
            # below a boundary nothing is seen, but the handler is the program's own
            lane = get_lane()
            token = enter(session.main if lane is MUTED else lane)
            try:
                handler(number, frame)
            finally:
                leave(token)
            return

        def deliver() -> None:
            session.keep(Signal(number, -1, -1))
            handler(number, frame)

        gate.push(deliver)
