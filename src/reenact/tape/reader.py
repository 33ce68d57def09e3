"""Reads a tape into a `Recording`. Every piece is checked against its chain before it is believed."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from io import BytesIO
from itertools import chain, takewhile
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from reenact.errors import TapeCorruptError, TapeError, TapeVersionError
from reenact.tape import event as ev
from reenact.tape import schema
from reenact.tape import seal as seals
from reenact.tape.allowance import Allowance
from reenact.tape.branching import composed
from reenact.tape.delta import Bodies
from reenact.tape.journal import GENESIS, Piece, data_of, unfold, unpack, with_data
from reenact.tape.seal import Seal
from reenact.tape.spliced import Spliced

AROUND = (ev.Kind.SLEEP, ev.Kind.CONNECT, ev.Kind.CLOSE)
"""What a lane may do around its side traffic, and be beside the run."""

RECORDING = "recording"
"""The status of a run whose tape is not closed."""

OUTLINED_BYTES = 16 * 1024 * 1024
"""What an outline holds of one answer, and of one stream of output."""
_KEPT = 64  # bodies that can be had at once
_DEEPEST = 32  # processes that have started one another
_DEEP = 16  # exceptions in exceptions: a recording keeps four
_PATH = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_COLUMNS = {
    "piece": ["id", "segment", "data", "chain"],
    "run": ["key", "value"],
    "event": ["id", "lane", "kind", "name", "site", "began", "ended", "status", "sent", "received"],
}


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
    _bodies: Bodies = field(default_factory=Bodies)
    _restored: dict[int, Spliced] = field(default_factory=dict)
    _next_body: int = 0
    _last_body: tuple[int, bytes] = (-1, b"")
    _processes: tuple[Recording, ...] | None = None
    _allowance: Allowance = field(default_factory=Allowance)
    _depth: int = 0

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
            folded = tuple(_process(self, kin, self.ends.get(lane)) for lane, kin in self.kin.items())
            # while a run goes on, or when it was killed, they stand beside its tape
            beside = _beside(self) if self.summary.get("status") == RECORDING else ()
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


def read(path: Path, *, unsealed: bool = False, depth: int = 0) -> Recording:
    """The recording on a tape, closed or still being written. `unsealed`: without a look at its seal.

    It may be of a process that others have started, `depth` of them.

    Raises:
        TapeError: there is no tape there, or its bytes cannot be believed.
    """
    return _read(path, None, unsealed=unsealed, depth=depth)


def outline(path: Path, *, unsealed: bool = False) -> Recording:
    """As `read`, without what is very long: the rest of an answer, and of output.

    The whole journal is checked all the same. Nothing can be replayed from an outline.
    """
    return _read(path, OUTLINED_BYTES, unsealed=unsealed)


def _read(path: Path, most: int | None, *, unsealed: bool, depth: int = 0) -> Recording:
    seal = None if unsealed else seal_of(path)
    with index(path) as db:
        recording = Recording(path, run_table(db), seal=seal, _depth=depth)
        builder = _Builder(recording, most)
        for record in _composed(path, db, recording):
            builder.add(record)
    set_aside(recording)
    return recording


def _composed(path: Path, db: sqlite3.Connection, recording: Recording | None) -> Iterator[ev.AnyRecord]:
    """The records of a tape that is open, and before them those that it has of its parents."""

    def own(tape: Path) -> tuple[bytes, Iterator[ev.AnyRecord]]:
        if tape == path:
            rows = db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")
            pieces = (Piece(*row) for row in rows)
            if recording is None:
                return b"", chain.from_iterable(unpack(pieces))
            return b"", chain.from_iterable(unpack(_last_seen(recording, pieces), recording._allowance))  # noqa: SLF001
        seal_of(tape)
        with index(tape) as parent:
            found = [Piece(*row) for row in parent.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")]
        return found[-1].chain if found else b"", chain.from_iterable(unpack(iter(found)))

    return composed(path, own)


def folder_of(tape: Path) -> Path:
    """Where the tapes of the processes are that a run has started, until they are folded into its own."""
    return tape.with_suffix("")


def in_order_of_birth(recording: Recording) -> list[int]:
    """By what processes are sorted, so that they have the same order whenever they are read."""
    return [int(number) for number in recording.main.split(".")]


def _beside(run: Recording) -> Iterator[Recording]:
    found = []
    folder = folder_of(run.path)
    for path in folder.glob(f"*{run.path.suffix}") if not folder.is_symlink() else ():
        with suppress(TapeError):  # its process was gone before there was anything on it, or still is at that
            found.append(read(path, depth=_below(run)))
    return iter(sorted((one for one in found if one.lanes), key=in_order_of_birth))


def _process(run: Recording, kin: list[ev.Kin], status: int | None) -> Recording:
    recording = Recording(run.path, {}, status=status, _allowance=run._allowance, _depth=_below(run))  # noqa: SLF001
    builder = _Builder(recording)
    for stretch in kin:
        for record in unfold(stretch, recording._allowance):  # noqa: SLF001  it is made here
            builder.add(record)
    set_aside(recording)
    return recording


def _below(run: Recording) -> int:
    if run._depth == _DEEPEST:  # noqa: SLF001  of this file
        raise TapeCorruptError(f"{run.path}: more than {_DEEPEST} processes have started one another")
    return run._depth + 1  # noqa: SLF001


def set_aside(recording: Recording) -> None:
    """Tells the lanes that are beside the run, and the ticks that nobody need wait for.

    Such a lane crosses nothing but side traffic, itself or by lanes that it bore, and what a thread does around it; or
    it was born of one and does no more. Main is the run itself, and what is written to stdout is what the run was for.
    """
    lanes, parents = recording.lanes, parents_of(recording.lanes)
    quiet = {path for path, lane in lanes.items() if path != recording.main and _is_quiet(lane)}
    loud = _all_above(lanes.keys() - quiet, parents)
    sending = {path for path, lane in lanes.items() if lane.asides}
    above = _all_above(sending, parents) - loud
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


def _all_above(paths: Iterable[str], parents: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        for above in ancestors(path, parents):
            if above in found:
                break  # and all above that one are
            found.add(above)
    return found


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


def records(path: Path) -> Iterator[ev.AnyRecord]:
    """The journal of a tape, record by record."""
    seal_of(path)
    with index(path) as db:
        yield from (record for record in _composed(path, db, None) if not isinstance(record, ev.Branch))


def inherited(path: Path) -> Iterator[ev.AnyRecord]:
    """The records that a branch has of its parents; none where it is no branch."""
    with index(path) as db:
        if "parent" in run_table(db):
            yield from takewhile(lambda record: not isinstance(record, ev.Branch), _composed(path, db, None))


def seal_of(path: Path) -> Seal | None:
    """The seal of a closed tape, when every bit is as it was sealed; None while the tape is not closed.

    There is none either on a tape that was closed before there were seals.

    Raises:
        TapeError: it is damaged, or no tape.
    """
    if path.is_file() and seals.is_sealed(path) and _version_in(path) <= schema.FORMAT:
        return seals.read(path)
    with index(path) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        status = db.execute("SELECT value FROM run WHERE key = 'status'").fetchone()
    if version >= schema.SEALED and status != (RECORDING,):
        raise TapeCorruptError(f"{path} is damaged: its seal is missing, so it is not as it was when it was closed")
    return None


def _version_in(path: Path) -> int:
    """The format that a file says it has, without SQLite: a damaged one is not for its eyes."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(64)[60:], "big")


def summary(path: Path) -> dict[str, str | int]:
    """What is known of a run without reading its journal."""
    with index(path) as db:
        return run_table(db)


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
    db = connect(path)
    try:
        _check(path, db)
    except sqlite3.DatabaseError as error:
        db.close()
        raise TapeError(f"{path} is not a tape: {error}") from error
    except BaseException:
        db.close()
        raise
    return db


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a tape. Of one that is sealed only the file itself is seen, and nothing that lies beside it."""
    how = "mode=ro&immutable=1" if seals.is_sealed(path) else "mode=rw"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", isolation_level=None, timeout=30, uri=True)


def run_table(db: sqlite3.Connection) -> dict[str, str | int]:
    """The table `run`: of what SQLite keeps in any column, texts and numbers."""
    rows = db.execute("SELECT key, value FROM run")
    return {key: value for key, value in rows if isinstance(key, str) and isinstance(value, str | int)}


def _check_tables(path: Path, db: sqlite3.Connection) -> None:
    """That what is read are tables: a view, or a column that is computed, could be without end."""
    strange = db.execute("SELECT name FROM sqlite_master WHERE rootpage IS NULL OR rootpage < 1").fetchone()
    if strange is not None:  # views, triggers and virtual tables have no pages
        raise TapeCorruptError(f"{path}: {strange[0]!r} is no plain table")
    for table, columns in _COLUMNS.items():
        found = [(name, hidden) for _, name, *_, hidden in db.execute(f"PRAGMA table_xinfo({table})")]
        gone = not found and table == "event"  # which is made of the journal, and for queries only
        if not gone and found != [(name, 0) for name in columns]:
            raise TapeCorruptError(f"{path}: its tables are not those of a tape")


def _check(path: Path, db: sqlite3.Connection) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != schema.APPLICATION_ID:
        raise TapeError(f"{path} is not a tape (its application id is {application:#x})")
    if version > schema.FORMAT:
        known = f"this reenact knows up to {schema.FORMAT}. Upgrade reenact to read it."
        raise TapeVersionError(f"{path} has tape format {version}; {known}")
    if version not in schema.HISTORY:
        raise TapeCorruptError(f"{path} is damaged: it says that its format is {version}, which never was")
    if not schema.has_tables(db):
        raise TapeCorruptError(f"{path} is damaged: its tables are not those of a tape")
    _check_tables(path, db)


def _seen(saw: ev.Saw) -> ev.Saw:
    ev.Sight(saw.kind)
    return saw


def _check_depth(failed: ev.Failed) -> None:
    """That exceptions in exceptions are no more than one can go through."""
    level = [failed]
    for _ in range(_DEEP):
        level = [inner for one in level for inner in (*one.nested.values(), one.cause) if inner is not None]
        if not level:
            return
    raise ValueError("too deep")


class _Builder:
    """Folds records into a recording, resolving interned lanes and sites. `most` is given for an outline."""

    def __init__(self, recording: Recording, most: int | None = None) -> None:
        self._recording = recording
        self._most = most
        self._lanes: dict[int, LaneLog] = {}
        self._sites: dict[int, ev.SiteNamed] = {}
        self._slices: BytesIO | None = None
        self._held: defaultdict[int, int] = defaultdict(int)  # bytes of each answer (outline)

    def add(self, record: ev.AnyRecord) -> None:
        """The next record of the journal."""
        if type(record) is ev.Slice:
            self._slices = self._slices or BytesIO()
            self._slices.write(record.data)
            return
        if self._slices is not None and (data := data_of(record)):
            self._slices.write(data)
            # which gives away its memory, and does not copy it
            record, self._slices = with_data(record, self._slices.getvalue()), None
        self._add(record)

    def _add(self, record: ev.AnyRecord) -> None:  # noqa: C901, PLR0912, PLR0915  one case per record
        recording = self._recording
        try:
            match record:
                case ev.Began():
                    self._began(record)
                case ev.Part():
                    arrived = ev.PartKind(record.kind) not in ev.NO_TICK
                    if record.event < 0:
                        raise IndexError(record.event)  # noqa: TRY301  what the journal says, not what we did
                    if record.failed is not None:
                        _check_depth(record.failed)
                    event = recording.events[record.event]
                    if self._most is not None:
                        record = self._outlined(record, event, self._most)
                    event.parts.append((len(recording.ticks) if arrived else -1, record))
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
                    if record.failed is not None:
                        _check_depth(record.failed)
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
                case ev.Sent(event=event):
                    recording.sent.append(record)
                    recording.events[event]
                case ev.Given(event=event):
                    recording.given[recording.events[event].id] = ev.Giver(record.giver)
                case ev.Moved(event=event):
                    recording.events[event].moved[record.generator] = record.state
                case ev.Stored():
                    self._lanes[record.lane].stored += 1
                    if self._most is None:
                        recording.stored.append(record)
                case ev.Unread(count=count) if count > 0:
                    del self._lanes[record.lane].draws[record.kind, record.place][-count:]
                case ev.Wrote():
                    self._wrote(record, self._lanes[record.lane])
                case ev.LaneBorn():
                    if not _PATH.fullmatch(record.path):
                        raise ValueError(record.path)  # noqa: TRY301  as above
                    lane = self._lanes[record.index] = LaneLog(record.path, record.name, index=record.index)
                    recording.lanes[record.path] = lane
                case ev.SiteNamed():
                    self._sites[record.index] = record
                    recording.sites = max(recording.sites, record.index + 1)
                case ev.Note():
                    recording.notes.append((record, self._sites.get(record.site)))
                case ev.Start():
                    recording.manifest = record.manifest
                case ev.Branch():
                    recording.branch, recording.inherited = record, len(recording.events)
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
                    recording.saw[record.path] = _seen(record)
                case ev.Content():
                    recording.contents[record.digest] = record.data
                case ev.Changed():
                    recording.changed.setdefault(record.event, []).append(_seen(record.found))
                case ev.Again():
                    recording.again.setdefault(record.found.path, {})[record.meeting] = _seen(record.found)
                case ev.Left():
                    ev.Sight(record.kind)
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
                    if record.error is not None:
                        _check_depth(record.error)
                    recording.ended = record
                case ev.Exited():
                    recording.status = record.status
        except (KeyError, IndexError, ValueError) as error:
            raise TapeCorruptError(f"{recording.path}: {type(record).__name__} refers to what is not there") from error

    def _outlined(self, part: ev.Part, event: Event, most: int) -> ev.Part:
        if part.kind != ev.PartKind.CHUNK:
            return part
        self._held[event.id] += len(part.data)
        if self._held[event.id] <= most:
            return part
        event.left_out += len(part.data)
        return replace(part, data=b"")

    def _wrote(self, record: ev.Wrote, lane: LaneLog) -> None:
        own = lane.wrote.setdefault(record.stream, bytearray())
        together = self._recording.wrote.setdefault(record.stream, bytearray())
        if self._most is not None and len(together) > self._most:
            lane.left_out += len(record.data)
        else:
            own.extend(record.data)
            together.extend(record.data)

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
