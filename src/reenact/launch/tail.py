"""What a branch may do when it is live, as somebody says who forks a run."""

from __future__ import annotations

import msgspec


class Tail(msgspec.Struct, frozen=True):
    """Patterns of hazards (see `launch.hazards`): those that are done, and those that are answered from the parent.

    All others fail. Where `endpoint` is given, models are asked there; where `model` is, that one is asked.
    """

    allow: list[str] = []
    from_tape: list[str] = []
    endpoint: str = ""
    model: str = ""

    @property
    def reroutes(self) -> bool:
        """Whether a request may be sent otherwise than it was asked."""
        return bool(self.endpoint or self.model)
