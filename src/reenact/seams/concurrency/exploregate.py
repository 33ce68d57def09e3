"""The gate of an event loop whose outcomes come in another order than the tape's."""

from __future__ import annotations

import asyncio
from typing import Any

from reenact.engine.lane import get_lane_of
from reenact.engine.reorder import Reordered
from reenact.engine.session import Session
from reenact.seams.concurrency.loopgate import ReplayGate
from reenact.tape.event import Spun, Timer

_SPIN_TURNS = 200


class ExploreGate(ReplayGate):
    """Lets in what the order chooses. The loop's next timer is one of what it chooses from."""

    def __init__(self, loop: Any, session: Session, index: int, order: Reordered) -> None:
        super().__init__(loop, session, index)
        self._order = order
        self._timer = -1
        self._when = 0.0
        self._fired = 0
        own = [(tick, one) for tick, one in enumerate(self._ticks) if isinstance(one, Timer) and one.loop == index]
        self._on_tape = [tick for tick, one in own for _ in range(one.count)]  # when each timer of this loop fired

    def _expect(self) -> None:
        """What comes is asked for when it is pending."""

    async def tick(self, tick: int) -> None:
        """Waits until `tick` is let in."""
        if tick < 0:
            self._order.out_of_reach += 1
        try:
            await super().tick(tick)
        except asyncio.CancelledError:
            self._order.unwant(tick)
            self._order.out_of_reach -= tick < 0
            raise

    def spin(self) -> float | None:
        """Called when the loop is not at rest: one that polls without end is let see what comes, now and then."""
        self._turns += 1
        self._offer_timer()
        if self._turns < _SPIN_TURNS or not (self._owed >= 0 or self._order.skip(self.strand)):
            return 0.0
        self.session.keep(Spun(self._turns))
        return self._let_in(self._owed if self._owed >= 0 else self.strand.tick)

    def rest(self) -> float | None:
        """Called when the loop is at rest. The loop time to go to when something was let in, else None."""
        self._offer_timer()
        return super().rest()

    def _is_beyond(self) -> bool:
        return False

    def _offer_timer(self) -> None:
        """The first of this session's timers is pending."""
        timers = [handle for handle in self._loop._scheduled if self._owns(handle)]
        first = min(timers, key=lambda handle: float(handle.when()), default=None)
        if self._timer >= 0:
            if first is not None and first.when() == self._when:
                return
            self._order.unwant(self._timer)
            self._timer = -1
        lane = get_lane_of(first._context) if first is not None else None
        if first is not None and lane is not None:
            self._when = first.when()
            tick = self._on_tape[self._fired] if self._fired < len(self._on_tape) else -1
            self._timer = self._order.deadline(self._when, tick, lane.path, "a timer of the event loop")
            self._order.want(self._timer, self.strand)

    def _let_in(self, tick: int) -> float:
        if tick != self._timer:
            return super()._let_in(tick)
        self._turns, self._owed, self._timer = 0, -1, -1
        recorded = self._ticks[self._on_tape[self._fired]] if self._fired < len(self._on_tape) else None
        if isinstance(recorded, Timer) and not self._order.departed:
            self._when = max(self._when, recorded.when)
        count = len(self.due(self._when))
        self._fired += count
        self.session.keep(Timer(self.index, self._when, count))
        return self._when
