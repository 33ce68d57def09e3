"""Who may go on when the tape's outcomes come in another order than the tape's: one that a schedule chooses.

What may come next is what is pending and legal. An answer may take any time from none to `PATIENCE` times as long as
the slowest on tape, so it may come before or after others as soon as it was asked for; its parts stay in order.
Deadlines (sleeps, timers, waits that run out) lie in a time of their own, which goes on only when one of them passes.
They pass in the order in which they are due or in which they passed on tape, and none before an answer that cannot take
as long as that.
"""

from __future__ import annotations

import math

import msgspec

from reenact.engine.order import Order, Strand
from reenact.engine.place import Place
from reenact.engine.schedule import DEADLINE, Chooser, Option, Schedule
from reenact.tape.event import DrawKind, Kind, Part
from reenact.tape.recording import Event, Recording

PATIENCE = 10
_LEAST_PATIENCE = 1.0  # seconds
_READING = 1e-6  # seconds that go by when somebody looks at the clock
_MUCH = 20  # times as many outcomes as are on tape: the run does not come to an end
_NEVER = 1 << 60


class _Deadline(msgspec.Struct, frozen=True):
    """`tick` is when it passed on tape, `_NEVER` if it did not."""

    due: float
    tick: int
    lane: str
    what: str
    place: Place | None


class Reordered(Order):
    """The baton of a run whose outcomes come in another order.

    A tick is the number of the outcome on tape; deadlines, which may be others than those on tape, have higher ones.
    """

    def __init__(self, tape: Recording, schedule: Schedule) -> None:
        super().__init__(frozenset())
        self.chooser = Chooser(schedule)
        self.now = _first_loop_time(tape)
        self.out_of_reach = 0  # who waits for an answer that the tape does not hold
        self._tape = tape
        self._deadlines: dict[int, _Deadline] = {}
        self._deadlines_made = 0
        self._latest: dict[int, float] = {}
        self._blocked: dict[Strand, int] = {}  # for who blocks: what alone it waits for, though its loop may for others
        self._patience = max(_LEAST_PATIENCE, PATIENCE * max(map(_took, tape.events), default=0.0))
        self._most = 1000 + _MUCH * len(tape.ticks)

    @property
    def endless(self) -> bool:
        """Whether there have been far more outcomes than on tape: then there are no more."""
        return self.cursor > self._most

    # Time

    @property
    def departed(self) -> bool:
        """Whether the order is another than the tape's by now. Until then times are the tape's, too."""
        return self.chooser.departed

    def read(self, recorded: float | None = None) -> float:
        """The time (s); `recorded` is what it was on tape.

        It goes on a little, so that nothing is due at the moment when it is set.
        """
        if recorded is not None and not self.departed:
            self.now = max(self.now, recorded)
            return recorded
        self.now += _READING
        return self.now

    def deadline(self, due: float, tick: int, lane: str, what: str, place: Place | None = None) -> int:
        """The number of a new deadline, which passed on tape at `tick` (-1: did not)."""
        self._deadlines_made += 1
        number = len(self._tape.ticks) + self._deadlines_made
        self._deadlines[number] = _Deadline(due, tick if tick >= 0 else _NEVER, lane, what, place)
        return number

    # Order

    def arrive(self, strand: Strand, tick: int = -1) -> bool:
        """The strand waits for that outcome, which is pending. True when its turn has come at once."""
        with self._lock:
            self._put_down(strand)
            self._blocked[strand] = tick
            self._want(tick, strand)
            woken = self._next()
        if woken is strand:
            return strand.take()
        if woken is not None:
            woken.wake()
        return False

    def block(self, strand: Strand, tick: int = -1) -> None:
        """As `park`, until another strand makes this one ready, or that tick comes."""
        self._blocked[strand] = tick
        super().block(strand, tick)

    def leave(self, strand: Strand) -> None:
        """The strand no longer waits for anything."""
        self._blocked.pop(strand, None)
        super().leave(strand)

    def counts(self, strand: Strand) -> bool:
        """Nothing comes without being chosen."""
        del strand
        return False

    def want(self, tick: int, strand: Strand) -> None:
        """The strand goes on with that outcome, which is pending, when it comes."""
        with self._lock:
            self._want(tick, strand)

    def unwant(self, tick: int) -> None:
        """Nobody waits for that outcome any more."""
        with self._lock:
            self._wanted.pop(tick, None)
            self._deadlines.pop(tick, None)

    def skip(self, strand: Strand) -> bool:
        """One of the outcomes that the strand waits for is let in while it runs."""
        with self._lock:
            options = [tick for tick in self._options() if self._wanted[tick] is strand]
            if not options:
                return False
            _, strand.tick = self._take(options)
            self.cursor += 1
            return True

    @property
    def stuck(self) -> bool:
        """Whether nobody runs or can."""
        return self.at_rest

    @property
    def at_rest(self) -> bool:
        """Whether nobody runs or can."""
        with self._lock:
            return self._running is None and not self._loose and not self._ready and not self._options()

    def waiting(self) -> dict[int, str]:
        """Nobody can wait for what is pending and legal."""
        return {}

    def _want(self, tick: int, strand: Strand) -> None:
        self._wanted[tick] = strand
        self._latest.setdefault(tick, self.now + self._patience)

    def _anyone(self) -> bool:
        return bool(self._ready or self._options())

    def _outcome(self) -> tuple[Strand | None, int]:
        options = self._options()
        return self._take(options) if options else (None, -1)

    def _take(self, options: list[int]) -> tuple[Strand, int]:
        taken = self.chooser.choose([*map(self._option, options)]) if len(options) > 1 else 0
        tick = options[taken]
        passed = self._deadlines.pop(tick, None)
        if passed is not None:
            self.now = max(self.now, passed.due)
        return self._wanted.pop(tick), tick

    def _next(self) -> Strand | None:
        strand = super()._next()
        if strand is not None:
            self._blocked.pop(strand, None)
        return strand

    def _options(self) -> list[int]:
        """What may come next, in the order of the tape."""
        if self.endless:
            return []
        answers: dict[int, int] = {}
        pending = [tick for tick, strand in self._wanted.items() if self._blocked.get(strand, tick) == tick]
        for tick in pending:
            if tick not in self._deadlines:
                event = self._event(tick).id
                answers[event] = min(tick, answers.get(event, tick))
        found = [*answers.values()]
        deadlines = [tick for tick in pending if tick in self._deadlines]
        if deadlines:
            next_due = min(deadlines, key=lambda tick: (self._deadlines[tick].due, tick))
            next_on_tape = min((*found, *deadlines), key=self._place)
            latest = min((self._latest[tick] for tick in found), default=math.inf)
            if self._deadlines[next_due].due <= latest:
                found.append(next_due)
            if next_on_tape in self._deadlines and self._place(next_on_tape)[0] < _NEVER and next_on_tape not in found:
                found.append(next_on_tape)
        return sorted(found, key=self._place)

    def _place(self, tick: int) -> tuple[int, int]:
        deadline = self._deadlines.get(tick)
        return (tick if deadline is None else deadline.tick, tick)

    def _event(self, tick: int) -> Event:
        part = self._tape.ticks[tick]
        assert isinstance(part, Part)  # noqa: S101  nobody waits for others by their number on tape
        return self._tape.events[part.event]

    def _option(self, tick: int) -> Option:
        deadline = self._deadlines.get(tick)
        if deadline is None:
            event = self._event(tick)
            site = (event.site.file, event.site.line) if event.site is not None else ("", 0)
            return Option(tick, event.id, event.lane, event.name, *site)
        on_tape = deadline.tick if deadline.tick < _NEVER else -1
        site = deadline.place[:2] if deadline.place is not None else ("", 0)
        return Option(on_tape, DEADLINE, deadline.lane, deadline.what, *site)

    def _give(self, strand: Strand | None) -> None:
        self._running = strand  # nobody is ever alone: what comes next is always chosen


def _took(event: Event) -> float:
    """For how long (s) a part of the answer let wait at most."""
    if event.kind is Kind.SLEEP:
        return 0.0
    at, longest = event.at, 0
    for _, part in event.parts:
        longest = max(longest, part.at - at)
        at = part.at
    return longest / 1e9


def _first_loop_time(tape: Recording) -> float:
    """What the first event loop of the run read first: the agent may have kept times of that day itself."""
    found = [
        value
        for lane in tape.lanes.values()
        for (kind, _), values in lane.draws.items()
        if kind == DrawKind.LOOP_TIME
        for value in values[:1]
        if isinstance(value, float)
    ]
    return min(found, default=0.0)
