"""A request that is side traffic: it passes live in a recording, and is answered with a plain success in replay.

So it is in a branch that is live, which is an experiment, unless somebody allows it.

What was asked and answered is not kept, only when something came, as other threads may wait for that. A request that
failed, or was turned down, is so again, because what the program does then (a pause, a number drawn for its length) is
part of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from reenact.engine.crossing import Answer, Crossing, Revive, linger, unseen
from reenact.engine.given import IN_TURN, Given
from reenact.engine.lane import Lane
from reenact.seams.http.head import Head, decode_head, encode_head
from reenact.tape.event import LAST, NO_TICK, AsidePart, Failed, Kind, Part, PartKind
from reenact.tape.recording import Aside as Recorded

NEVER, AT_ONCE = -1, -2
"""In the place of a tick: a part that never came, and one that nobody has to wait for."""

_BODY = b"{}"
_OK = 200
_REFUSED = 400  # the first status that is no success


class Aside(Crossing):
    """One such request. `first` is the part with which the seam begins where the tape has none of it."""

    __slots__ = ("_number",)

    def __init__(self, lane: Lane, host: str, revive: Revive, first: PartKind) -> None:
        session = lane.session
        assert session is not None  # noqa: S101  as in `Crossing.begin`
        served = None
        if session.plan.prefix is None:
            self._number = session.began_aside(lane, host)
        else:
            session.stay()
            served = unseen(lane, host, plain_answer(session.boundary.aside(lane.path), first))
        super().__init__(lane, session, Kind.HTTP, -1, served, revive)

    # Recording

    def _keep(self, kind: PartKind, data: bytes, failed: Failed | None = None) -> None:
        if not self.closed:
            status = decode_head(data).status if kind is PartKind.HEAD and data else 0
            self._session.keep(AsidePart(self._number, kind, status, failed))
            self.closed = kind in LAST

    # Replay

    def pull(self, perform: Callable[[], Answer]) -> Answer:
        """As everywhere; in replay the next part, when its tick has come or nobody else can go on."""
        if self.served is None:
            return super().pull(perform)
        tick, part = self._next_served()
        if tick != AT_ONCE:
            linger(self._session, self._session.strand(), tick)
        return self._outcome(part)

    async def apull(self, perform: Callable[[], Awaitable[Answer]], *, ends: bool = False) -> Answer:
        """As `pull`, suspending the calling task instead."""
        if self.served is None or self._next_kind() is PartKind.CANCELLED:
            return await super().apull(perform, ends=ends)
        tick, part = self._next_served()
        gate = self.gate
        if gate is not None and (tick == NEVER or tick >= self._session.order.cursor):
            await gate.tick(tick)
        return self._outcome(part)

    def pushed(self) -> list[tuple[int, Part]]:
        """As everywhere; what the run has gone past by now comes at once."""
        cursor = self._session.order.cursor
        return [(AT_ONCE if 0 <= tick < cursor else tick, part) for tick, part in super().pushed()]

    def take(self, part: Part) -> None:
        """As everywhere, and nothing is compared."""
        self._parts += 1
        self.closed = part.kind in LAST

    def _next_served(self) -> tuple[int, Part]:
        assert self.served is not None  # noqa: S101  callers have asked
        rest = self.served.parts[self._parts :]
        return rest[0] if rest else (AT_ONCE, _part(PartKind.END))

    def _let_go(self, kind: PartKind) -> None:
        if self.served is None:
            self._keep(kind, b"")
        self.closed = True


class Withheld(Given):
    """One that a branch makes when it is live, and does not send: a plain success, on tape as if it had come."""

    __slots__ = ("_number",)

    def __init__(self, lane: Lane, host: str, revive: Revive, first: PartKind) -> None:
        session = lane.session
        assert session is not None  # noqa: S101  as in `Crossing.begin`
        self._number = session.began_aside(lane, host)
        parts = [(IN_TURN, part) for _, part in plain_answer(None, first)]
        super().__init__(lane, session, Kind.HTTP, -1, unseen(lane, host, parts), revive)

    _keep = Aside._keep


def aside_of(lane: Lane, host: str, revive: Revive, first: PartKind) -> Crossing:
    """The crossing of a request that is side traffic."""
    session = lane.session
    withholds = session.withholds if session is not None and session.live else None
    kind = Withheld if withholds is not None and withholds(host) else Aside
    return kind(lane, host, revive, first)


def _part(kind: PartKind, data: bytes = b"", failed: Failed | None = None) -> Part:
    return Part(-1, kind, 0, data, failed)


def _head(status: int, body: bytes) -> Part:
    headers = [("content-length", str(len(body))), *([("content-type", "application/json")] if body else ())]
    return _part(PartKind.HEAD, encode_head(Head(status if status >= _REFUSED else _OK, headers)))


def plain_answer(recorded: Recorded | None, first: PartKind) -> list[tuple[int, Part]]:
    """The parts of the answer, each with its tick: a success with an empty object, unless the recorded one failed."""
    if recorded is None:
        opened = [(AT_ONCE, _part(first))] if first is not PartKind.HEAD else []
        return [*opened, (AT_ONCE, _head(_OK, _BODY)), (AT_ONCE, _part(PartKind.CHUNK, _BODY))]
    chunks = [tick for tick, part in recorded.parts if part.kind == PartKind.CHUNK]
    parts = []
    for tick, part in recorded.parts:
        kind = PartKind(part.kind)
        if kind is PartKind.HEAD:
            parts.append((tick, _head(part.status, _BODY if chunks else b"")))
        elif kind is PartKind.CHUNK:
            parts += [(tick, _part(kind, _BODY))] if tick == chunks[-1] else []
        elif kind not in NO_TICK:
            parts.append((tick, _part(kind, failed=part.failed)))
    if not recorded.parts or recorded.parts[-1][1].kind not in LAST:
        parts.append((NEVER, _part(PartKind.END) if chunks else _head(_OK, b"")))
    return parts
