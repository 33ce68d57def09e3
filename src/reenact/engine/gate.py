"""Where a coroutine waits for its turn. The loop's side of it is a seam (`seams.concurrency.asyncio`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reenact.engine.session import Session


class Gate(Protocol):
    """The turnstile of one session on one running event loop."""

    async def turn(self) -> None:
        """Returns when the loop has come to rest and this outcome is the next (recording)."""

    async def tick(self, tick: int) -> None:
        """Returns when the run has reached `tick` of the tape; never for -1, which waits to be cancelled."""

    def push(self, deliver: Callable[[], None]) -> None:
        """Calls `deliver` from the loop when its turn has come (recording)."""

    def on_tick(self, tick: int, deliver: Callable[[], None]) -> None:
        """Calls `deliver` from the loop when the run has reached `tick` (replay)."""


def gate_of(session: Session) -> Gate | None:
    """The gate of `session` on the running loop; None where the loop cannot be gated."""
    return session.gates() if session.gates is not None else None
