"""What a model decided, in no provider's terms: words, calls of tools, and why it stopped."""

from __future__ import annotations

import json
from typing import Any

import msgspec

END, TOOLS, LENGTH, REFUSAL = "end", "tools", "length", "refusal"
STOPS = (END, TOOLS, LENGTH, REFUSAL)
"""The reasons to stop that every provider has a word for."""


class Call(msgspec.Struct, frozen=True):
    """A call of a tool of the agent's. `arguments` is JSON text as the model wrote it, or free text."""

    name: str
    arguments: str = "{}"
    id: str = ""

    def same(self, other: Call) -> bool:
        """Whether both ask for the same, however their JSON is written."""
        return self.name == other.name and _canonical(self.arguments) == _canonical(other.arguments)

    @property
    def object(self) -> dict[str, Any] | None:
        """The arguments as an object; None where they are none."""
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class Decision(msgspec.Struct, frozen=True):
    """One answer of a model.

    `stop` is one of STOPS or the provider's own word; empty, it follows: `tools` where there are calls, else `end`.
    With `refusal` the text is what the model says in refusing. `reasoning` is for reading: providers sign or encrypt
    it, so it stays in the answer as it was recorded.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    stop: str = ""
    reasoning: str = ""

    @property
    def stops(self) -> str:
        """Why it stops, in any case."""
        return self.stop or self.following

    @property
    def following(self) -> str:
        """Why it stops where nothing else is said."""
        return TOOLS if self.calls else END

    def same(self, other: Decision) -> bool:
        """Whether the other one decides the same. It need not name the ids of calls."""
        return (
            self.text == other.text
            and self.stops == other.stops
            and len(self.calls) == len(other.calls)
            and all(a.same(b) and b.id in ("", a.id) for a, b in zip(self.calls, other.calls, strict=True))
        )


def _canonical(arguments: str) -> str:
    """JSON without its choices of white space and order; what is no JSON as it is."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
