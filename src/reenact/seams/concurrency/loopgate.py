"""The gates of event loops: where a run's outcomes, timers and signals wait to be let in, one at a time.

A gate looks into a loop of asyncio's own kind: what is ready, and what is scheduled. It acts only when nothing of its
session's is ready to run.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from reenact import _real
from reenact.engine.crossing import STUCK_AFTER_NS
from reenact.engine.lane import get_lane_of
from reenact.engine.session import Session
from reenact.tape.event import Signal, Spun, Timer

SPIN_NS = 100_000_000


class Rest(msgspec.Struct, frozen=True):
    """What a gate did when its loop was about to wait: `go`, it let something in; `fired`, that was timers.

    `ask_again`: the baton was not to be had, and the loop must not sleep for long.
    """

    go: bool = False
    fired: bool = False
    ask_again: bool = False


_GO = Rest(go=True)
_FIRED = Rest(go=True, fired=True)
_IDLE = Rest()
_ASKED = Rest(ask_again=True)


class LoopGate:
    """The gate of one session on one loop."""

    def __init__(self, loop: Any, session: Session, index: int) -> None:
        self._loop = loop
        self.session = session
        self.index = index
        self.strand = session.strand()
        self.strand.also = self._wake_loop
        self._owed = -1

    def busy(self) -> bool:
        """Whether the loop has something of this session's ready to run."""
        ready = self._loop._ready
        return bool(ready) and any(map(self._owns, ready))

    def claim(self) -> None:
        """Before the loop runs something of this session's that was not let in here, it waits for the baton."""
        order, strand = self.session.order, self.strand
        if strand.granted and strand.take():
            self._owes()
        elif order.lone is not strand and not order.has(strand) and self.busy():
            self._withdraw()
            if self.session.owns_loops:
                order.ready(strand)
                order.await_turn(strand)
                self._owes()
                return
            # other runs and the rest of the process turn on this loop too: it never waits for one of them
            order.leave(strand)
            if strand.take():  # its turn had come before it left
                self._owes()

    def _owes(self) -> None:
        """The turn that was taken may have come by an outcome: that is let in when the loop is at rest."""
        if self.strand.tick >= 0:
            self._owed = self.strand.tick

    def _withdraw(self) -> None:
        """The loop no longer asks to let something in: it has something of its own to run first."""

    def due(self, now: float) -> list[float]:
        """When the timers of this session that are due were to fire."""
        scheduled = self._loop._scheduled
        if not scheduled or scheduled[0].when() > now:
            return []
        return [handle.when() for handle in scheduled if handle.when() <= now and self._owns(handle)]

    def earliest(self, now: float) -> float:
        """The first of them; infinity when none is due."""
        return min(self.due(now), default=math.inf)

    def _owns(self, handle: Any) -> bool:
        lane = get_lane_of(handle._context)
        return not handle.cancelled() and lane is not None and lane.session is self.session

    def _wake_loop(self) -> None:
        try:
            self._loop._write_to_self()
        except (AttributeError, OSError):
            return


class RecordGate(LoopGate):
    """Lets outcomes and timers in one at a time, in the order of their arrival, and writes that order down."""

    def __init__(self, loop: Any, session: Session, index: int) -> None:
        super().__init__(loop, session, index)
        self._arrived: deque[asyncio.Future[None]] = deque()
        self._asking = False
        self._turns = 0
        self._waiting_since = 0

    async def turn(self) -> None:
        """Waits until the loop is at rest and this outcome is the next."""
        if self._is_next():
            return
        future: asyncio.Future[None] = asyncio.Future(loop=self._loop)
        self._arrived.append(future)
        await future

    def _withdraw(self) -> None:
        if self._asking:
            self._asking = False
            self.session.order.withdraw(self.strand)

    def push(self, deliver: Callable[[], None]) -> None:
        """Calls `deliver` when the loop is at rest and this is the next."""
        future: asyncio.Future[None] = asyncio.Future(loop=self._loop)
        future.add_done_callback(lambda _: deliver())
        self._arrived.append(future)
        self._wake_loop()

    def on_tick(self, tick: int, deliver: Callable[[], None]) -> None:
        """Only a replay waits for ticks of a tape."""
        raise NotImplementedError(tick, deliver)

    async def tick(self, tick: int) -> None:
        """Only a replay waits for ticks of a tape."""
        raise NotImplementedError(tick)

    def _is_next(self) -> bool:
        """Lets the outcome of the task that runs in at once, if the loop would come to rest now and do just that."""
        loop = self._loop
        if loop._stopping or not self.carries_on(self.session.monotonic()):
            return False
        task = asyncio.current_task(loop)
        if getattr(task, "_must_cancel", True):
            return False  # it is to be cancelled where it waits next, and a replay waits here
        if not self.session.order.counts(self.strand):
            return False  # somebody has come meanwhile
        self._turns = self._waiting_since = 0
        return True

    def carries_on(self, now: float) -> bool:
        """Whether there is nothing to let in, and nobody else is there: so it is in most turns of a loop."""
        loop = self._loop
        if self.session.order.lone is not self.strand or self._arrived or self._owed >= 0 or self._asking:
            return False
        if loop._scheduled and loop._scheduled[0].when() <= now:
            return False
        return not (loop._ready and self.busy())

    def rest(self, now: float) -> Rest:
        """Called whenever the loop is about to wait. Timers up to `now` may be let in."""
        order = self.session.order
        due = len(self.due(now))
        while self._arrived and self._arrived[0].done():
            del self._arrived[0]
        if self.busy():
            return self._spin(now, due)
        if self._owed >= 0 and (due or self._arrived):
            return self._let_in(now, due)
        if self._owed >= 0:
            self._owed = -1
            order.unturn(self.strand)
        return self._ask(now, due) if due or self._arrived else self._idle()

    def _idle(self) -> Rest:
        """There is nothing to let in."""
        order, strand = self.session.order, self.strand
        self._withdraw()
        while order.pass_on(strand):
            if self.busy():
                return _GO
            order.unturn(strand)  # where it came by what is there no more
        return _IDLE

    def _ask(self, now: float, due: int) -> Rest:
        """Waits for the turn in which something is let in; a turn of another kind is given on."""
        order, strand = self.session.order, self.strand
        if self._asking:
            granted = order.pass_on(strand)
        else:
            self._asking = True
            granted = order.arrive(strand)
        while granted:
            if strand.tick >= 0:
                return self._let_in(now, due)
            if self.busy():
                return _GO
            granted = order.pass_on(strand)
        order.press()
        return _ASKED

    def _let_in(self, now: float, due: int) -> Rest:
        self._asking = False
        self._owed = -1
        self._turns = self._waiting_since = 0
        if due:
            self.session.keep(Timer(self.index, now, due))
            return _FIRED
        self._arrived.popleft().set_result(None)
        return _GO

    def _spin(self, now: float, due: int) -> Rest:
        """A program that never rests (it polls with `sleep(0)`) is let wait for what it polls for, but not for ever."""
        self._turns += 1
        if not due and not self._arrived:
            self._waiting_since = 0
        elif not self._waiting_since:
            self._waiting_since = _real.monotonic_ns()
        elif _real.monotonic_ns() - self._waiting_since > SPIN_NS:
            self.session.keep(Spun(self._turns))
            return self._let_in(now, due)
        return _IDLE


class ReplayGate(LoopGate):
    """Lets in what the tape says comes next. Time is what the tape says it was."""

    def __init__(self, loop: Any, session: Session, index: int) -> None:
        super().__init__(loop, session, index)
        tape = session.plan.prefix
        assert tape is not None  # noqa: S101  that is what makes it a replay
        self._ticks = tape.ticks
        self._complete = tape.closed_by_itself
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._spun = tape.spun
        self._turns = 0
        self._stuck_since = 0
        self._stuck_at = -1
        self._busy_since = 0
        self._expect()

    def _expect(self) -> None:
        for tick, record in enumerate(self._ticks):
            if (isinstance(record, Timer) and record.loop == self.index) or isinstance(record, Signal):
                self.session.order.want(tick, self.strand)

    async def turn(self) -> None:
        """Only a recording waits for its turn."""
        raise NotImplementedError

    def push(self, deliver: Callable[[], None]) -> None:
        """Only a recording is pushed to."""
        raise NotImplementedError(deliver)

    def on_tick(self, tick: int, deliver: Callable[[], None]) -> None:
        """Calls `deliver` when the replay has come to `tick`."""
        future: asyncio.Future[None] = asyncio.Future(loop=self._loop)
        future.add_done_callback(lambda _: deliver())
        self._waiting[tick] = future
        self.session.order.want(tick, self.strand)

    async def tick(self, tick: int) -> None:
        """Waits until the replay has come to `tick`."""
        future: asyncio.Future[None] = asyncio.Future(loop=self._loop)
        if tick >= 0:
            self._waiting[tick] = future
            self.session.order.want(tick, self.strand)
        await future

    def spin(self) -> float | None:
        """Called when the loop is not at rest: what was let in all the same is let in after as many turns."""
        self._turns += 1
        order = self.session.order
        tick = self._owed if self._owed >= 0 else order.cursor
        after = self._spun.get(tick)
        if after is None or self._turns < after or not (self._owed >= 0 or order.skip(self.strand)):
            return 0.0
        return self._let_in(tick)

    def rest(self) -> float | None:
        """Called when the loop is at rest. The loop time to go to when something was let in, else None."""
        order, strand = self.session.order, self.strand
        if self._owed >= 0:
            return self._let_in(self._owed)
        while order.pass_on(strand):
            self._stuck_since = 0
            if strand.tick >= 0:
                return self._let_in(strand.tick)
            if self.busy():
                return 0.0
        if self._is_beyond():
            return self._beyond()
        order.press()
        self._watch()
        return None

    def _is_beyond(self) -> bool:
        return self.session.order.cursor >= len(self._ticks)

    def _let_in(self, tick: int) -> float:
        self._turns = 0
        self._owed = -1
        record = self._ticks[tick]
        if isinstance(record, Timer):
            return record.when
        if isinstance(record, Signal) and self.session.call_handler is not None:
            self._loop.call_soon(self.session.call_handler, record.number)
        future = self._waiting.pop(tick, None)
        if future is not None and not future.done():
            future.set_result(None)
        return 0.0

    def _beyond(self) -> float | None:
        """The tape has no more to say: when no thread runs any more, timers still fire, in order, without waiting."""
        order, now, scheduled = self.session.order, _real.monotonic_ns(), self._loop._scheduled
        if self.session.frontier is not None:
            self._busy_since = self._busy_since or now
            return 0.0 if self.session.frontier.cross(self._busy_since) else None
        if not scheduled:
            self._watch()
            return None
        if order.at_rest:
            self._busy_since = 0
            return float(scheduled[0].when())
        self._busy_since = self._busy_since or now
        if now - self._busy_since > STUCK_AFTER_NS:
            # a thread that blocks where nobody sees it need never end
            return float(scheduled[0].when())
        return None

    def _watch(self) -> None:
        """Notices when nobody can go on any more."""
        order, now = self.session.order, _real.monotonic_ns()
        if order.cursor != self._stuck_at or not self.session.is_stuck or not self._stuck_since:
            self._stuck_at, self._stuck_since = order.cursor, now
            self.session.stay()
        elif now - self._stuck_since > STUCK_AFTER_NS:
            self.session.stuck()
