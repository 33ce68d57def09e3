"""The interpreter: given what the agent asks, say whether the tape answers, the world does, or nobody may.

It decides and never acts: no clock, no lock, no IO. The drivers in `crossing` do what it says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from reenact.engine.call import Call, headers_of, request_of
from reenact.engine.divergence import Datum, Divergence, Request, Site, What
from reenact.engine.normalize import Normalizer, Strip, canonical
from reenact.engine.plan import Live, Plan
from reenact.engine.redacted import Redactions
from reenact.tape.building import AROUND
from reenact.tape.event import Kind
from reenact.tape.recording import Aside, Event, LaneLog, Recording

ASKED, COMPARED, WRITTEN, DRIFTED = range(4)
"""What is counted: calls that met one on tape, bytes that were compared, bytes of output on tape that were written
again, reads of clock and randomness that the tape does not hold."""


class Counts(Protocol):
    """The four of them, none of them negative."""

    def __getitem__(self, what: int, /) -> int:
        """How many so far."""

    def __setitem__(self, what: int, count: int, /) -> None:
        """How many there are now."""


class Serve(msgspec.Struct, frozen=True):
    """The tape answers with this event."""

    event: Event


class Perform(msgspec.Struct, frozen=True):
    """The world answers."""


class Refuse(msgspec.Struct, frozen=True):
    """Nobody may answer: the agent left the tape. `event` is what the tape holds in its place, if anything."""

    divergence: Divergence
    event: Event | None


class Cut(msgspec.Struct, frozen=True):
    """The recording ends here, because its process was killed while this was under way."""


class Pass(msgspec.Struct, frozen=True):
    """Nobody need answer: the lane is beside the run, and this is what it does around its side traffic."""


class Boundary:
    """One run's interpreter. Lanes are named by path; within one, events are matched in order."""

    def __init__(
        self,
        plan: Plan,
        normalizers: tuple[Normalizer, ...] = (),
        bind: Callable[[bytes, bytes], None] = lambda _secret, _stands: None,
    ) -> None:
        self._plan = plan
        self._redactions = Redactions(plan.prefix.placeholders if plan.prefix is not None else (), bind)
        self._normalizers = normalizers
        self._strips = tuple(rule for rule in normalizers if isinstance(rule, Strip))
        self._volatile: dict[str, bool] = {}
        self._next: dict[str, int] = {}
        self._taken: set[int] = set()  # events that have been asked in another order
        self._draws: dict[tuple[str, int, str], deque[int | float | bytes | list[int]]] = {}
        self._written: dict[tuple[str, int], int] = {}
        self._asides: dict[str, int] = {}
        self.counts: Counts = [0, 0, 0, 0]

    @property
    def asked(self) -> int:
        """Calls that met one on tape."""
        return self.counts[ASKED]

    @property
    def compared(self) -> int:
        """Bytes that were compared or served."""
        return self.counts[COMPARED]

    @compared.setter
    def compared(self, count: int) -> None:
        self.counts[COMPARED] = count

    def enter(self, lane: str, call: Call, site: Site | None) -> Serve | Perform | Refuse | Cut | Pass:
        """What is to be done about a call that `lane` makes now."""
        tape = self._plan.prefix
        if tape is None:
            return Perform()
        if self._plan.schedule is not None:
            event = self._find(tape, lane, call)
            if event is None:
                return Refuse(Divergence(What.EXTRA, lane, None, None, site, None, _asked(call)), None)
            self._taken.add(event.id)
            return self._meet(tape, event, lane, call, site)
        beside = self.beside(lane)
        if beside and call.kind in AROUND:
            return Pass()
        log = tape.lanes.get(lane)
        position = self._next.get(lane, 0)
        if log is None or beside or position >= len(log.events):
            if self._plan.live is not Live.NEVER:
                return Perform()
            if not tape.closed_by_itself:
                return Cut()
            divergence = Divergence(What.EXTRA, lane, None, None, site, None, _asked(call))
            return Refuse(divergence, None)
        self._next[lane] = position + 1
        return self._meet(tape, log.events[position], lane, call, site)

    def go_live(self, plan: Plan) -> Iterator[tuple[str, int, str, int]]:
        """The tape has been served, and the run goes on by another plan. What of its draws nobody has read, is given.

        That is by lane, kind and place, with how many.
        """
        tape, self._plan = self._plan.prefix, plan
        for lane, log in tape.lanes.items() if tape is not None else ():
            for (kind, place), values in log.draws.items():
                left = self._draws.get((lane, kind, place), values)
                if left:
                    yield lane, kind, place, len(left)

    def awaits(self, lane: str, name: str) -> bool:
        """Whether what the tape holds next of the lane is called so."""
        log = self._plan.prefix.lanes.get(lane) if self._plan.prefix is not None else None
        at = self._next.get(lane, 0)
        return log is not None and at < len(log.events) and log.events[at].name == name

    def written(self) -> dict[str, dict[int, int]]:
        """How many bytes have been written, by lane and stream."""
        found: dict[str, dict[int, int]] = {}
        for (lane, stream), count in self._written.items():
            found.setdefault(lane, {})[stream] = count
        return found

    def held(self, lane: str, stream: int) -> int:
        """How many bytes of output the tape holds beyond what the lane has written so far."""
        log = self._plan.prefix.lanes.get(lane) if self._plan.prefix is not None else None
        expected = log.wrote.get(stream, b"") if log is not None else b""
        return max(len(expected) - self._written.get((lane, stream), 0), 0)

    def _find(self, tape: Recording, lane: str, call: Call) -> Event | None:
        """In another order, lanes change roles: of workers that share a queue, say, each gets other jobs.

        So what this lane asked on tape next is for it, else what any lane asked that is the same.
        """
        log = tape.lanes.get(lane)
        events = log.events if log is not None else []
        own = next((event for event in events if self._is_open(event, call.kind)), None)
        if own is not None and self._same(own, tape.body(own), call):
            return own
        for event in tape.events:
            alike = event.kind is call.kind and event.name == call.name and event.id not in self._taken
            if alike and self._same(event, tape.body(event), call):
                return event
        return own

    def _is_open(self, event: Event, kind: Kind) -> bool:
        """Whether nobody has asked it yet. How often a program sleeps is a matter of the order."""
        return event.id not in self._taken and (event.kind is kind or event.kind is not Kind.SLEEP)

    def _meet(self, tape: Recording, event: Event, lane: str, call: Call, site: Site | None) -> Serve | Refuse:
        self.counts[ASKED] += 1
        body = tape.body(event)
        if self._same(event, body, call):
            self.counts[COMPARED] += len(body) + len(event.name)
            return Serve(event)
        expected = _asked(Call(event.kind, event.name, headers_of(event.head), body))
        return Refuse(Divergence(What.MISMATCH, lane, event.id, None, site, expected, _asked(call)), event)

    def _same(self, event: Event, body: bytes, call: Call) -> bool:
        if event.kind is not call.kind:
            return False
        exact = event.name == call.name and body == call.body
        if event.kind is not Kind.HTTP:
            return exact or (self._redactions.fits(body, call.body) and self.fits(event.name, call.name))
        head = headers_of(event.head)
        if exact and (head == call.headers or self._steady(head) == self._steady(call.headers)):
            return True
        recorded = canonical(request_of(event.name, head, body), self._normalizers)
        asked = canonical(request_of(call.name, call.headers, call.body), self._normalizers)
        return recorded == asked or self._redactions.fit(recorded, asked)

    def fits(self, expected: object, actual: object) -> bool:
        """Whether two values are the same but for secrets."""
        if isinstance(expected, str) and isinstance(actual, str):
            return self._redactions.fits(expected.encode("utf-8", "replace"), actual.encode("utf-8", "replace"))
        return expected == actual

    def _steady(self, headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
        """The headers that count, sorted."""
        volatile = self._volatile
        for name, _ in headers:
            if name not in volatile:
                volatile[name] = any(strip.drops_header(name.lower()) for strip in self._strips)
        return sorted((name.lower(), value) for name, value in headers if not volatile[name])

    def beside(self, lane: str) -> bool:
        """Whether the lane, or where the tape does not have it the one that bore it, did nothing but side traffic."""
        tape = self._plan.prefix
        while tape is not None and lane:
            log = tape.lanes.get(lane)
            if log is not None:
                return log.beside
            lane = lane.rpartition(".")[0]
        return False

    def beyond(self, lane: str) -> bool:
        """Whether the tape ends with its process killed, and the lane has come to the last that it holds of it."""
        tape = self._plan.prefix
        if tape is None or tape.closed_by_itself:
            return False
        log = tape.lanes.get(lane)
        return log is None or self._next.get(lane, 0) >= len(log.events)

    def aside(self, lane: str) -> Aside | None:
        """What the tape has of the request that is side traffic and that `lane` makes now."""
        log = self._plan.prefix.lanes.get(lane) if self._plan.prefix is not None else None
        if log is None:
            return None
        met, at = self._next.get(lane, 0), self._asides.get(lane, 0)
        while not log.beside and at < len(log.asides) and log.asides[at].before < met:
            at += 1  # those were not made this time
        if at >= len(log.asides) or not (log.beside or log.asides[at].before == met):
            return None
        self._asides[lane] = at + 1
        return log.asides[at]

    def draw(self, lane: str, kind: int, place: str) -> int | float | bytes | list[int] | None:
        """What the lane read there in the recording; None when it read no more."""
        key = (lane, kind, place)
        queue = self._draws.get(key)
        if queue is None:
            tape = self._plan.prefix
            log = tape.lanes.get(lane) if tape is not None else None
            queue = self._draws[key] = deque(log.draws.get((kind, place), ()) if log is not None else ())
        return queue.popleft() if queue else None

    def wrote(self, lane: str, stream: int, data: bytes, site: Site | None) -> Divergence | None:
        """Compares what the lane writes with what it wrote."""
        if self.beside(lane):
            return None
        tape = self._plan.prefix
        log = tape.lanes.get(lane) if tape is not None else None
        expected = log.wrote.get(stream, b"") if log is not None else b""
        start = self._written.get((lane, stream), 0)
        self._written[lane, stream] = start + len(data)
        same = expected[start : start + len(data)] == data
        if same or self._redactions.continues(expected, start, data):
            self.counts[COMPARED] += len(data)
            self.counts[WRITTEN] += len(data)
            return None
        rest = bytes(expected[start:])
        if tape is not None and not tape.closed_by_itself and data.startswith(rest):
            self.counts[WRITTEN] += len(rest)
            return None  # the recording was cut here
        line_start = expected.rfind(b"\n", 0, start) + 1
        line_end = expected.find(b"\n", start + max(len(data) - 1, 0))
        before = bytes(expected[line_start : line_end + 1 if line_end >= 0 else len(expected)])
        name = "stdout" if stream == 1 else "stderr"
        now = bytes(expected[line_start:start]) + data
        if not now.endswith(b"\n"):
            before = before.removesuffix(b"\n")  # the end of the line may be written yet
        return Divergence(
            What.OUTPUT,
            lane,
            site=site,
            expected=Datum(name, name, before),
            actual=Datum(name, name, now),
            after=self._met(lane),
        )

    def _met(self, lane: str) -> int | None:
        """The event that the lane has met last, or before it came to be the lane above it."""
        tape = self._plan.prefix
        while tape is not None and lane:
            met = self._next.get(lane, 0)
            if met:
                return tape.lanes[lane].events[met - 1].id
            lane = lane.rpartition(".")[0]
        return None

    def joined(self) -> list[str]:
        """The lanes of the Pythons that the recorded run started by what has been asked so far."""
        tape = self._plan.prefix
        if tape is None:
            return []
        asked = {event.id for path, count in self._next.items() for event in tape.lanes[path].events[:count]}
        return [child.lane for event, children in tape.joined.items() if event in asked for child in children]

    def left(self) -> list[Divergence]:
        """What the tape holds and a replay did not ask or write; of a run that may leave its tape, nothing."""
        return self.missing() if self._plan.live is Live.NEVER else []

    def missing(self) -> list[Divergence]:
        """What the tape holds and the run has not asked or written by now."""
        tape = self._plan.prefix
        if tape is None:
            return []
        found = []
        for path, log in tape.lanes.items():
            if log.beside:
                continue
            for event in self._unasked(path, log):
                call = Call(event.kind, event.name, headers_of(event.head), tape.body(event))
                found.append(Divergence(What.MISSING, path, event.id, None, _site_of(event), _asked(call)))
            if self._plan.schedule is None:
                found.extend(self._unwritten(path, log))
        return found

    def _unasked(self, path: str, log: LaneLog) -> list[Event]:
        if self._plan.schedule is not None:
            return [event for event in log.events if self._is_open(event, Kind.HTTP)]
        return log.events[self._next.get(path, 0) :]

    def _unwritten(self, path: str, log: LaneLog) -> list[Divergence]:
        found = []
        for stream, data in log.wrote.items():
            done = self._written.get((path, stream), 0)
            if done < len(data):
                name = "stdout" if stream == 1 else "stderr"
                rest = bytes(data[done:])
                found.append(
                    Divergence(What.OUTPUT, path, None, None, None, Datum(name, name, rest), Datum(name, name))
                )
        return found


def _asked(call: Call) -> Request | Datum:
    if call.kind is Kind.HTTP:
        return request_of(call.name, call.headers, call.body)
    return Datum(call.kind.name.lower(), call.name, call.body)


def _site_of(event: Event) -> Site | None:
    if event.site is None:
        return None
    return Site(event.site.file, event.site.line, event.site.place.partition(":")[2])


__all__ = ["Boundary", "Cut", "Perform", "Recording", "Refuse", "Serve"]
