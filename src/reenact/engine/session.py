"""A session: one run while it is being recorded or replayed, and everything that is shared by its lanes."""

from __future__ import annotations

import contextlib
import hashlib
import linecache
import math
import os
import traceback
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakSet

from reenact import _real
from reenact.engine.boundary import DRIFTED, Boundary
from reenact.engine.call import Call, Outgoing
from reenact.engine.divergence import Compared, Divergence, Site, What
from reenact.engine.frontier import Frontier
from reenact.engine.gate import Gate
from reenact.engine.lane import MAX_PENDING, MUTED, UNTOLD, Lane, enter, get_lane, muted, type_of_draw
from reenact.engine.marks import Marks
from reenact.engine.normalize import Normalizer
from reenact.engine.order import Order, Strand
from reenact.engine.place import NAMES, Place, agent_place, name_of
from reenact.engine.plan import RECORD, Live, Plan
from reenact.engine.reorder import Reordered
from reenact.engine.side.traffic import SideTraffic
from reenact.engine.source import Source
from reenact.errors import DivergenceError, TapeError
from reenact.tape import event as ev
from reenact.tape.delta import Bodies
from reenact.tape.journal import DRAW_BYTES, RECORD_BYTES
from reenact.tape.recording import Event, Recording
from reenact.tape.vault import Vault
from reenact.tape.writer import HEAVY_BYTES, TapeWriter

if TYPE_CHECKING:
    from reenact.engine.guard import Guard

_LAST = 1e-6
_SESSIONS: WeakSet[Session] = WeakSet()


def _forsake() -> None:
    """This process is a fork. What it does is no part of its parent's runs, and their tapes are not its own."""
    enter(MUTED)
    for session in list(_SESSIONS):
        session.forsake()


os.register_at_fork(after_in_child=_forsake)


def nobody(_finding: Divergence | str) -> None:
    """Nobody is told of a finding before the end."""


class Look(Protocol):
    """What looks at the agent's variables, see `engine.locals`."""

    def __call__(self, lane: Lane, /) -> None:
        """The lane is about to make its next event. Never raises."""

    def result(self) -> tuple[Compared, list[Divergence]]:
        """What has been compared, and which variables differed."""


class Birth(NamedTuple):
    """Which process of a run this is: the path and the name of its main lane, and when the run began (monotonic, ns).

    The clock is one for all processes of a machine, so that their times are those of the run.
    """

    path: str
    name: str
    began: int

    @classmethod
    def of_run(cls) -> Birth:
        """The first process of a run that begins now."""
        return cls("0", "main", _real.monotonic_ns())


class Session:
    """One run. `writer` is given when the run is being recorded, `plan.prefix` when there is a tape to serve from.

    `exclusive`: the whole process is this run, so that state of the interpreter (generators, say) belongs to it.
    `owns_loops`: nobody else turns on its event loops, which may wait for the baton. So it is in each replay, also of a
    function that was recorded among others.
    `birth` is given to a process that a run has started, and that is a session of its own. `vault` knows what is
    secret; one is made where none is given.
    """

    run_id = ""
    source: Source | None = None  # what answers the program's HTTP, while all else is recorded

    def __init__(  # noqa: PLR0915  all that a session is
        self,
        plan: Plan,
        writer: TapeWriter | None,
        normalizers: tuple[Normalizer, ...] = (),
        *,
        exclusive: bool = True,
        birth: Birth | None = None,
        vault: Vault | None = None,
    ) -> None:
        birth = birth or Birth.of_run()
        self.plan = plan
        self.writer = writer
        self.exclusive = exclusive
        self.owns_loops = exclusive or plan.prefix is not None
        self.rules = normalizers
        tape = plan.prefix
        self.vault = vault or Vault(learns=plan.live is not Live.NEVER)
        self.vault.learn_environment(os.environ)
        self.vault.leave(tape.placeholders if tape is not None else ())
        self.boundary = Boundary(plan, normalizers, self.vault.bind)
        if writer is not None:
            writer.protect(self.vault)
            if tape is not None and tape.placeholders:
                writer.append(ev.Redacted(sorted(tape.placeholders), tape.lost))
        self.reordered = Reordered(tape, plan.schedule) if tape is not None and plan.schedule is not None else None
        self.order = self.reordered or (Order() if tape is None else Order(tape.forced, tape.passable))
        self.side = SideTraffic()
        self.marks = Marks(self)
        self.began = birth.began
        self.dirty: dict[Lane, bool] = {}  # a set; but to put something in a dict takes no call, see `Drawn`
        self.divergences: list[Divergence] = []
        self.drifts: dict[str, int] = {}
        self._uncounted: dict[str, int] = {}  # the same of lanes beside the run, and after a cut: nobody asks for it
        self._skews: dict[tuple[str, int], int | float] = {}  # by lane and clock: from this machine's time to theirs
        self.faults: list[str] = []
        self.found: Callable[[Divergence | str], None] = nobody  # who is told at once
        self.gates: Callable[[], Gate | None] | None = None
        self.cut = False
        self.at_cut: Callable[[], None] = lambda: None
        self.finish: Callable[[], None] = lambda: None  # before the process is gone without exit handlers
        self.leaving: int | None = None  # the exit status with which the process ends itself
        self.collect: Callable[[Lane], None] | None = None
        self.look_behind: Callable[[FrameType | None], None] = lambda _: None  # at what C code does
        self.look: Look | None = None  # at the agent's variables: `verify --deep`
        self.frontier: Frontier | None = None  # of a run that is resumed
        self.monotonic: Callable[[], float] = _real.monotonic  # what event loops go by
        self.at_live: list[Callable[[], object]] = []  # when a run that is resumed goes live
        self.reroute: Callable[[int, Outgoing, int], Outgoing | None] | None = None  # of a branch: what is sent instead
        self.guard: Guard | None = None  # of a branch
        self.withholds: Callable[[str], bool] | None = None  # of a branch: whether side traffic to a host stays here
        self.call_handler: Callable[[int], None] | None = None
        self.recorded_pid = -1
        self.stand_ins: set[int] = set()  # numbers of processes of the recorded run, which may be anybody's by now
        self._signals = list(tape.signals) if tape is not None else []
        self.draw: Callable[[Lane, int, Callable[[], type_of_draw], FrameType], type_of_draw]
        self.live = tape is None
        served = self._draw_served if self.reordered is None else self._draw_again
        self.draw = self._draw_live if self.live else served
        self._bodies = Bodies()
        self._events = self._asides = self._lanes = self._loops = 0
        self._alive: WeakSet[Lane] = WeakSet()
        self._expiries: dict[str, int] = {}
        self._sealed = False
        self._naps: dict[str, int] = {}
        self.answers: dict[int, int] = {}  # in another order: the tape's event by that of the tape being written
        self._sites: dict[int | Place, int] = {}
        self._first_site = 0
        self._strands: dict[int, Strand] = {}
        self._notes: set[tuple[str, str]] = set()
        self._clock: dict[tuple[str, int], int | float] = {}
        self._looked: dict[tuple[str, int], float] = {}  # in another order: when each clock was read last
        self._lock = _real.allocate_lock()
        self._flushing = _real.RLock()
        self.committed = 0  # when that was last done: ns since the run began
        self.now = 0
        _SESSIONS.add(self)
        self.main = self.bear(birth.path, birth.name)
        self.order.begin(self.strand())
        self.order.handed = self.handed

    @property
    def recording(self) -> bool:
        """Whether this run is being written to a tape."""
        return self.writer is not None

    def bear(self, path: str, name: str, origin: Place | None = None) -> Lane:
        """A new lane."""
        with self._lock:
            lane = Lane(self, path, self._lanes, name, origin)
            self._lanes += 1
            self._alive.add(lane)
        self.keep(ev.LaneBorn(lane.index, path, name))
        return lane

    def resume(self, frontier: Frontier) -> None:
        """The run is one that goes on where its tape ends."""
        self.frontier = frontier
        self.monotonic = frontier.monotonic
        self.draw = self._draw_until_live

    def go_live(self, writer: TapeWriter, tape: Recording) -> None:
        """What comes next is live, and `writer` goes on with `tape`."""
        frontier, self.plan = self.frontier, RECORD
        unread = [*self.boundary.go_live(RECORD)]
        self.order.go_live()
        self._events, self._asides, self._bodies = len(tape.events), len(tape.asides), tape.bodies()
        self._sites, self._first_site = {}, tape.sites
        self.began = _real.monotonic_ns() - tape.latest
        self._lanes = 1 + max(log.index for log in tape.lanes.values())
        self.writer, self.live = writer, True
        writer.protect(self.vault)
        for lane in sorted(self._alive, key=lambda lane: lane.index):
            log = tape.lanes.get(lane.path)
            lane.index, lane.last_http, lane.inside = self._lanes if log is None else log.index, -1, UNTOLD
            if log is None:
                self._lanes += 1
                self.keep(ev.LaneBorn(lane.index, lane.path, lane.name))
        for path, kind, place, count in unread:
            self.keep(ev.Unread(tape.lanes[path].index, kind, place, count))
        for record in frontier.held() if frontier is not None else ():
            self.keep(record)
        self.commit()
        for meet in self.at_live:
            meet()

    def dissolve(self) -> None:
        """The run is over, and the process goes on: what its lanes do from now on is not ours to see."""
        self._end_lanes()
        self.order.dissolve()

    def forsake(self) -> None:
        """This process is a fork of the run's: it goes on outside of the run."""
        self._end_lanes()
        self.order.forsake()
        if self.writer is not None:
            self.writer.forsake()

    def become(self, plan: Plan, writer: TapeWriter | None, birth: Birth) -> None:
        """This process is a fork that goes on as a session of its own, and so does who holds this one."""
        rules, look_behind = self.rules, self.look_behind
        self.vault.begin_anew()
        Session.__init__(self, plan, writer, rules, birth=birth, vault=self.vault)
        self.look_behind = look_behind

    def _end_lanes(self) -> None:
        for lane in list(self._alive):
            lane.session, lane.live, lane.keeps = None, False, False

    def strand(self) -> Strand:
        """The calling thread."""
        ident = _real.get_ident()
        strand = self._strands.get(ident)
        if strand is None:
            strand = Strand(f"thread {len(self._strands)}", self.order)
            self.adopt(strand)
        return strand

    def adopt(self, strand: Strand) -> Strand | None:
        """The calling thread is `strand` from now on; what it was before."""
        previous = self._strands.get(_real.get_ident())
        self._strands[_real.get_ident()] = strand
        self.order.count(len(self._strands))
        strand.ident, strand.native_id = _real.get_ident(), _real.get_native_id()
        return previous

    def restore(self, strand: Strand | None) -> None:
        """Undoes `adopt`."""
        if strand is None:
            self._strands.pop(_real.get_ident(), None)
        else:
            self._strands[_real.get_ident()] = strand
        self.order.count(len(self._strands))

    def forget_strand(self) -> None:
        """The calling thread ends."""
        strand = self._strands.pop(_real.get_ident(), None)
        if strand is not None:
            self.order.park(strand)
            self.order.count(len(self._strands))

    def expiry(self, lane: Lane, seconds: float) -> int:
        """The tick at which the next wait with a timeout (s) of `lane` runs out; -1: on tape none does."""
        log = self.plan.prefix.lanes.get(lane.path) if self.plan.prefix is not None else None
        at = self._expiries.get(lane.path, 0)
        tick = log.expired[at] if log is not None and at < len(log.expired) else -1
        if self.reordered is None:
            return tick
        due, place = self.reordered.read() + seconds, place_here(_real.getframe(1))
        return self.reordered.deadline(due, tick, lane.path, f"a wait of {seconds:g} s runs out", place)

    def nap(self, lane: Lane, call: Call) -> Event:
        """A sleep in another order: it ends when its deadline is chosen, however often the recorded run slept."""
        reordered, log = self.reordered, self.plan.prefix.lanes.get(lane.path) if self.plan.prefix is not None else None
        assert reordered is not None  # noqa: S101  only there
        naps = [event for event in log.events if event.kind is call.kind and event.parts] if log is not None else []
        at = self._naps.get(lane.path, 0)
        self._naps[lane.path] = at + 1
        tick = naps[at].parts[0][0] if at < len(naps) else -1
        due = reordered.read() + (call.lasts or 0.0)
        number = reordered.deadline(due, tick, lane.path, call.name, place_here(_real.getframe(1)))
        part = ev.Part(-1, ev.PartKind.VALUE, self.elapsed(), b"")
        return Event(-1, lane.path, call.kind, call.name, None, 0, b"", ev.Delta(-1, 0, 0, b""), [(number, part)])

    def expired(self, lane: Lane) -> None:
        """A wait of the lane has run out."""
        self._expiries[lane.path] = self._expiries.get(lane.path, 0) + 1
        self.keep(ev.Expired(lane.index))

    def next_time(self, lane: Lane) -> int:
        """The tick at which a lane beside the run has next slept or waited long enough on tape; -1: none does."""
        log = self.plan.prefix.lanes.get(lane.path) if self.plan.prefix is not None else None
        cursor = self.order.cursor
        return next((tick for tick in log.times if tick >= cursor), -1) if log is not None else -1

    def signals_at(self, event: int, lane_events: int) -> None:
        """Calls the handlers of the signals that came at this place of the recording; raises what they raise."""
        while self._signals and self.call_handler is not None:
            signal = self._signals[0]
            if signal.event != event or (event < 0 and signal.lane_events > lane_events):
                return
            self._signals.pop(0)
            self.call_handler(signal.number)

    # What is kept

    def keep(self, record: ev.AnyRecord, size: int = 0) -> None:
        """Adds a record to the tape being written, if there is one; `size` is that of its data. Never raises."""
        writer = self.writer
        if writer is not None and not self._sealed:
            try:
                writer.append(record)
            except Exception as error:  # noqa: BLE001  a fault of ours is reported at the end, never to the agent
                self.fault(error)
            writer.weight += RECORD_BYTES + size
            if writer.weight > HEAVY_BYTES:
                self.weigh(0)
        elif self.frontier is not None:
            self.frontier.hold(record)

    def weigh(self, size: int) -> None:
        """So many bytes more wait for the next commit, which comes now if they are a lot. Never raises."""
        if self.writer is not None:
            self.writer.weight += size
            under_way = self.writer.busy or self._flushing._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
            if self.writer.weight > HEAVY_BYTES and not under_way:
                self.commit()

    def commit(self, *, waits: bool = False) -> None:
        """Makes everything so far durable: the draws and output of every lane, too. Never raises.

        With `waits` not yet where that would part a secret: half of one is not seen to be any.
        """
        if self.writer is None:
            return
        try:
            if waits and self.writer.cut:
                return
            for lane in list(self.dirty):
                self.flush(lane)
            self.writer.commit()
            self.committed = self.elapsed()
        except Exception as error:  # noqa: BLE001
            self.fault(error)

    def spill(self) -> None:
        """As `commit`, where it is enough to outlive this process: the machine may take its time. Never raises."""
        if self.writer is None:
            return
        try:
            with self.writer.in_no_hurry():
                self.commit()
        except Exception as error:  # noqa: BLE001
            self.fault(error)

    def flush(self, lane: Lane) -> None:
        """Moves what a lane has drawn and written into the journal."""
        if self.writer is None:
            return  # it may be live yet
        with self._flushing:  # or what was taken first might be kept last
            drawn = lane.drawn.take()
            if not lane.drawn:
                self.dirty.pop(lane, None)
                if lane.drawn:  # by now; and while it has lists, it puts something in them unasked
                    self.dirty[lane] = True
            if drawn:
                sites = self._sites
                draws = [(kind, sites.get(id(code)) or self._code_site(code), values) for kind, code, values in drawn]
                self.keep(ev.Draws(lane.index, draws))
            if not lane.out:
                return
            out, lane.out = lane.out, []
            start = 0
            for end in range(1, len(out) + 1):
                if end == len(out) or out[end][0] != out[start][0]:
                    data = b"".join(data for _, data in out[start:end])
                    self.keep(ev.Wrote(lane.index, out[start][0], data))
                    start = end

    def unload(self, lane: Lane) -> None:
        """As `flush`, of a lane of which as many draws wait as it may hold."""
        self.flush(lane)
        self.weigh(DRAW_BYTES * MAX_PENDING)

    def began_event(self, lane: Lane, kind: ev.Kind, name: str, head: bytes, body: bytes) -> int:
        """Keeps the beginning of an event and returns its number, or -1 when it cannot be kept."""
        try:
            site = self.line_site(_real.getframe(1))
            self.marks.before_event(lane)
            self.vault.discover_contents(body)
            with self._lock:
                event = self._events
                delta = self._bodies.shrink(event, body, lane.last_http, self.vault)
                if kind is ev.Kind.HTTP:
                    lane.last_http = event
                self.keep(ev.Began(event, lane.index, kind, name, site, self.elapsed(), head, delta))
                self._events += 1
            self.weigh(len(delta.middle))
        except Exception as error:  # noqa: BLE001
            self.fault(error)
            return -1
        return event

    def began_aside(self, lane: Lane, host: str) -> int:
        """Counts a request that is side traffic, and returns its number."""
        with self._lock:
            number = self._asides
            self.keep(ev.Aside(number, lane.index, host))
            self._asides += 1
        return number

    def next_loop(self) -> int:
        """The number of the next event loop of this run."""
        self._loops += 1
        return self._loops - 1

    def elapsed(self) -> int:
        """Ns since the run began."""
        return _real.monotonic_ns() - self.began

    def _code_site(self, code: CodeType) -> int:
        """The number of a call site that is a function."""
        known = self._sites.get(id(code))
        if known is None:
            known = self._name_site(id(code), Place(code.co_filename, code.co_firstlineno, NAMES[id(code)][1]))
        return known

    def function_site(self, frame: FrameType) -> int:
        """The number of the function that this frame runs."""
        name_of(frame)  # which makes its name known
        return self._code_site(frame.f_code)

    def line_site(self, frame: FrameType | None) -> int:
        """The number of the agent's own line from which this call comes; -1 when it is not known."""
        return self.site_at(place_here(frame))

    def site_at(self, place: Place | None) -> int:
        """The number of this place; -1 for none."""
        if place is None:
            return -1
        known = self._sites.get(place)
        return self._name_site(place, place) if known is None else known

    def _name_site(self, key: int | Place, place: Place) -> int:
        index = self._sites[key] = self._first_site + len(self._sites)
        self.keep(ev.SiteNamed(index, place.function, place.file, place.line))
        return index

    def note(self, slug: str, text: str, frame: FrameType | None = None) -> None:
        """Keeps something to be told at the end, once."""
        if (slug, text) not in self._notes:
            self._notes.add((slug, text))
            self.keep(ev.Note(slug, text, self.line_site(frame) if frame is not None else -1))

    def fault(self, error: BaseException) -> None:
        """Something of ours broke. The agent goes on; the tape will say that it is incomplete."""
        with muted():  # what the program is told leaves our lines out, and these are what counts here
            about_tape = isinstance(error, TapeError)  # which says all itself
            text = str(error) if about_tape else "".join(traceback.format_exception(error)[-3:]).strip()
        if text in self.faults:
            return  # a disk that is full is so at each commit
        self.faults.append(text)
        self.found(text)
        if self.writer is not None and len(self.faults) == 1:
            with contextlib.suppress(Exception):  # the tape itself may be what broke; the report at the end tells it
                self.writer.append(ev.Note("late" if about_tape else "fault", text, -1))

    # Draws

    def _draw_live(self, lane: Lane, kind: int, real: Callable[[], type_of_draw], frame: FrameType) -> type_of_draw:
        value = real()
        lane.drew(kind, frame, value)
        return value

    def _draw_served(self, lane: Lane, kind: int, real: Callable[[], type_of_draw], frame: FrameType) -> type_of_draw:
        place = name_of(frame)
        value = self.boundary.draw(lane.path, kind, place)
        if value is None:
            value = self._invent(lane, kind, real, place)
        elif isinstance(value, int | float):
            self._clock[lane.path, kind] = value
        return value

    def _draw_again(self, lane: Lane, kind: int, real: Callable[[], type_of_draw], frame: FrameType) -> type_of_draw:
        value = self._draw_served(lane, kind, real, frame)
        if self.reordered is not None:
            self._looked[lane.path, kind] = self.reordered.now
        lane.drew(kind, frame, value)
        return value

    def _draw_until_live(
        self, lane: Lane, kind: int, real: Callable[[], type_of_draw], frame: FrameType
    ) -> type_of_draw:
        """In a run that is resumed: beyond the end of the tape draws are live, before the run is, too."""
        frontier = self.frontier
        if not self.live:
            if not self.boundary.beyond(lane.path):
                return self._draw_served(lane, kind, real, frame)
            served = self.boundary.draw(lane.path, kind, name_of(frame))
            if served is not None:
                return served
        value = real()
        if frontier is not None and isinstance(value, int | float) and kind != ev.DrawKind.LOOP_TIME:
            value = frontier.moved(kind, value)
        lane.drew(kind, frame, value)
        return value

    def _invent(self, lane: Lane, kind: int, real: Callable[[], type_of_draw], place: str) -> type_of_draw:
        """A draw that the tape does not hold: time goes on a little, entropy follows from the place. Drift, counted.

        In a lane beside the run it is none, and time goes on as it does: such a lane may wait for a moment to come.
        """
        if kind == ev.DrawKind.PID and self.recorded_pid >= 0:
            return self.recorded_pid
        beside = self.boundary.beside(lane.path)
        counted = not beside and not self.boundary.beyond(lane.path)
        what = f"{ev.DrawKind(kind).name.lower()} read once more at {place}"
        drifts = self.drifts if counted else self._uncounted
        count = drifts[what] = drifts.get(what, 0) + 1
        self.boundary.counts[DRIFTED] += counted
        shape = real()
        if kind == ev.DrawKind.LISTING:
            return shape  # what is there is what was put in place
        if isinstance(shape, bytes):
            stream = hashlib.shake_256(f"{lane.path} {kind} {place} {count}".encode())
            return stream.digest(len(shape))
        last = self._clock.get((lane.path, kind))
        if last is None or not isinstance(shape, int | float):
            return shape
        if beside:
            return max(last, shape + self._skews.setdefault((lane.path, kind), last - shape))
        passed = (
            self.reordered.now - self._looked.get((lane.path, kind), math.inf) if self.reordered is not None else 0.0
        )
        passed = max(passed, 0.0) + _LAST
        value = last + round(passed * 1e9) if isinstance(last, int) else last + passed
        self._clock[lane.path, kind] = value
        return value

    # Output

    def wrote(self, lane: Lane, stream: ev.Stream, data: bytes) -> None:
        """The lane writes to an output stream."""
        fresh = data
        if self.frontier is not None and not self.live:
            fresh = data[self.boundary.held(lane.path, stream) :]
        over = self.cut or (self.divergences and not self.plan.observe) or self.reordered is not None
        if self.plan.prefix is not None and not over:
            divergence = self.boundary.wrote(lane.path, stream, data, None)
            if divergence is not None:
                # told now, raised at the next call: an exception out of print is nothing that a program expects
                self.latch(divergence)
        if (self.writer is not None or self.frontier is not None) and fresh:
            lane.out.append((stream, fresh))
            self.dirty[lane] = True
            self.weigh(len(data))

    # Divergence

    def diverge(self, divergence: Divergence) -> None:
        """Latches a divergence, and raises unless the plan is to observe.

        Raises:
            DivergenceError: again at every further divergence, and at the end of the run.
        """
        self.latch(divergence)
        if not self.plan.observe:
            raise DivergenceError(f"{divergence.what}: the run left its tape")

    def handed(self) -> None:
        """Somebody went on although another strand held the baton."""
        self.keep(ev.Handed())

    @property
    def goes_on(self) -> bool:
        """Whether anything may still come, also when the tape does not hold what comes next of an answer."""
        tape = self.plan.prefix
        return self.reordered is not None or (tape is not None and self.order.cursor < len(tape.ticks))

    def never_comes(self) -> None:
        """Somebody waits for what the tape does not hold."""
        if self.reordered is not None:
            self.reordered.out_of_reach += 1

    @property
    def is_stuck(self) -> bool:
        """Whether every strand waits and the tape's next outcome is for none of them, or it is cut and has no more."""
        return self.order.stuck or (self.order.at_rest and self._is_cut)

    @property
    def _is_cut(self) -> bool:
        tape = self.plan.prefix
        ended = tape is not None and not tape.closed_by_itself and self.order.cursor >= len(tape.ticks)
        return self.cut or ended

    def stuck(self) -> None:
        """Nobody can go on any more.

        Raises:
            DivergenceError: always.
        """
        tape = self.plan.prefix
        if not self.order.stuck:
            self.cut = True
            self.at_cut()
            raise DivergenceError("the recording ends here, and everything waits")
        notes = [f"{name} waits for tick {tick}" for tick, name in self.order.waiting().items()]
        if tape is not None and self.order.cursor < len(tape.ticks):
            notes.insert(0, f"the tape goes on with tick {self.order.cursor}: {_tell(tape, self.order.cursor)}")
        self.latch(Divergence(What.STUCK, self.main.path, notes=tuple(notes)))
        raise DivergenceError("every lane waits, and the tape's next outcome is for none of them")

    def stay(self) -> None:
        """Keeps a run that has left its tape from going on.

        Raises:
            DivergenceError: there was a divergence, and the plan is not to observe.
        """
        if self.divergences and not self.plan.observe:
            raise DivergenceError("the run left its tape")

    def latch(self, divergence: Divergence) -> None:
        """Keeps a divergence without raising, with the agent's line where it happened."""
        if divergence.site is None:
            divergence = _at(divergence, here(_real.getframe(1)))
        divergence = self.marks.told_of(divergence)
        if self.plan.observe or not self.divergences:
            self.divergences.append(divergence)
            self.found(divergence)
        if self.reordered is not None:
            self.commit()
            self._sealed = True  # what follows, the run does because we end it


def place_here(frame: FrameType | None) -> Place | None:
    """The agent's line that the calling code comes from: on the stack, else the line that bore the lane."""
    place = agent_place(frame)
    lane = get_lane()
    return place if place is not None or lane is None else lane.origin


def here(frame: FrameType | None) -> Site | None:
    """As `place_here`, with the text of the line."""
    return site_of(place_here(frame))


def site_of(place: Place | None) -> Site | None:
    """The place, with the text of its line."""
    if place is None:
        return None
    source = linecache.getline(place.file, place.line).strip()
    return Site(place.file, place.line, place.function.partition(":")[2], source)


def _tell(tape: Recording, tick: int) -> str:
    match tape.ticks[tick]:
        case ev.Part(event=event, kind=kind):
            asked = tape.events[event]
            return f"{ev.PartKind(kind).name.lower()} of event {event} ({asked.name}) in lane {asked.lane}"
        case ev.Timer(count=count):
            return f"{count} timers of an event loop"
        case other:
            return type(other).__name__.lower()


def _at(divergence: Divergence, site: Site | None) -> Divergence:
    import msgspec.structs  # noqa: PLC0415  only on the way to a report

    return msgspec.structs.replace(divergence, site=site)
