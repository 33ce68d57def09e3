"""A tape in memory: what the run did, lane by lane and in the order in which it saw things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from reenact.tape import event as ev
from reenact.tape.allowance import Allowance
from reenact.tape.delta import Bodies
from reenact.tape.journal import GENESIS
from reenact.tape.seal import Seal
from reenact.tape.spliced import Spliced

RECORDING = "recording"
"""The status of a run whose tape is not closed."""

_KEPT = 64  # bodies that can be had at once


class Event(Struct):
    """One call with what came back. `parts` are (tick, part); `body` is the request's, see `Recording.body`.

    `mark` is the number of the innermost agent or step that the program had marked there, -1 for none. `left_out` is
    how many bytes of the answer an outline is without. `moved` are the states in which a tool left generators.
    """

    id: int
    lane: str
    kind: ev.Kind
    name: str
    site: ev.SiteNamed | None
    at: int
    head: bytes
    delta: ev.Delta
    parts: list[tuple[int, ev.Part]] = field(default_factory=list)
    mark: int = -1
    left_out: int = 0
    moved: dict[str, bytes] = field(default_factory=dict)

    @property
    def received(self) -> int:
        """How many bytes came back, the head of a response aside."""
        return self.left_out + sum(len(part.data) for _, part in self.parts if part.kind != ev.PartKind.HEAD)

    @property
    def ended(self) -> int | None:
        """When the last part came, ns since the run began; None when nothing came back."""
        return self.parts[-1][1].at if self.parts else None

    @property
    def complete(self) -> bool:
        """Whether the outcome is on tape to its end."""
        return bool(self.parts) and self.parts[-1][1].kind in ev.LAST


class Aside(Struct):
    """One request that is side traffic. `before` is how many events of its lane had begun; `parts` are (tick, part)."""

    host: str
    before: int
    parts: list[tuple[int, ev.AsidePart]] = field(default_factory=list)


class Marked(Struct):
    """An agent or a step that the program has marked: what it is called, and what it was when it began.

    `within` is the number of the one around it, -1 for none. `ended` is None where the tape does not hold its end, and
    `error` the class of the exception that it ended by. Times are ns since the run began.
    """

    kind: ev.MarkKind
    name: str
    attributes: dict[str, str | int | float | bool | None]
    within: int
    lane: str
    site: ev.SiteNamed | None
    began: int
    ended: int | None = None
    error: str = ""


class LaneLog(Struct):
    """What one lane did: its events in order, its draws by (kind, place), and what it wrote, by stream.

    `collected` is the generation of garbage that was collected, by the number of the event that came next, and
    `locals` are digests of variables at that moment: functions as `module:name`, the outermost first. A lane that is
    `beside` the run did nothing but side traffic; `times` are the ticks at which it had slept or waited long enough.
    `left_out` is how many bytes of what it wrote an outline is without.
    `marks` are those that the program made there, in order, with their place, but for the ends of agents and steps;
    `mark` is the one that its next event is in. `index` stands for the lane in the journal. `stored` counts what it put
    into stores.
    """

    path: str
    name: str
    events: list[Event] = field(default_factory=list)
    draws: dict[tuple[int, str], list[int | float | bytes | list[int]]] = field(default_factory=dict)
    wrote: dict[int, bytearray] = field(default_factory=dict)
    expired: list[int] = field(default_factory=list)
    collected: dict[int, int] = field(default_factory=dict)
    asides: list[Aside] = field(default_factory=list)
    beside: bool = False
    times: list[int] = field(default_factory=list)
    locals: dict[int, list[tuple[str, dict[str, bytes]]]] = field(default_factory=dict)
    marks: list[tuple[ev.Mark, str]] = field(default_factory=list)
    mark: int = -1
    index: int = -1
    left_out: int = 0
    stored: int = 0


def _none(_run: Recording) -> Iterable[Recording]:
    return ()


class Recording(Struct):
    """A whole tape in memory. `ticks` is the order in which the run saw things; side traffic's are `passable`.

    `session` and `tags` are what the program said of itself while it ran; those that it began with are in the manifest.
    `joined` are the Pythons that record themselves, by the event that started them; `ends` are their exit
    statuses, by lane. `seal` is that of a closed tape.
    `stored` is what the program put into stores, in order, but for an outline, which has none of it.
    `placeholders` stand for secrets; `lost` counts contents that were redacted in what came from outside.
    `kin` are the journals of the processes that it has started, by the paths of their main lanes, see `processes`.
    `branch` says where a run was forked from; the first `inherited` of its events are its parent's. In it, `sent` is
    what went out in the place of requests, see `sent_for`, and `given` who answered events that the world did not.
    `allowance` is what may still be unpacked of it, `depth` how many processes have started one another to come to this
    one, and `started` reads those that it has started itself.
    """

    path: Path
    summary: dict[str, str | int]
    manifest: bytes = b""
    lanes: dict[str, LaneLog] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    ticks: list[ev.Part | ev.AsidePart | ev.Timer | ev.Signal | ev.Expired] = field(default_factory=list)
    passable: set[int] = field(default_factory=set)
    asides: list[Aside] = field(default_factory=list)
    forced: set[int] = field(default_factory=set)
    spun: dict[int, int] = field(default_factory=dict)
    signals: list[ev.Signal] = field(default_factory=list)
    notes: list[tuple[ev.Note, ev.SiteNamed | None]] = field(default_factory=list)
    snapshots: dict[str, bytes] = field(default_factory=dict)
    wrote: dict[int, bytearray] = field(default_factory=dict)
    saw: dict[str, ev.Saw] = field(default_factory=dict)
    contents: dict[bytes, bytes] = field(default_factory=dict)
    changed: dict[int, list[ev.Saw]] = field(default_factory=dict)
    left: dict[str, ev.Left] = field(default_factory=dict)
    marks: list[Marked] = field(default_factory=list)
    session: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    joined: dict[int, list[ev.Child]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    kin: dict[str, list[ev.Kin]] = field(default_factory=dict)
    again: dict[str, dict[int, ev.Saw]] = field(default_factory=dict)
    placeholders: set[bytes] = field(default_factory=set)
    lost: int = 0
    ended: ev.Ended | None = None
    status: int | None = None
    digest: bytes = GENESIS
    pieces: int = 0
    sites: int = 0
    seal: Seal | None = None
    branch: ev.Branch | None = None
    sent: list[ev.Sent] = field(default_factory=list)
    stored: list[ev.Stored] = field(default_factory=list)
    given: dict[int, ev.Giver] = field(default_factory=dict)
    inherited: int = 0
    allowance: Allowance = field(default_factory=Allowance)
    depth: int = 0
    started: Callable[[Recording], Iterable[Recording]] = _none
    _bodies: Bodies = field(default_factory=Bodies)
    _restored: dict[int, Spliced] = field(default_factory=dict)
    _next_body: int = 0
    _last_body: tuple[int, bytes] = (-1, b"")
    _processes: tuple[Recording, ...] | None = None

    @property
    def main(self) -> str:
        """The birth path of the main lane: "0", or for a process of a run the one that it has there."""
        return next(iter(self.lanes), "0")

    @property
    def name(self) -> str:
        """What the main lane is called: for a process of a run, the process's name."""
        return self.lanes[self.main].name if self.lanes else ""

    @property
    def processes(self) -> tuple[Recording, ...]:
        """What the processes did that this one has started. They are read when they are asked for first.

        Raises:
            TapeCorruptError: a journal of theirs cannot be believed.
        """
        if self._processes is None:
            self._processes = tuple(self.started(self))
        return self._processes

    def first(self, event: Event) -> int:
        """The number that the first event of that one's process has here, see `tape.whole`."""
        return 0

    @property
    def closed_by_itself(self) -> bool:
        """Whether the program came to an end of its own, so that nothing of it is missing."""
        return self.ended is not None

    @property
    def compared(self) -> list[Event]:
        """The events that a replay has to meet: all but those of lanes that are beside the run."""
        beside = {path for path, lane in self.lanes.items() if lane.beside}
        return [event for event in self.events if event.lane not in beside] if beside else self.events

    @property
    def side_traffic(self) -> dict[str, int]:
        """How many requests were side traffic, by host."""
        return dict(Counter(aside.host for aside in self.asides))

    @property
    def output(self) -> int:
        """How many bytes of output a replay has to write again."""
        lanes = [lane for lane in self.lanes.values() if not lane.beside]
        return sum(lane.left_out + sum(map(len, lane.wrote.values())) for lane in lanes)

    @property
    def latest(self) -> int:
        """When the last that is on tape came, ns since the run began."""
        return max((event.at if event.ended is None else event.ended for event in self.events), default=0)

    def bodies(self) -> Bodies:
        """The bodies that the next of this tape may build on."""
        if self.events:
            self.body(self.events[-1])
        return self._bodies

    def sent_for(self, event: Event) -> tuple[str, bytes] | None:
        """Method and URL, and body, of what was sent in the place of a request; None where it was sent itself."""
        return next(((name, body) for number, name, body in self.sendings() if number == event.id), None)

    def sendings(self) -> Iterator[tuple[int, str, bytes]]:
        """All that was sent in the place of requests: the event, method and URL, and body."""
        bodies = Bodies()
        for number, sent in enumerate(self.sent):
            yield sent.event, sent.name, bodies.restore(number, sent.body)

    def body(self, event: Event) -> bytes:
        """The body of an event's request. Cheap in tape order; each is built upon the ones before."""
        while self._next_body <= event.id:
            current = self.events[self._next_body]
            self._restored[self._next_body] = self._bodies.splice(current.id, current.delta)
            self._next_body += 1
            if len(self._restored) > _KEPT:  # pieces of what events hold anyway
                del self._restored[next(iter(self._restored))]
        if event.id not in self._restored:
            self._bodies, self._restored, self._next_body = Bodies(), {}, 0
            return self.body(event)
        if self._last_body[0] != event.id:
            self._last_body = event.id, bytes(self._restored[event.id])
        return self._last_body[1]


def in_order_of_birth(recording: Recording) -> list[int]:
    """By what processes are sorted, so that they have the same order whenever they are read."""
    return [int(number) for number in recording.main.split(".")]


def parents_of(lanes: Iterable[str]) -> dict[str, str]:
    """For each lane the nearest one above it that is on the tape; empty where there is none."""
    found: dict[str, str] = {}
    above: list[str] = []
    for path in sorted(lanes):  # a dot comes before every digit, so that descendants follow at once
        while above and not path.startswith(f"{above[-1]}."):
            above.pop()
        found[path] = above[-1] if above else ""
        above.append(path)
    return found


def ancestors(path: str, parents: Mapping[str, str]) -> Iterator[str]:
    """The lanes above a lane, nearest first, as far as they are on the tape."""
    while path := parents.get(path, ""):
        yield path
