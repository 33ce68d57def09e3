"""Scopes: the agents and steps that a program says it is in. They follow the context, as lanes do."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reenact.engine.lane import Lane


class Scope:
    """An agent or a step that began in a lane, `within` another or None. `left` is the lane that it ended in."""

    __slots__ = ("kind", "lane", "left", "name", "number", "within")

    def __init__(self, lane: Lane, kind: int, number: int, name: str, within: Scope | None) -> None:
        self.lane = lane
        self.kind = kind
        self.number = number
        self.name = name
        self.within = within
        self.left: Lane | None = None

    def outwards(self) -> Iterator[Scope]:
        """This one, and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.within

    def leave(self, lane: Lane | None) -> None:
        """It ends in `lane`. What was begun inside of it in other lanes stays inside."""
        self.left = lane
        if _SCOPE.get() is self:
            _SCOPE.set(next((scope for scope in self.outwards() if scope.left is None or scope.left is not lane), None))


_SCOPE: ContextVar[Scope | None] = ContextVar("reenact_scope", default=None)

here, enter = _SCOPE.get, _SCOPE.set


def scope_of(lane: Lane) -> Scope | None:
    """The innermost scope of the calling context, which is in `lane`; of a thread, that which it was begun in."""
    scope = _SCOPE.get()
    return scope if scope is not None and scope.lane.session is lane.session else lane.scope
