"""What a branch may do when it is live, as somebody says who forks a run."""

from __future__ import annotations

import msgspec


class Tail(msgspec.Struct, frozen=True):
    """Patterns of hazards (see `launch.hazards`): those that are done, and those that are answered from the parent's tape.

    All others fail.
    """

    allow: list[str] = []
    from_tape: list[str] = []
