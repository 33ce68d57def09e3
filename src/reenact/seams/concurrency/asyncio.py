"""The seam in asyncio: a lane for each task, and the gate at which a loop's coroutines wait for their turn.

A loop that has nothing of ours ready to run is at rest. Only then is one more thing let in: one outcome, or the
timers that are due. Which it was, and in which order, is on tape; in replay the tape decides, and no time passes.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
import math
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from reenact import _real
from reenact.engine.gate import Gate
from reenact.engine.lane import MUTED, Lane, enter, get_lane, leave, muted
from reenact.engine.order import PATIENCE
from reenact.engine.place import is_bottom, is_library, name_of
from reenact.engine.session import Session
from reenact.seams.concurrency.exploregate import ExploreGate
from reenact.seams.concurrency.identity import InOrder, new_task
from reenact.seams.concurrency.loopgate import RecordGate, ReplayGate
from reenact.seams.patch import Patches
from reenact.seams.sockets.waits import BENEATH
from reenact.tape.event import DrawKind

_GATES = "_reenact_gates"
_LOOP_TIME = int(DrawKind.LOOP_TIME)
_getframe = _real.getframe
_GATED: WeakSet[AbstractEventLoop] = WeakSet()


def install(patches: Patches) -> None:
    """Meets every loop that is built on `asyncio.BaseEventLoop`."""
    base = asyncio.base_events.BaseEventLoop
    is_bottom(base._run_once.__code__)  # type: ignore[attr-defined]
    patches.set(base, "create_task", _create_task(base.create_task))
    patches.set(base, "run_forever", _run_forever(base.run_forever))
    patches.set(base, "call_soon_threadsafe", _call_soon_threadsafe(base.call_soon_threadsafe))
    patches.set(base, "_asyncgen_finalizer_hook", _finalizer(base._asyncgen_finalizer_hook))  # type: ignore[attr-defined]


def _create_task(real: Callable[..., Any]) -> Callable[..., Any]:
    def create_task(self: AbstractEventLoop, coro: Any, **kwargs: Any) -> Any:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(self, coro, **kwargs)
        child = lane.child(str(kwargs.get("name") or getattr(coro, "__qualname__", type(coro).__name__)))
        context = kwargs.get("context")
        if context is not None:
            context.run(enter, child)
            return make(self, lane, coro, kwargs)
        token = enter(child)
        try:
            return make(self, lane, coro, kwargs)
        finally:
            leave(token)

    def make(self: Any, lane: Lane, coro: Any, kwargs: dict[str, Any]) -> Any:
        return real(self, coro, **kwargs) if self._task_factory else new_task(lane, self, coro, kwargs)

    return create_task


def _finalizer(real: Callable[..., None]) -> Callable[..., None]:
    def _asyncgen_finalizer_hook(self: AbstractEventLoop, agen: Any) -> None:
        lane = get_lane()
        own = lane is not None and lane.session is not None and lane.session.exclusive
        if own and not is_library(agen.ag_code.co_filename):
            real(self, agen)
            return
        # a library's may be there in a recording alone, below a boundary: what closes it is in no lane
        with muted():
            real(self, agen)

    return _asyncgen_finalizer_hook


def _run_forever(real: Callable[..., None]) -> Callable[..., None]:
    def run_forever(self: AbstractEventLoop) -> None:
        lane = get_lane()
        if lane is not None and lane.session is not None:
            attach(self, lane.session)
        real(self)

    return run_forever


def _call_soon_threadsafe(real: Callable[..., Any]) -> Callable[..., Any]:
    def call_soon_threadsafe(self: AbstractEventLoop, *args: Any, **kwargs: Any) -> Any:
        gates: _Gates | None = self.__dict__.get(_GATES)
        handle = real(self, *args, **kwargs)
        if gates is not None and get_lane() is not MUTED:
            gates.disturb()
        return handle

    return call_soon_threadsafe


def attach(loop: AbstractEventLoop, session: Session) -> None:
    """Puts a gate for `session` on `loop`, unless there is one or the loop has no selector of its own."""
    gates: _Gates | None = loop.__dict__.get(_GATES) if hasattr(loop, "__dict__") else None
    if gates is None:
        if not hasattr(loop, "_selector") or not hasattr(loop, "_ready"):
            session.note("loop", f"the event loop {type(loop).__module__}.{type(loop).__qualname__} cannot be ordered")
            return
        gates = loop.__dict__[_GATES] = _Gates(loop)
        _GATED.add(loop)
        if asyncio._get_running_loop() is loop:
            _meet_generators(loop)
    gates.of(session)
    session.gates = _gate_finder(session)


def _meet_generators(loop: Any) -> None:
    """What closes the async generators of a loop that runs already is from before the seam was there."""
    met = loop._asyncgen_finalizer_hook
    if getattr(sys.get_asyncgen_hooks().finalizer, "__self__", None) is loop:
        sys.set_asyncgen_hooks(finalizer=met)


def loops() -> list[Any]:
    """Those with a gate that are not closed."""
    return [loop for loop in _GATED if not loop.is_closed()]


def detach(loop: AbstractEventLoop, session: Session) -> None:
    """The session has ended, the loop goes on."""
    gates: _Gates | None = loop.__dict__.get(_GATES)
    if gates is not None:
        gates.drop(session)


def _gate_finder(session: Session) -> Callable[[], Gate | None]:
    def find() -> Gate | None:
        loop = asyncio._get_running_loop()
        gates: _Gates | None = loop.__dict__.get(_GATES) if loop is not None and hasattr(loop, "__dict__") else None
        return gates.of(session) if gates is not None else None

    return find


def _gate(loop: Any, session: Session) -> RecordGate | ReplayGate:
    index = session.next_loop()
    if session.reordered is not None:
        return ExploreGate(loop, session, index, session.reordered)
    return RecordGate(loop, session, index) if session.plan.prefix is None else ReplayGate(loop, session, index)


class _Gates:
    """Takes the place of a loop's selector and clock, and asks each session's gate when the loop comes to rest."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._gates: dict[Session, RecordGate | ReplayGate] = {}
        self._recording: list[RecordGate] = []
        self._replaying: ReplayGate | None = None
        select = type(loop._selector).select
        self._select = getattr(select, BENEATH, select).__get__(loop._selector)
        plain = type(loop).time is asyncio.base_events.BaseEventLoop.time
        self._clock: Callable[[], float] = _real.monotonic if plain else loop.time
        self._loop_code = asyncio.base_events.BaseEventLoop._run_once.__code__  # type: ignore[attr-defined]
        self.now: float = self._clock()
        loop._asyncgens = InOrder(loop._asyncgens)
        loop._selector.select = self.select
        loop.time = self.time

    def of(self, session: Session) -> RecordGate | ReplayGate:
        """The session's gate, for code that runs on the loop."""
        gate = self._gates.get(session)
        if gate is not None and gate is self._replaying and session.live:
            return self._go_live(gate)  # a call that blocked the loop's own thread has brought the run there
        if gate is None:
            gate = self._gates[session] = _gate(self._loop, session)
            if isinstance(gate, ReplayGate):
                self._replaying = gate
                if session.frontier is not None:
                    self._expect_to_live(gate)
                # before everything on the tape, whatever the clock of this machine shows
                self.now = min(self.now, 0.0)
            else:
                self._recording.append(gate)
        return gate

    def drop(self, session: Session) -> None:
        gate = self._gates.pop(session, None)
        if gate is self._replaying:
            self._replaying = None
        elif gate in self._recording:
            self._recording.remove(gate)
        if not self._gates:
            del self._loop._selector.select, self._loop.time, self._loop.__dict__[_GATES]

    def disturb(self) -> None:
        """Something outside of the loop has given it something to run."""
        for gate in self._gates.values():
            gate.session.order.ready(gate.strand)

    def time(self) -> float:
        """The loop's own turns see the time that the gate holds; everyone else reads the clock, on tape."""
        frame = _getframe(1)
        if frame.f_code is self._loop_code:
            return self.now
        lane = get_lane()
        if lane is None or lane.session is None:
            return self._clock() if self._replaying is None else self.now
        if lane.keeps:
            now = self._clock()
            lane.drew(_LOOP_TIME, frame, now)
            return now
        reordered = lane.session.reordered
        if reordered is not None and is_library(frame.f_code.co_filename):
            # timers are set by it, and fire at other times than on tape
            recorded = lane.session.boundary.draw(lane.path, _LOOP_TIME, name_of(frame))
            now = reordered.read(recorded if isinstance(recorded, float) else None)
            lane.drew(_LOOP_TIME, frame, now)
            return now
        drawn = lane.session.draw(lane, _LOOP_TIME, self._clock, frame)
        return float(drawn) if isinstance(drawn, int | float) else self.now

    def select(self, timeout: float | None = None) -> Any:
        """One wait of the loop for something to do."""
        if self._replaying is not None:
            return self._select_replaying(self._replaying)
        loop, gates, now = self._loop, self._recording, self._clock()
        scheduled = loop._scheduled
        wait: float | None = None
        if loop._stopping or loop._ready:
            wait = 0.0
        elif scheduled:
            wait = max(scheduled[0].when() - now, 0.0)
        fired = False
        if not (loop._stopping or (len(gates) == 1 and gates[0].carries_on(now))):
            wait, fired = self._let_in(now, wait)
        events = self._select(wait)
        for gate in gates:
            if gate.strand.granted or gate.session.order.lone is not gate.strand:
                gate.claim()
        if not fired:
            # time goes on, but never past a timer of a run: that fires when its gate has let it in and written it down
            now = self._clock()
            if now > self.now and (not scheduled or scheduled[0].when() > now or self._first_due(now)[0] is None):
                self.now = now
        return events

    def _let_in(self, now: float, wait: float | None) -> tuple[float | None, bool]:
        """How long to wait, and whether timers were let in."""
        fired = False
        first, until = self._first_due(now)
        for gate in self._recording:
            rest = gate.rest(until if gate is first else -math.inf)
            fired = fired or rest.fired
            if rest.go:
                wait = 0.0
            elif rest.ask_again:
                wait = PATIENCE if wait is None or gate is first else min(wait, PATIENCE)
        if fired:
            self.now = max(self.now, until)
        return wait, fired

    def _first_due(self, now: float) -> tuple[RecordGate | None, float]:
        """The gate whose timer is due first, and the time at which the loop fires only its timers.

        A loop fires what is due within the resolution of its clock, too.
        """
        scheduled = self._loop._scheduled
        if not scheduled or scheduled[0].when() > now:
            return None, now
        due = sorted((gate.earliest(now), gate.index, gate) for gate in self._recording if gate.earliest(now) <= now)
        if not due:
            return None, now
        return due[0][2], now if len(due) == 1 else max(due[0][0], due[1][0] - 2 * self._loop._clock_resolution)

    def _expect_to_live(self, gate: ReplayGate) -> None:
        """The run of that gate is resumed, and goes on live where its tape ends."""
        if self._clock is _real.monotonic:
            self._clock = gate.session.monotonic
        gate.session.at_live.append(lambda: self._loop.call_soon_threadsafe(self._meet_live, gate))

    def _meet_live(self, gate: ReplayGate) -> None:
        if gate is self._replaying:
            self._go_live(gate)

    def _go_live(self, gate: RecordGate | ReplayGate) -> RecordGate:
        live = self._gates[gate.session] = RecordGate(self._loop, gate.session, gate.index)
        self._recording.append(live)
        self._replaying = None
        return live

    def _select_replaying(self, gate: ReplayGate) -> Any:
        loop = self._loop
        if loop._stopping:
            return self._select(0)
        moved = gate.spin() if gate.busy() else gate.rest()
        if moved is not None:
            self.now = max(self.now, moved)
            return self._select(0)
        events = self._select(0 if loop._ready else PATIENCE)
        gate.claim()
        return events
