"""The seam in signals that reach the program's handlers.

A signal from outside is noted with the event during which it came, and its handler is called there again in replay. On
a thread that turns an event loop it is let in like an outcome, when the loop is at rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from reenact import _real
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.gate import Gate, gate_of
from reenact.engine.lane import MUTED, current, enter, get_lane, leave
from reenact.engine.marks import Marks
from reenact.engine.order import Order
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.tape.event import Failed, Kind, PartKind, Signal
from reenact.tape.writer import TapeWriter

_MOMENT = 0.002
_NAMED = frozenset(signal.Signals)

Handle = Callable[[], object]


class Handlers:
    """The program's own signal handlers, each within a note that it was called."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.take()
        self._set: Callable[..., Any] = signal.signal
        self._get = signal.getsignal
        self._kill = os.kill
        self._own: dict[int, Any] = {}
        self._let_into_loop: Callable[[Any, int], None] | None = None

    def take(self) -> None:
        """A run begins, in this process or in a fork of it."""
        self.owner = _real.getpid()
        self._expected: set[int] = set()
        self._pushed: set[int] = set()
        self._session.call_handler = self.call

    def install(self, patches: Patches) -> None:
        """Meets `signal.signal`, `signal.getsignal`, and the handlers of asyncio's loops."""

        @functools.wraps(self._set)
        def set_handler(signalnum: int, handler: Any) -> Any:
            return self.set(signalnum, handler)

        @functools.wraps(self._get)
        def getsignal(signalnum: int) -> Any:
            return self.get(signalnum)

        patches.function(signal, "signal", set_handler)
        patches.function(signal, "getsignal", getsignal)
        if self._get(signal.SIGINT) is signal.default_int_handler:
            self.set(signal.SIGINT, signal.default_int_handler)
        if sys.platform != "win32":
            loop = asyncio.unix_events._UnixSelectorEventLoop
            self._let_into_loop = loop._handle_signal  # type: ignore[attr-defined]
            patches.set(loop, "_handle_signal", self._handler_of_loops(loop._handle_signal))  # type: ignore[attr-defined]

    def set(self, number: int, handler: Any) -> Any:
        """As `signal.signal`."""
        old = self.get(number)
        if callable(handler) and not _is_told_to_loop(handler):
            self._set(number, self._noted)
            self._own[number] = handler
        else:
            self._set(number, handler)
            self._own.pop(number, None)
        return old

    def get(self, number: int) -> Any:
        """As `signal.getsignal`."""
        real = self._get(number)
        return self._own.get(number, real)

    def has(self, number: int) -> bool:
        """Whether the interpreter calls a handler of the program's when that signal comes."""
        return number in self._own

    def expect(self, number: int) -> None:
        """The next signal of that number is the main thread's own doing, so it is handled at once in every run."""
        self._expected.add(number)

    def call(self, number: int) -> None:
        """Calls the program's handler, as the interpreter would (replay)."""
        handler = self.get(number)
        if _is_told_to_loop(handler) and self._let_into_loop is not None:
            self._let_into_loop(asyncio.get_running_loop(), number)
        elif callable(handler):
            handler(number, _real.getframe(1))

    def _noted(self, number: int, frame: FrameType | None) -> None:
        handler = self._own[number]
        if number in self._expected or _real.getpid() != self.owner:
            self._expected.discard(number)
            handler(number, frame)
        elif _holds_a_lock(frame):
            self._send_again(number)
        else:
            self._came(number, lambda: handler(number, frame))

    def _handler_of_loops(self, real: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
        """A loop has read from its own pipe that a signal came, and calls what `add_signal_handler` was given."""

        def _handle_signal(loop: Any, number: int) -> None:
            if get_lane() is None or _real.getpid() != self.owner:
                real(loop, number)
            else:
                self._came(number, lambda: real(loop, number))

        return _handle_signal

    def _came(self, number: int, handle: Handle) -> None:
        """A signal from outside has come."""
        if not self._session.live:
            # what the recording saw comes from the tape; only the person at the terminal may interrupt a replay
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        session, lane = self._session, get_lane()
        # below a boundary nothing is seen, but the handler is the program's own
        token = enter(session.main if lane is MUTED else lane)
        try:
            gate = gate_of(session)
            if gate is not None and number not in self._pushed:
                self._push(gate, number, handle)
            else:  # a loop that does not come to rest is interrupted by the second
                session.keep(Signal(number, session.main.current, session.main.events))
                handle()
        finally:
            leave(token)

    def _push(self, gate: Gate, number: int, handle: Handle) -> None:
        def deliver() -> None:
            self._pushed.discard(number)
            self._session.keep(Signal(number, -1, -1))
            handle()

        self._pushed.add(number)
        gate.push(deliver)

    def _send_again(self, number: int) -> None:
        """The signal came where nothing of the program may run; it comes again a moment later."""

        def send() -> None:
            _real.sleep(_MOMENT)
            self._kill(self.owner, number)

        with contextlib.suppress(RuntimeError):  # the interpreter is at its end, where no thread can be started
            _real.start_new_thread(send, ())


def meet_waits(patches: Patches) -> None:
    """Meets what waits for a signal without a handler, or for any."""
    for name in ("pause", "sigwait", "sigwaitinfo", "sigtimedwait"):
        if hasattr(signal, name):
            patches.function(signal, name, _waiting(getattr(signal, name)))


def _waiting(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def wait(*args: Any) -> Any:
        lane = current()
        if lane is None:
            return real(*args)

        def perform() -> Answer:
            return Answer(PartKind.VALUE, json.dumps(real(*args)).encode())

        came = json.loads(Crossing.begin(lane, Call(Kind.WAIT, real.__name__), _revive).pull(perform).data)
        if isinstance(came, list):
            return signal.struct_siginfo(came)
        return signal.Signals(came) if came in _NAMED else came

    return wait


def _revive(failed: Failed) -> BaseException:
    return failure.decode(failed, ())


def _is_told_to_loop(handler: Any) -> bool:
    """Whether it is what asyncio sets for a signal that its loop is told of through a pipe."""
    return sys.platform != "win32" and handler is asyncio.unix_events._sighandler_noop  # type: ignore[attr-defined]


def _codes_that_lock() -> frozenset[Any]:
    """The code of ours that holds a lock while it runs: a handler that ran there could wait for that lock for ever."""
    members = [
        getattr(member, "fget", member)
        for kind in (Marks, Order, Session, TapeWriter)
        for member in vars(kind).values()
    ]
    codes = [member.__code__ for member in members if hasattr(member, "__code__")]
    return frozenset(code for code in codes if {"_lock", "_flushing"} & set(code.co_names))


_LOCKING = _codes_that_lock()


def _holds_a_lock(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _LOCKING:
            return True
        frame = frame.f_back
    return False
