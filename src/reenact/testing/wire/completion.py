"""What the model is to say, settled: ids given out, tokens counted, before a provider's format."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from reenact.testing.reply import Answer, Call, Calls, Say, Usage
from reenact.testing.turn import Turn
from reenact.testing.wire.stamp import Stamp

_WORD = re.compile(r"\s*\S{1,24}|\s+")
_ARGUMENT_PIECE = 12
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, the calls after it (each with an id), and how the turn ended."""

    text: str
    calls: tuple[Call, ...]
    usage: Usage
    truncated: bool
    stamp: Stamp

    @property
    def words(self) -> list[str]:
        """The text in the pieces in which a stream brings it; joined they are the text."""
        return _WORD.findall(self.text)


def pieces(arguments: str) -> list[str]:
    """A call's arguments in the pieces in which a stream brings them; joined they are the arguments."""
    return [arguments[at : at + _ARGUMENT_PIECE] for at in range(0, len(arguments), _ARGUMENT_PIECE)]


def complete(answer: Answer, turn: Turn, stamp: Stamp, call_prefix: str, call_digits: int) -> Completion:
    """Settle an answer: calls without an id get one (unless of 0 digits), usage not given is estimated."""
    match answer:
        case Say(text, usage, truncated):
            calls: tuple[Call, ...] = ()
        case Call():
            text, usage, truncated, calls = "", None, False, (answer,)
        case Calls(calls, text, usage):
            truncated = False
    named = tuple(
        call if call.id or not call_digits else replace(call, id=stamp.base62(call_prefix, call_digits, slot))
        for slot, call in enumerate(calls)
    )
    return Completion(text, named, usage or _estimate(turn, text, named), truncated, stamp)


def _estimate(turn: Turn, text: str, calls: tuple[Call, ...]) -> Usage:
    written = len(text) + sum(len(call.name) + len(call.arguments_text) for call in calls)
    return Usage(len(turn.request.body) // _BYTES_PER_TOKEN + 1, written // _BYTES_PER_TOKEN + 1)
