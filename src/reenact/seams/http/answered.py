"""An exchange that an imported one answers: a recording like any, but that nothing leaves.

The library is handed the answer as in a replay, and what it makes of it goes on tape as if it had come from outside.
"""

from __future__ import annotations

from reenact.engine.call import Call
from reenact.engine.crossing import Revive, unseen
from reenact.engine.given import IN_TURN, Given
from reenact.engine.lane import Lane
from reenact.engine.source import Source
from reenact.tape.event import Kind, Part, PartKind
from reenact.tape.recording import Event


class Answered(Given):
    """One such exchange. `first` is the part with which the seam begins."""

    __slots__ = ()

    @classmethod
    def by(cls, source: Source, lane: Lane, call: Call, revive: Revive, first: PartKind) -> Answered:
        """The exchange of that call.

        Raises:
            DivergenceError: nothing answers it.
        """
        session = lane.session
        assert session is not None  # noqa: S101  as in `Crossing.begin`
        session.stay()
        found = source.take(call)
        if found is None:
            session.diverge(source.refuse(lane.path, call))
        number = cls.begun(lane, call)
        return cls(lane, session, Kind.HTTP, number, _served(lane, call, found, first), revive)

    @classmethod
    def plainly(cls, lane: Lane, call: Call, revive: Revive, parts: list[tuple[int, Part]]) -> Answered:
        """One that is side traffic: nothing of it is kept."""
        session = lane.session
        assert session is not None  # noqa: S101  as in `Crossing.begin`
        return cls(lane, session, Kind.HTTP, -1, unseen(lane, call.name, parts), revive)


def _served(lane: Lane, call: Call, found: Event | None, first: PartKind) -> Event:
    parts = [] if first is PartKind.HEAD else [Part(-1, first, 0, b"")]
    if found is not None:
        parts += [part for _, part in found.parts if part.kind != PartKind.END]
    return unseen(lane, call.name, [(IN_TURN, part) for part in parts])
