"""The end of the tape of a run that is resumed: who comes there waits until all on tape has been served.

Then nobody runs and nobody can, as at the moment at which the recorded process was killed; and the run goes on live.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from reenact import _real
from reenact.engine.lane import MUTED, enter, leave, muted
from reenact.engine.order import PATIENCE, Strand
from reenact.errors import DivergenceError
from reenact.tape import event as ev
from reenact.tape.recording import Event, Recording

if TYPE_CHECKING:
    from reenact.engine.session import Session

_OF_CLOCK = frozenset(
    map(
        int,
        (
            ev.DrawKind.MONOTONIC,
            ev.DrawKind.MONOTONIC_NS,
            ev.DrawKind.PERF_COUNTER,
            ev.DrawKind.PERF_COUNTER_NS,
            ev.DrawKind.LOOP_TIME,
        ),
    )
)
_IN_NS = frozenset(map(int, (ev.DrawKind.MONOTONIC_NS, ev.DrawKind.PERF_COUNTER_NS)))
_OF_DAY = frozenset(map(int, (ev.DrawKind.TIME, ev.DrawKind.TIME_NS)))
_CANCELLED = (ev.Kind.HTTP, ev.Kind.TOOL)
_BROKEN = "the run could not be gone on with"
_LEAST = 0.001  # seconds that have gone by at least since the clock was read last


class Frontier:
    """The frontier of one run. `crossed` is called once, when the run goes live, before anybody goes on."""

    def __init__(self, session: Session, tape: Recording, crossed: Callable[[], None]) -> None:
        self.tape = tape
        self._session = session
        self._crossed = crossed
        self._lock = _real.RLock()
        self._threads: list[Strand] = []
        self._tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._held: list[ev.AnyRecord] = []
        self._skew, self._of_day = self._clocks()
        self.passed = self._broken = False
        branch = tape.branch
        edited = {part.event for part in branch.edits} if branch is not None else set()
        anew = branch is not None and not branch.before and branch.event not in edited
        self._anew = branch.event if branch is not None and anew else -1

    # Who waits

    def wait(self) -> None:
        """Blocks the calling thread until the run is live, and it is its turn."""
        session, strand = self._session, self._session.strand()
        token = enter(MUTED)
        try:
            with self._lock:
                if self.passed:
                    return
                self._threads.append(strand)
            session.order.block(strand)
            since = _real.monotonic_ns()
            while not self.passed or not strand.granted:
                session.stay()
                self.cross(since)
                if session.order.await_turn(strand, PATIENCE):
                    return
            strand.take()
        except BaseException:
            session.order.leave(strand)
            raise
        finally:
            leave(token)

    async def come(self) -> None:
        """As `wait`, suspending the calling task."""
        with self._lock:
            if self.passed:
                return
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            self._tasks.append((loop, future))
        await future

    def cross(self, since: int = 0) -> bool:
        """Goes live if everything on tape has been served and nobody can go on. Whether the run is live.

        `since` is how long that has been asked (monotonic, ns): a thread that blocks where nobody sees it need not end.
        """
        with self._lock:
            if not self.passed and self._session.order.exhausted(len(self.tape.ticks), since):
                self.go_live()
            return self.passed

    def go_live(self) -> None:
        """From here on the run is live.

        Raises:
            DivergenceError: it cannot be, because its tape or its files fail.
        """
        with self._lock:
            if self.passed or self._session.divergences:
                return
            if self._broken:
                raise DivergenceError(_BROKEN)
            with muted():
                try:
                    self._crossed()
                except Exception as error:
                    # half of it is done: nobody may go on, neither on the tape nor live
                    self._broken = True
                    self._session.fault(error)
                    raise DivergenceError(_BROKEN) from error
            self.passed = True
            for strand in self._threads:
                self._session.order.ready(strand)
            for loop, future in self._tasks:
                loop.call_soon_threadsafe(_done, future)

    def asks_again(self, event: Event) -> bool:
        """Whether a branch asks the call anew that is on tape: it leaves its parent there, or that gave it up later."""
        given_up = self.tape.branch is not None and event.kind in _CANCELLED
        return (event.id == self._anew or given_up) and not event.parts

    # What it knows before

    def hold(self, record: ev.AnyRecord) -> None:
        """Something would be kept: it may be that the killed process had not come to that, or not on tape."""
        self._held.append(record)

    def held(self) -> list[ev.AnyRecord]:
        """What of it is not on tape, and has to be."""
        tape, found = self.tape, []
        told = {(note.slug, note.text) for note, _ in tape.notes}
        for record in self._held:
            match record:
                case ev.Content(digest=digest):
                    new = digest not in tape.contents
                case ev.Saw(path=path):
                    known = tape.saw.get(path)
                    new = known is None or bool(record.digest and not known.digest)
                case ev.Again(meeting=meeting, found=saw):
                    new = meeting not in tape.again.get(saw.path, {})
                case ev.Note(slug=slug, text=text):
                    new = (slug, text) not in told
                case _:
                    new = False
            if new:
                found.append(record)
        self._held.clear()
        return found

    def moved(self, kind: int, value: float) -> int | float:
        """What a clock of this machine shows, as the run sees it: it goes on where it was, and is never set back."""
        if kind in _OF_CLOCK:
            return value + round(self._skew * 1e9) if kind in _IN_NS else value + self._skew
        if kind in _OF_DAY:
            least = self._of_day
            return max(value, round(least * 1e9)) if isinstance(value, int) else max(value, least)
        return value

    def stood(self, seconds: float) -> None:
        """The process has stood so long, which was no time of the run's."""
        self._skew -= seconds

    def monotonic(self) -> float:
        """The time of event loops."""
        return _real.monotonic() + self._skew

    def _clocks(self) -> tuple[float, float]:
        """From this machine's clock to the run's (s); and the latest time of day on tape (s since 1970)."""
        latest = of_day = 0.0
        for lane in self.tape.lanes.values():
            for (kind, _), values in lane.draws.items():
                numbers = [float(value) for value in values if isinstance(value, int | float)]
                if kind in _OF_CLOCK and numbers:
                    latest = max(latest, max(numbers) / (1e9 if kind in _IN_NS else 1))
                elif kind in _OF_DAY and numbers:
                    of_day = max(of_day, max(numbers) / (1e9 if kind == ev.DrawKind.TIME_NS else 1))
        latest = max([latest, *(tick.when for tick in self.tape.ticks if isinstance(tick, ev.Timer))])
        return (latest + _LEAST - _real.monotonic() if latest else 0.0), of_day


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
