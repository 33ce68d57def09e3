"""What a branch may do when it is live, as somebody says who forks a run."""

from __future__ import annotations

import msgspec


class Result(msgspec.Struct, frozen=True):
    """Another result of a tool that the answer of event `step` called; the request of `told` is the first to tell."""

    step: int
    told: int
    name: str
    given: str


class Tail(msgspec.Struct, frozen=True):
    """Patterns of hazards (see `launch.hazards`): those that are done, and those that are answered from the parent.

    All others fail. Where `endpoint` is given, models are asked there, with that `key`; where `model` is, that one is
    asked. What requests say is other by a JSON `patch` of that of the event `patched`, and by `results`.
    """

    allow: list[str] = []
    from_tape: list[str] = []
    endpoint: str = ""
    key: str = ""
    model: str = ""
    patch: str = ""
    patched: int = -1
    results: list[Result] = []

    @property
    def reroutes(self) -> bool:
        """Whether a request may be sent otherwise than it was asked."""
        return bool(self.endpoint or self.model or self.patch or self.results)
