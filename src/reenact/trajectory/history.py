"""The history in a request as raw pieces of JSON, so that what two requests share need not be read again.

An agent sends its whole history at every step: read in full each time, a run of n steps costs n² messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from reenact.providers import Reading, Wire, read
from reenact.providers.loose import too_large

_KEYS = ("messages", "input", "contents")
_KEPT_ELSEWHERE = ("previous_response_id", "conversation")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_turns = msgspec.json.Decoder(list[msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class History:
    """An exchange whose request is split at its history. `turns` is empty where there is none to split at."""

    wire: Wire
    key: str = ""
    members: Mapping[str, msgspec.Raw] | None = None
    turns: list[msgspec.Raw] = field(default_factory=list)
    continues: str | None = None

    @classmethod
    def of(cls, wire: Wire) -> History:
        """Splits a request; any that has no JSON history stays whole."""
        if too_large(wire.request_body):
            return cls(wire)
        try:
            members = _members(wire.request_body)
        except (ValueError, RecursionError):
            return cls(wire)
        if any(key in members for key in _KEPT_ELSEWHERE):
            # The provider holds the history: what is sent is new, even where it says the same again.
            return cls(wire, members=members, continues=_string(members.get(_KEPT_ELSEWHERE[0])))
        for key in _KEYS:
            if key in members:
                try:
                    return cls(wire, key, members, _turns(members[key]))
                except (ValueError, RecursionError):
                    break
        return cls(wire, members=members)

    def shared(self, other: History) -> int:
        """How many turns at the beginning the two have in common."""
        if self.key != other.key:
            return 0
        count = min(len(self.turns), len(other.turns))
        if self.turns[:count] == other.turns[:count]:
            return count
        return next(at for at in range(count) if self.turns[at] != other.turns[at])

    def read(self, after: int = 0) -> Reading:
        """What the exchange means, with the first `after` turns left out of the question."""
        if not after or self.members is None:
            return read(self.wire)
        shorter = {**self.members, self.key: self.turns[after:]}
        return read(replace(self.wire, request_body=msgspec.json.encode(shorter)))

    def question(self, after: int = 0) -> Reading:
        """As `read`, without the answer."""
        bare = replace(self.wire, status=None, response_headers=(), response_body=b"")
        return replace(self, wire=bare).read(after)


def _string(raw: msgspec.Raw | None) -> str | None:
    try:
        return _text(raw) if raw is not None else None
    except (ValueError, RecursionError):
        return None
