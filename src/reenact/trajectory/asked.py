"""What a request offers and sets besides what it says: tools, and parameters such as the temperature."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from reenact.providers import ModelCall, ToolSpec
from reenact.providers.parameters import parameters


class Asked(msgspec.Struct, frozen=True):
    """The tools that a request offers, and its parameters as JSON by their names."""

    tools: tuple[ToolSpec, ...] = ()
    parameters: dict[str, bytes] = {}


class Asking:
    """The requests of a run, which mostly ask alike: what is equal is one object."""

    def __init__(self) -> None:
        self._known: dict[str, Asked] = {}

    def of(self, call: ModelCall, members: Mapping[str, msgspec.Raw] | None) -> Asked:
        """That of one request. `members` are those of its body."""
        found = Asked(call.tools, parameters(members or {}))
        known = self._known.get(call.model)
        if known == found:
            return known
        self._known[call.model] = found
        return found
