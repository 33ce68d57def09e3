"""The drivers: one event under way, pulled part by part by whoever asked, synchronously or in a coroutine."""

from __future__ import annotations

import errno
from asyncio import CancelledError, get_running_loop
from collections.abc import Awaitable, Callable, Iterator
from contextvars import copy_context
from functools import partial
from typing import NoReturn

import msgspec

from reenact import _real
from reenact.engine.boundary import Cut, Pass, Perform, Refuse, Serve
from reenact.engine.call import Call, Outgoing
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.failure import encode
from reenact.engine.frontier import Frontier
from reenact.engine.gate import Gate, gate_of
from reenact.engine.lane import _LANE, MUTED, Lane, get_lane
from reenact.engine.moved import Moves
from reenact.engine.order import PATIENCE, Order, Strand
from reenact.engine.session import Session
from reenact.errors import DivergenceError
from reenact.tape.event import LAST, NO_TICK, Delta, Failed, Kind, Part, PartKind
from reenact.tape.recording import Event
from reenact.tape.writer import HEAVY_BYTES

STUCK_AFTER_NS = 3_000_000_000
COMMIT_WITHIN_NS = 200_000_000
_DURABLE = (Kind.HTTP, Kind.CONNECT, Kind.PROCESS, Kind.TOOL)
_LEAVING = (*_DURABLE, Kind.SOCKET)  # of what is sent over a socket the end is nothing that has come back
_CHUNK = PartKind.CHUNK
_ENOUGH = (*NO_TICK, PartKind.GIVEN_UP)  # the agent reads no further

Revive = Callable[[Failed], BaseException]


class Answer(msgspec.Struct, frozen=True):
    """A part of what came back, as the seam writes it. What could fail to be written is given as a function."""

    kind: PartKind
    data: bytes
    encode: Callable[[], bytes] | None = None


_END = Answer(PartKind.END, b"")
_NOTHING = Part(-1, PartKind.ABANDONED, 0, b"")
_LOST = Failed(
    "builtins", "ConnectionResetError", [errno.ECONNRESET, "the connection ended with the process that was killed"], {}
)


class Crossing:
    """An event under way. `served` is the tape's event when the tape answers."""

    __slots__ = ("_due", "_lane", "_parts", "_session", "closed", "event", "kind", "moves", "revive", "served")
    step = 0  # of the run, which begins with it: a branch counts them

    def __init__(
        self, lane: Lane, session: Session, kind: Kind, event: int, served: Event | None, revive: Revive
    ) -> None:
        self._lane = lane
        self._session = session
        self.revive = revive
        self._parts = 0
        self._due = 0
        self.moves: Moves | None = None
        self.kind = kind
        self.event = event
        self.served = served
        self.closed = False

    @classmethod
    def begin(cls, lane: Lane, call: Call, revive: Revive) -> Crossing:
        """The agent asks. When this returns in recording, the call is on disk and may leave.

        Raises:
            DivergenceError: the tape does not answer, and nobody else may.
        """
        session = lane.session
        assert session is not None  # noqa: S101  seams ask `current()`, which gives live lanes only
        _comes(lane, session)
        if session.plan.prefix is None and session.guard is None and session.live:  # there is nothing to decide
            return cls(lane, session, call.kind, begin_live(session, lane, call), None, revive)
        begin = cls._begin if session.reordered is None else cls._begin_again
        return begin(lane, session, call, revive)

    @classmethod
    def _begin(cls, lane: Lane, session: Session, call: Call, revive: Revive) -> Crossing:
        match session.boundary.enter(lane.path, call, None):
            case Perform() if session.live and session.guard is None:
                return cls(lane, session, call.kind, begin_live(session, lane, call), None, revive)
            case Pass():
                return _Beside(lane, session, call.kind, -1, unseen(lane, call.name), revive)
            case Serve(event) if session.frontier is not None and session.frontier.asks_again(event):
                return _ahead(lane, session, call, revive, event.id)
            case Serve(event):
                return cls(lane, session, call.kind, event.id, event, revive)
            case Perform():
                return _ahead(lane, session, call, revive)
            case Refuse(divergence, event):
                session.diverge(divergence)
                if event is not None and event.kind is call.kind:
                    return cls(lane, session, call.kind, event.id, event, revive)
                raise DivergenceError("the tape holds no answer to this call")
            case Cut():
                raise _cut(session)

    @classmethod
    def _begin_again(cls, lane: Lane, session: Session, call: Call, revive: Revive) -> Crossing:
        """In another order than the tape's, which is kept, too: also what the tape does not answer."""
        kept = _began(session, lane, call)
        if call.lasts is not None:
            return cls(lane, session, call.kind, kept, session.nap(lane, call), revive)
        match session.boundary.enter(lane.path, call, None):
            case Serve(event):
                session.answers[kept] = event.id
                return cls(lane, session, call.kind, kept, event, revive)
            case Refuse(divergence):
                session.latch(divergence)
        raise DivergenceError("the tape holds no answer to this call")

    @staticmethod
    def begun(lane: Lane, call: Call) -> int:
        """The number of an event that begins now, on disk, of which nothing leaves (recording)."""
        session = lane.session
        assert session is not None  # noqa: S101  as in `begin`
        _comes(lane, session)
        number = _began(session, lane, call)
        session.commit()
        return number

    # Pulling

    def pull(self, perform: Callable[[], Answer]) -> Answer:
        """The next part of the answer. Blocks the calling thread. Raises what the call raised."""
        session, strand = self._session, self._session.strand()
        lane = get_lane()
        try:
            if self.served is not None:
                if self._is_lost():
                    self._frontier().wait()
                    raise self._lose()
                return self._give(*self._next_served(), strand)
            # until its turn comes the lane runs nothing of its own: what a finalizer does meanwhile is not ours to see
            _LANE.set(MUTED)
            order = session.order
            if order.lone is not strand:
                order.park(strand)
            try:
                answer = perform()
            except BaseException as error:
                _turn(order, strand)
                self._failed(error)
                raise
            _turn(order, strand)
            self._keep_answer(answer)
            return answer
        finally:
            _LANE.set(lane)
            if lane is None:
                # a thread in no lane of ours: it took a turn to be in order, and holds nobody up
                session.order.park(strand)

    def chunks(self, source: Iterator[bytes]) -> Iterator[bytes]:
        """The rest of the answer: a `pull` for each chunk of `source` and for its end."""
        source = map(bytes, source)

        def following() -> Answer:
            data = next(source, None)
            return _END if data is None else Answer(_CHUNK, data)

        session, order = self._session, self._session.order
        lane, strand, event = get_lane(), session.strand(), self.event
        writer = session.writer if lane is not None and self._keeps else None
        began, now, enter = session.began, _real.monotonic_ns, _LANE.set
        while True:
            if writer is None or order.lone is not strand or self.closed or get_lane() is not lane:
                answer = self.pull(following)
                if answer.kind is not _CHUNK:
                    return
                yield answer.data
                continue
            # the same in fewer steps, for who is alone: a stream comes in many small pieces
            enter(MUTED)
            try:
                try:
                    data = next(source, None)
                except BaseException as error:
                    _turn(order, strand)
                    self._failed(error)
                    raise
                if order.lone is strand:  # as `order.counts`, and no call in between here either
                    strand.tick = order.cursor
                    order.cursor += 1
                else:
                    _turn(order, strand)
                if data is None:
                    self._keep(PartKind.END, b"")
                    return
                if not self.closed:  # the source may have let go of it meanwhile: by a signal's handler, say
                    at = now() - began
                    writer.append(Part(event, _CHUNK, at, data))
                    writer.weight += len(data)
                    if at > self._due or writer.weight > HEAVY_BYTES:
                        self._commit_long(at)
            finally:
                enter(lane)
            yield data

    @property
    def _keeps(self) -> bool:
        """Whether what comes is kept, and there has been no trouble with that."""
        return self.served is None and self.event >= 0 and not self._session.faults

    async def apull(self, perform: Callable[[], Awaitable[Answer]], *, ends: bool = False) -> Answer:
        """As `pull`, suspending the calling task instead. `ends`: the answer is being given up."""
        gate = gate_of(self._session)
        if self.served is not None:
            if self._is_lost():
                await self._frontier().come()
                raise self._lose()
            tick, part = self._next_served()
            if gate is None:
                return self._give(tick, part, self._session.strand())
            if part.kind != PartKind.CANCELLED:
                await self._await_part(gate, tick, part, ends=ends)
                if part.kind == PartKind.GIVEN_UP and not ends:
                    self._diverge_beyond()  # it was not cancelled before this, as it was in the recording
                return self._outcome(part)
            try:
                await gate.tick(-1)
            except CancelledError:
                await gate.tick(tick)
                self.take(part)
                raise
        lane = get_lane()
        _LANE.set(MUTED)
        try:
            answer = await perform()
        except GeneratorExit:
            _LANE.set(lane)
            self.abandon()
            raise
        except CancelledError:
            # letting go of a connection takes its time: when that is over, the others may have gone on
            _LANE.set(lane)
            await self._arrive(gate)
            self._keep(PartKind.CANCELLED, b"")
            raise
        except BaseException as error:
            _LANE.set(lane)
            await self._arrive(gate)
            self._failed(error)
            raise
        _LANE.set(lane)
        await self._arrive(gate)
        self._keep_answer(answer)
        return answer

    def _is_lost(self) -> bool:
        """Whether it is a connection of a resumed run, which ended with the process that was killed."""
        served, at_its_end = self.served, self.served is not None and self._parts >= len(self.served.parts)
        return self._session.frontier is not None and at_its_end and served is not None and not served.complete

    def _lose(self) -> BaseException:
        self._keep(PartKind.FAILURE, b"", _LOST)
        return self.revive(_LOST)

    def when_lost(self, tell: Callable[[BaseException], None]) -> None:
        """Where what comes is not asked for: calls `tell` from the running loop if the answer ends so."""
        if self._session.frontier is not None and self.served is not None and not self.served.complete:
            loop, context = get_running_loop(), copy_context()
            lose = partial(tell, self.revive(_LOST))
            self._session.at_live.append(lambda: loop.call_soon_threadsafe(lose, context=context))

    def _frontier(self) -> Frontier:
        assert self._session.frontier is not None  # noqa: S101  callers have asked
        return self._session.frontier

    def sent(self, asked: Callable[[], Outgoing]) -> Outgoing | None:
        """What is sent in the place of a request, where that is something else: in a branch."""
        reroute = self._session.reroute
        return reroute(self.event, asked(), self.step) if reroute is not None else None

    @property
    def refused(self) -> bool:
        """Whether it may not be done, and fails instead."""
        return False

    async def _await_part(self, gate: Gate, tick: int, part: Part, *, ends: bool) -> None:
        if self._session.reordered is None:
            await gate.tick(tick)
            return
        try:
            # in another order the agent may read on where it gave up, and then nobody knows what would have come
            await gate.tick(tick if (part.kind == PartKind.GIVEN_UP) == ends else -1)
        except CancelledError:
            self.abandon()
            raise

    def deliver(self, answer: Answer) -> None:
        """Keeps a part that came along with the one before it, or unasked."""
        if self.served is None:
            self._keep_answer(answer)

    def take(self, part: Part) -> None:
        """A part of the tape has been handed over unasked (replay)."""
        self._parts += 1
        self._session.now = part.at
        self._session.boundary.compared += len(part.data)
        if self.moves is not None and self.served is not None and part.kind in LAST:
            self.moves.again(self.served)
        if self._session.recording:
            self._keep(PartKind(part.kind), part.data, part.failed)
        self.closed = part.kind in LAST

    def fail(self, error: BaseException) -> None:
        """Keeps that the answer broke off, when nobody had asked for more of it."""
        self._failed(error)

    def close(self) -> None:
        """The agent lets go of the answer at its end."""
        self._let_go(PartKind.CLOSED)

    def abandon(self) -> None:
        """The agent lets go of the answer before its end."""
        self._let_go(PartKind.ABANDONED)

    async def give_up(self, release: Callable[[], Awaitable[None]]) -> None:
        """The agent lets go of the answer before its end, and waits until the connection has been released."""
        if self.closed:
            return
        if get_lane() is MUTED:
            # the collector closes what nobody can reach any more, at a time that is nobody's doing
            await release()
            self.drop(whole=False)
            return
        if self.served is None or self._next_kind() is PartKind.GIVEN_UP:

            async def perform() -> Answer:
                await release()
                return Answer(PartKind.GIVEN_UP, b"")

            await self.apull(perform, ends=True)
        else:
            self._let_go(PartKind.ABANDONED)

    def drop(self, *, whole: bool) -> None:
        """The answer is let go at a moment that says nothing of the agent: by the collector, or while it still came."""
        if self._session.recording:
            self._keep(PartKind.CLOSED if whole else PartKind.ABANDONED, b"")
        self.closed = True

    def _next_kind(self) -> PartKind | None:
        rest = self.served.parts[self._parts :] if self.served is not None else []
        return PartKind(rest[0][1].kind) if rest else None

    def _let_go(self, kind: PartKind) -> None:
        if self.closed:
            return
        if self.served is None or self._session.recording:
            self._keep(kind, b"")
            return
        self.closed = True
        following = self._next_kind()
        if following is not None and following not in _ENOUGH and self.served.complete:
            name = self.served.name
            found = Datum("answer", name, b"given up before its end")
            wanted = Datum("answer", name, b"read on")
            self._session.latch(Divergence(What.MISMATCH, self._lane.path, self.event, None, None, wanted, found))

    @property
    def gate(self) -> Gate | None:
        """The gate of this run on the running loop."""
        return gate_of(self._session)

    def pushed(self) -> list[tuple[int, Part]]:
        """What came unasked in the recording, after the parts that have been pulled (replay)."""
        return self.served.parts[self._parts :] if self.served is not None else []

    async def _arrive(self, gate: Gate | None) -> None:
        if gate is not None:
            try:
                await gate.turn()
            except CancelledError:
                self.abandon()
                raise

    # What is kept, and what is given

    def _keep_answer(self, answer: Answer) -> None:
        if answer.encode is None:
            self._keep(answer.kind, answer.data)
            return
        try:
            data = answer.encode()
        except Exception as fault:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(fault)
            data = answer.data
        self._keep(answer.kind, data)

    def _keep(self, kind: PartKind, data: bytes, failed: Failed | None = None) -> None:
        if self.event < 0 or self.closed:
            return
        session = self._session
        if self.moves is not None and kind in LAST:
            self.moves.keep(self.event)
        at = _real.monotonic_ns() - session.began
        session.keep(Part(self.event, kind, at, data, failed), len(data))
        if kind is _CHUNK:
            if at > self._due and self.kind in _LEAVING:
                self._commit_long(at)
        elif kind in LAST:
            self.closed = True
            self._lane.current = -1
            if self.kind in _DURABLE:
                session.commit()
        else:
            self._due = at + COMMIT_WITHIN_NS

    def _commit_long(self, at: int) -> None:
        """A long stream goes on, and perhaps nothing has been committed for long."""
        session = self._session
        heavy = session.writer is not None and session.writer.weight > HEAVY_BYTES
        if heavy or at - session.committed > COMMIT_WITHIN_NS:
            session.commit(waits=not heavy)
        self._due = max(session.committed, at) + COMMIT_WITHIN_NS

    def _failed(self, error: BaseException) -> None:
        try:
            failed = encode(error)
        except Exception as fault:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(fault)
            return
        self._keep(PartKind.FAILURE, b"", failed)

    def _next_served(self) -> tuple[int, Part]:
        assert self.served is not None  # noqa: S101  callers have asked
        if self._parts >= len(self.served.parts):
            if self.served.complete:
                self._diverge_beyond()
            if not self._session.goes_on:
                raise _cut(self._session)
            return -1, _NOTHING
        tick, part = self.served.parts[self._parts]
        return tick, part

    def _give(self, tick: int, part: Part, strand: Strand) -> Answer:
        if part.kind in NO_TICK and part is not _NOTHING and self._session.reordered is None:
            self._diverge_beyond()
        try:
            self._session.signals_at(self.event, -1)
        except BaseException:
            # the handler ended the wait by raising, as it did in the recording
            if part.failed is not None:
                _await_tick(self._session, strand, tick)
                self.take(part)
            raise
        _await_tick(self._session, strand, tick)
        return self._outcome(part)

    def _outcome(self, part: Part) -> Answer:
        self.take(part)
        if part.failed is not None:
            raise self.revive(part.failed)
        return Answer(PartKind(part.kind), part.data)

    def _diverge_beyond(self) -> NoReturn:
        assert self.served is not None  # noqa: S101  callers have asked
        name = self.served.name
        wanted = Datum("answer", name, b"given up here")
        found = Datum("answer", name, b"read on")
        self._session.diverge(Divergence(What.MISMATCH, self._lane.path, self.event, None, None, wanted, found))
        raise DivergenceError("the agent reads on where it stopped in the recording")


def _comes(lane: Lane, session: Session) -> None:
    """What is due where a lane comes to its next event: garbage, signals, a look at the agent's variables.

    Raises:
        DivergenceError: the run has left its tape.
    """
    if session.collect is not None:
        session.collect(lane)
    if session.plan.prefix is not None:
        session.stay()
        if lane is session.main:
            session.signals_at(-1, lane.events)
    if session.look is not None:
        session.look(lane)
    lane.events += 1


def unseen(lane: Lane, name: str, parts: list[tuple[int, Part]] | None = None) -> Event:
    """An event in the place of one on tape (replay)."""
    return Event(-1, lane.path, Kind.HTTP, name, None, 0, b"", Delta(-1, 0, 0, b""), parts or [])


class _Beside(Crossing):
    """What a lane that is beside the run does around its side traffic (replay): it sleeps, or closes a client."""

    __slots__ = ()

    def pull(self, _perform: Callable[[], Answer]) -> Answer:
        """It has come."""
        session = self._session
        linger(session, session.strand(), session.next_time(self._lane))
        return Answer(PartKind.VALUE, b"")

    async def apull(self, _perform: Callable[[], Awaitable[Answer]], *, ends: bool = False) -> Answer:
        """It has come."""
        tick, gate = self._session.next_time(self._lane), self.gate
        if gate is not None and tick >= 0:
            await gate.tick(tick)
        return Answer(PartKind.VALUE, b"")


def _ahead(lane: Lane, session: Session, call: Call, revive: Revive, event: int = -1) -> Crossing:
    from reenact.engine.ahead import Ahead  # noqa: PLC0415  few runs go on from the end of a tape

    return Ahead(lane, session, call, revive, event)


def begin_live(session: Session, lane: Lane, call: Call) -> int:
    """The call is on disk, and may leave."""
    event = _began(session, lane, call)
    if call.kind in _LEAVING:
        session.commit()
    return event


def _began(session: Session, lane: Lane, call: Call) -> int:
    lane.current = session.began_event(lane, call.kind, call.name, call.head(), call.body)
    return lane.current


def _turn(order: Order, strand: Strand) -> None:
    """Waits for this thread's turn in a recording."""
    try:
        if not order.arrive(strand):
            order.await_turn(strand)
    except BaseException:
        order.leave(strand)
        raise


def _await_tick(session: Session, strand: Strand, tick: int) -> None:
    """Waits until the tape's order lets this thread go on; for -1, that nobody can.

    Raises:
        DivergenceError: nobody can go on any more.
    """
    order = session.order
    lane = get_lane()
    _LANE.set(MUTED)
    try:
        if tick < 0:
            session.never_comes()
            order.block(strand)
            await_served(session, strand)
        elif not order.arrive(strand, tick):
            await_served(session, strand)
    except BaseException:
        order.leave(strand)
        raise
    finally:
        _LANE.set(lane)


def await_served(session: Session, strand: Strand) -> bool:
    """Waits for a turn in replay, and notices when it can never come. False when the run has gone live meanwhile.

    Raises:
        DivergenceError: nobody can go on any more.
    """
    order = session.order
    since, cursor = _real.monotonic_ns(), order.cursor
    while not order.await_turn(strand, PATIENCE * 2):
        if session.frontier is not None and session.frontier.cross(since):
            return False
        session.stay()  # another lane has left the tape: it brings nobody's turn nearer any more
        if order.cursor != cursor or not session.is_stuck:
            since, cursor = _real.monotonic_ns(), order.cursor
        elif _real.monotonic_ns() - since > STUCK_AFTER_NS:
            session.stuck()
    return True


def linger(session: Session, strand: Strand, tick: int) -> bool:
    """Waits until the tape's order comes to `tick`, or nobody else can go on; for -1, until then. In replay only.

    So does who has nothing to do with the rest of the run. False when another lane has made the strand ready before.

    Raises:
        DivergenceError: the run is over for another reason.
    """
    order = session.order
    if 0 <= tick < order.cursor:
        return True
    lane = get_lane()
    _LANE.set(MUTED)
    try:
        if tick >= 0:
            order.want(tick, strand)
        order.park(strand)
        claimed = False
        while not (claimed or order.await_turn(strand, PATIENCE * 2)):
            _go_on(session)
            claimed = order.claim(strand)
    except BaseException:
        order.leave(strand)
        raise
    else:
        return claimed or 0 <= tick == strand.tick
    finally:
        order.unwant(tick)
        _LANE.set(lane)


def _go_on(session: Session) -> None:
    session.stay()
    if session.cut:
        raise _cut(session)


def _cut(session: Session) -> DivergenceError:
    session.cut = True
    session.at_cut()
    return DivergenceError("the recording ends here: its process was killed while this was under way")
