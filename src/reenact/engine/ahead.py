"""A call beyond what the tape of a run that goes on answers: when the run is live, the world does, if it may."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing, Revive, begin_live, unseen
from reenact.engine.failure import encode
from reenact.engine.given import IN_TURN, Given
from reenact.engine.lane import Lane
from reenact.engine.session import Session
from reenact.tape import event as tape
from reenact.tape.event import Failed, Part, PartKind
from reenact.tape.recording import Event

_CAME = (PartKind.OPENED, PartKind.HEAD, PartKind.CHUNK, PartKind.VALUE, PartKind.FAILURE)
"""What comes from outside: the others are the program's own doing, or follow from that."""
_BROKEN = (PartKind.FAILURE, PartKind.CANCELLED, PartKind.GIVEN_UP)
_LOWEST_ERROR = 300


class Ahead(Given):
    """One such call. `event` is its number where it is on tape already: there a branch leaves its parent.

    The guard of a branch says what is to be done about it: nothing else than to ask the world, or to fail with an
    exception, or to be answered by what is there already.
    """

    __slots__ = ("_call", "_giver", "_refused", "failed", "step")

    def __init__(self, lane: Lane, session: Session, call: Call, revive: Revive, event: int = -1) -> None:
        super().__init__(lane, session, call.kind, event, None, revive)
        self._call: Call | None = call
        self.step, self.failed = 0, True
        met = session.guard(call, self) if session.guard is not None else None
        found = met[0] if met is not None else None
        self._giver = met[1] if met is not None else None
        self._refused = isinstance(found, OSError)
        self.served = _served(lane, call, found)

    @property
    def lane(self) -> str:
        """The path of its lane."""
        return self._lane.path

    @property
    def refused(self) -> bool:
        """Whether the guard does not let it happen."""
        return self._refused

    def pull(self, perform: Callable[[], Answer]) -> Answer:
        """As everywhere, when the run is live."""
        if self._call is not None:
            self._frontier().wait()
            self._ask(self._call)
        if self.served is None:
            return Crossing.pull(self, perform)
        self._move(self.served)
        return super().pull(perform)

    async def apull(self, perform: Callable[[], Awaitable[Answer]], *, ends: bool = False) -> Answer:
        """As `pull`, suspending the calling task instead."""
        if self._call is not None:
            await self._frontier().come()
            self._ask(self._call)
        if self.served is not None:
            self._move(self.served)
            return await super().apull(perform, ends=ends)
        return await Crossing.apull(self, perform, ends=ends)

    def _move(self, served: Event) -> None:
        if self.moves is not None:
            self.moves.again(served)

    def _ask(self, call: Call) -> None:
        self._call = None
        if self.event < 0:
            self.event = begin_live(self._session, self._lane, call)
        else:
            self._session.commit()
        if self._giver is not None:
            self._session.keep(tape.Given(self.event, self._giver))

    def _keep(self, kind: PartKind, data: bytes, failed: Failed | None = None) -> None:
        if kind == PartKind.HEAD:
            self.failed = _status(data) >= _LOWEST_ERROR
        elif kind in _BROKEN:
            self.failed = True
        super()._keep(kind, data, failed)


class _Head(msgspec.Struct):
    status: int = 0


def _status(head: bytes) -> int:
    try:
        return msgspec.json.decode(head, type=_Head).status
    except msgspec.MsgspecError:
        return 0


def _served(lane: Lane, call: Call, found: Event | OSError | None) -> Event | None:
    if found is None:
        return None
    if isinstance(found, Event):
        came = [part for _, part in found.parts if part.kind in _CAME]
        served = unseen(lane, call.name, [(IN_TURN, part) for part in came])
        served.moved = found.moved
        return served
    return unseen(lane, call.name, [(IN_TURN, Part(-1, PartKind.FAILURE, 0, b"", encode(found)))])
