"""A call that is answered by what is there already: a recording like any, but that nothing leaves.

The seam is handed the answer as in a replay, and what the program makes of it goes on tape as if it had come from
outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from reenact.engine.crossing import Answer, Crossing
from reenact.tape.event import Part, PartKind

IN_TURN = -3
"""In the place of a tick: a part that comes when the run lets it in."""


class Given(Crossing):
    """One such call: the parts of `served` come one after the other, each when it is the lane's turn."""

    __slots__ = ()

    def _next(self) -> Part:
        assert self.served is not None  # noqa: S101  callers have asked
        rest = self.served.parts[self._parts :]
        self._parts += 1
        return rest[0][1] if rest else Part(-1, PartKind.END, 0, b"")

    def _answer(self, part: Part) -> Answer:
        if part.failed is not None:
            raise self.revive(part.failed)
        return Answer(PartKind(part.kind), part.data)

    def pull(self, _perform: Callable[[], Answer]) -> Answer:
        """The next part, in its turn."""
        part, served = self._next(), self.served
        self.served = None  # a recording performs, and this is what
        try:
            return super().pull(lambda: self._answer(part))
        finally:
            self.served = served

    async def apull(self, _perform: Callable[[], Awaitable[Answer]], *, ends: bool = False) -> Answer:
        """As `pull`, suspending the calling task instead."""
        part, served = self._next(), self.served

        async def perform() -> Answer:
            return self._answer(part)

        self.served = None
        try:
            return await super().apull(perform, ends=ends)
        finally:
            self.served = served
