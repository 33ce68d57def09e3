"""Reads a tape into a `Recording`. Every piece is checked against its chain before it is believed."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from reenact.errors import TapeCorruptError, TapeError, TapeVersionError
from reenact.tape import event as ev
from reenact.tape import schema
from reenact.tape.delta import Bodies
from reenact.tape.journal import GENESIS, Piece, unfold, unpack

AROUND = (ev.Kind.SLEEP, ev.Kind.CONNECT, ev.Kind.CLOSE)
"""What a lane may do around its side traffic, and be beside the run."""

RECORDING = "recording"
"""The status of a run whose tape is not closed."""


class Event(Struct):
    """One call with what came back. `parts` are (tick, part); `body` is the request's, see `Recording.body`.

    `mark` is the number of the innermost agent or step that the program had marked there, -1 for none.
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
    `marks` are those that the program made there, in order, with their place, but for the ends of agents and steps;
    `mark` is the one that its next event is in.
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


class Recording(Struct):
    """A whole tape in memory. `ticks` is the order in which the run saw things; side traffic's are `passable`.

    `session` and `tags` are what the program said of itself while it ran; those that it began with are in the manifest.
    `joined` are the Pythons that record themselves, by the event that started them; `ends` are their exit
    statuses, by lane.
    `placeholders` stand for secrets; `lost` counts contents that were redacted in what came from outside.
    `kin` are the journals of the processes that it has started, by the paths of their main lanes, see `processes`.
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
    _bodies: Bodies = field(default_factory=Bodies)
    _restored: dict[int, bytes] = field(default_factory=dict)
    _next_body: int = 0
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
            folded = tuple(_process(self.path, kin, self.ends.get(lane)) for lane, kin in self.kin.items())
            # while a run goes on, or when it was killed, they stand beside its tape
            beside = _beside(self.path) if self.summary.get("status") == RECORDING else ()
            self._processes = (*folded, *beside)
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
        return sum(len(data) for lane in self.lanes.values() if not lane.beside for data in lane.wrote.values())

    def body(self, event: Event) -> bytes:
        """The body of an event's request. Cheap in tape order; each is built upon the ones before."""
        while self._next_body <= event.id:
            current = self.events[self._next_body]
            self._restored[self._next_body] = self._bodies.restore(current.id, current.delta)
            self._restored.pop(self._next_body - 64, None)
            self._next_body += 1
        if event.id not in self._restored:
            self._bodies, self._restored, self._next_body = Bodies(), {}, 0
            return self.body(event)
        return self._restored[event.id]


def read(path: Path) -> Recording:
    """The recording on a tape, closed or still being written.

    Raises:
        TapeError: there is no tape there, or its journal cannot be believed.
    """
    with _damage_told(path), closing(_open(path)) as db:
        recording = Recording(path, dict(db.execute("SELECT key, value FROM run")))
        rows = db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")
        builder = _Builder(recording)
        for records in unpack(_last_seen(recording, (Piece(*row) for row in rows))):
            for record in records:
                builder.add(record)
    set_aside(recording)
    return recording


def folder_of(tape: Path) -> Path:
    """Where the tapes of the processes are that a run has started, until they are folded into its own."""
    return tape.with_suffix("")


def in_order_of_birth(recording: Recording) -> list[int]:
    """By what processes are sorted, so that they have the same order whenever they are read."""
    return [int(number) for number in recording.main.split(".")]


def _beside(tape: Path) -> Iterator[Recording]:
    found = []
    for path in folder_of(tape).glob(f"*{tape.suffix}"):
        with suppress(TapeError):  # its process was gone before there was anything on it, or still is at that
            found.append(read(path))
    return iter(sorted((one for one in found if one.lanes), key=in_order_of_birth))


def _process(tape: Path, kin: list[ev.Kin], status: int | None) -> Recording:
    recording = Recording(tape, {}, status=status)
    builder = _Builder(recording)
    for stretch in kin:
        for record in unfold(stretch):
            builder.add(record)
    set_aside(recording)
    return recording


def set_aside(recording: Recording) -> None:
    """Tells the lanes that are beside the run, and the ticks that nobody need wait for.

    Such a lane crosses nothing but side traffic, itself or by lanes that it bore, and what a thread does around it; or
    it was born of one and does no more. Main is the run itself, and what is written to stdout is what the run was for.
    """
    lanes = recording.lanes
    quiet = {path for path, lane in lanes.items() if path != recording.main and _is_quiet(lane)}
    loud = {ancestor for path in lanes.keys() - quiet for ancestor in _ancestors(path)}
    sending = {path for path, lane in lanes.items() if lane.asides}
    above = {ancestor for path in sending for ancestor in _ancestors(path)} - loud
    for path, lane in lanes.items():  # those that bore others come first
        parent = lanes.get(path.rpartition(".")[0])
        lane.beside = path in quiet and (path in sending or path in above or (parent is not None and parent.beside))
        ticks = [tick for aside in lane.asides for tick, _ in aside.parts]
        if lane.beside:
            lane.times = sorted([*lane.expired, *(tick for event in lane.events for tick, _ in event.parts)])
            ticks += lane.times
        recording.passable.update(tick for tick in ticks if tick >= 0)


def _is_quiet(lane: LaneLog) -> bool:
    return all(event.kind in AROUND for event in lane.events) and ev.Stream.STDOUT not in lane.wrote


def _ancestors(path: str) -> Iterator[str]:
    while path := path.rpartition(".")[0]:
        yield path


def records(path: Path) -> Iterator[ev.AnyRecord]:
    """The journal of a tape, record by record."""
    with _damage_told(path), closing(_open(path)) as db:
        rows = db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")
        for batch in unpack(Piece(*row) for row in rows):
            yield from batch


def summary(path: Path) -> dict[str, str | int]:
    """What is known of a run without reading its journal."""
    with index(path) as db:
        return dict(db.execute("SELECT key, value FROM run"))


@contextmanager
def index(path: Path) -> Iterator[sqlite3.Connection]:
    """The tables of a tape that say what is in its journal."""
    with _damage_told(path), closing(_open(path)) as db:
        yield db


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Damage is a `TapeError`, wherever SQLite comes upon it."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # UnicodeDecodeError: SQLite quotes the damaged bytes in its message
        raise TapeCorruptError(f"{path} is damaged: {error}") from error


def _last_seen(recording: Recording, pieces: Iterator[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        yield piece
        recording.digest = piece.chain
        recording.pieces = piece.id


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise TapeError(f"{path} is not a file")
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    try:
        _check(path, db)
    except sqlite3.DatabaseError as error:
        db.close()
        raise TapeError(f"{path} is not a tape: {error}") from error
    except BaseException:
        db.close()
        raise
    return db


def _check(path: Path, db: sqlite3.Connection) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != schema.APPLICATION_ID:
        raise TapeError(f"{path} is not a tape (its application id is {application:#x})")
    if version > schema.FORMAT:
        known = f"this reenact knows up to {schema.FORMAT}. Upgrade reenact to read it."
        raise TapeVersionError(f"{path} has tape format {version}; {known}")


class _Builder:
    """Folds records into a recording, resolving interned lanes and sites."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lanes: dict[int, LaneLog] = {}
        self._sites: dict[int, ev.SiteNamed] = {}

    def add(self, record: ev.AnyRecord) -> None:  # noqa: C901, PLR0912, PLR0915  one case per record
        recording = self._recording
        try:
            match record:
                case ev.Began():
                    self._began(record)
                case ev.Part():
                    arrived = ev.PartKind(record.kind) not in ev.NO_TICK
                    if record.event < 0:
                        raise IndexError(record.event)  # noqa: TRY301  what the journal says, not what we did
                    recording.events[record.event].parts.append((len(recording.ticks) if arrived else -1, record))
                    if arrived:
                        recording.ticks.append(record)
                case ev.Aside():
                    if record.aside != len(recording.asides):
                        raise IndexError(record.aside)  # noqa: TRY301  as above
                    lane = self._lanes[record.lane]
                    aside = Aside(record.host, len(lane.events))
                    lane.asides.append(aside)
                    recording.asides.append(aside)
                case ev.AsidePart():
                    if record.aside < 0:
                        raise IndexError(record.aside)  # noqa: TRY301  as above
                    arrived = ev.PartKind(record.kind) not in ev.NO_TICK
                    recording.asides[record.aside].parts.append((len(recording.ticks) if arrived else -1, record))
                    if arrived:
                        recording.ticks.append(record)
                case ev.Signal() if record.lane_events >= 0:
                    recording.signals.append(record)
                case ev.Timer() | ev.Signal():
                    recording.ticks.append(record)
                case ev.Expired():
                    self._lanes[record.lane].expired.append(len(recording.ticks))
                    recording.ticks.append(record)
                case ev.Draws():
                    self._draws(record)
                case ev.Wrote():
                    self._lanes[record.lane].wrote.setdefault(record.stream, bytearray()).extend(record.data)
                    recording.wrote.setdefault(record.stream, bytearray()).extend(record.data)
                case ev.LaneBorn():
                    lane = self._lanes[record.index] = LaneLog(record.path, record.name)
                    recording.lanes[record.path] = lane
                case ev.SiteNamed():
                    self._sites[record.index] = record
                case ev.Note():
                    recording.notes.append((record, self._sites.get(record.site)))
                case ev.Start():
                    recording.manifest = record.manifest
                case ev.Snapshot():
                    recording.snapshots[record.name] = record.data
                case ev.Spun():
                    recording.spun[len(recording.ticks)] = record.turns
                case ev.Handed():
                    recording.forced.add(len(recording.ticks))
                case ev.Collected():
                    lane = self._lanes[record.lane]
                    lane.collected[len(lane.events)] = record.generation
                case ev.Locals():
                    lane = self._lanes[record.lane]
                    frames = [(self._sites[site].place, digests) for site, digests in record.frames]
                    lane.locals[len(lane.events)] = frames
                case ev.Mark():
                    self._marked(record)
                case ev.Saw():
                    recording.saw[record.path] = record
                case ev.Content():
                    recording.contents[record.digest] = record.data
                case ev.Changed():
                    recording.changed.setdefault(record.event, []).append(record.found)
                case ev.Again():
                    recording.again.setdefault(record.found.path, {})[record.meeting] = record.found
                case ev.Left():
                    recording.left[record.path] = record
                case ev.Child(status=None):
                    recording.joined.setdefault(record.event, []).append(record)
                case ev.Child(status=int(status)):
                    recording.ends[record.lane] = status
                case ev.Kin():
                    recording.kin.setdefault(record.lane, []).append(record)
                case ev.Redacted():
                    recording.placeholders.update(record.placeholders)
                    recording.lost += record.lost
                case ev.Ended():
                    recording.ended = record
                case ev.Exited():
                    recording.status = record.status
        except (KeyError, IndexError, ValueError) as error:
            raise TapeCorruptError(f"{recording.path}: {type(record).__name__} refers to what is not there") from error

    def _began(self, record: ev.Began) -> None:
        recording, lane = self._recording, self._lanes[record.lane]
        if record.event != len(recording.events):
            raise IndexError(record.event)
        event = Event(
            record.event,
            lane.path,
            ev.Kind(record.kind),
            record.name,
            self._sites.get(record.site),
            record.at,
            record.head,
            record.body,
            mark=lane.mark,
        )
        recording.events.append(event)
        lane.events.append(event)

    def _marked(self, record: ev.Mark) -> None:
        marks, lane = self._recording.marks, self._lanes[record.lane]
        kind, site = ev.MarkKind(record.kind), self._sites.get(record.site)
        match kind:
            case ev.MarkKind.AGENT | ev.MarkKind.STEP:
                if record.mark != len(marks) or not -1 <= record.within < len(marks):
                    raise IndexError(record.mark)
                attributes, within = record.attributes, record.within
                marks.append(Marked(kind, record.name, attributes, within, lane.path, site, record.at))
            case ev.MarkKind.ENDED | ev.MarkKind.INSIDE:
                if not -(kind is ev.MarkKind.INSIDE) <= record.mark < len(marks):
                    raise IndexError(record.mark)
                if kind is ev.MarkKind.INSIDE:
                    lane.mark = record.mark
                else:
                    marks[record.mark].ended, marks[record.mark].error = record.at, record.name
                return
            case ev.MarkKind.SESSION:
                self._recording.session = record.name
            case ev.MarkKind.TAGS:
                self._recording.tags.update({key: str(value) for key, value in record.attributes.items()})
        lane.marks.append((record, site.place if site is not None else ""))

    def _draws(self, record: ev.Draws) -> None:
        draws = self._lanes[record.lane].draws
        for kind, site, values in record.draws:
            draws.setdefault((kind, self._sites[site].place), []).extend(values)
