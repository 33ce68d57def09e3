"""What a request says that the one before did not: agents send the whole conversation every time."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import msgspec

from reenact.providers.call import ModelCall
from reenact.providers.loose import load
from reenact.providers.message import Message, Part, Text, Thinking, ToolCall, ToolResult

_Marks: TypeAlias = tuple[object, ...]


class News(msgspec.Struct, frozen=True):
    """`messages` are new; the first `kept` of the earlier request stand unchanged at the beginning.

    `echo` is the earlier answer handed back: no news, so not among `messages`. `rewritten` says that the history is
    other than the earlier one with something after it; `lost` are the earlier messages that are gone from it, or were
    changed (the new form is then in `messages`).
    """

    messages: tuple[Message, ...]
    kept: int = 0
    echo: Message | None = None
    rewritten: bool = False
    lost: tuple[Message, ...] = ()


def news(previous: ModelCall | None, current: ModelCall) -> News:
    """Find the messages of `current` that were not in `previous`. Thinking is not compared: agents may leave it out."""
    if previous is None:
        return News(current.messages)
    before, now = [_marks(m) for m in previous.messages], [_marks(m) for m in current.messages]
    kept = _common(before, now)
    if current.continues is not None:
        # The provider holds the history, so all is new but the system prompt, which goes with every request.
        kept = next((at for at, message in enumerate(current.messages[:kept]) if message.role != "system"), kept)
        return News(current.messages[kept:], kept)
    grown = _grown(before, now, kept)
    if grown is not None:
        rest = (_after(current.messages[kept], grown), *current.messages[kept + 1 :])
        return _without_echo(News(rest, kept + 1), previous.answer)
    known = Counter(before[kept:])
    fresh: list[Message] = []
    for message, marks in zip(current.messages[kept:], now[kept:], strict=True):
        if known[marks]:
            known[marks] -= 1
        else:
            fresh.append(message)
    rewritten = kept < len(before)
    lost = tuple(_left(previous.messages[kept:], before[kept:], known)) if rewritten else ()
    return _without_echo(News(tuple(fresh), kept, None, rewritten, lost), previous.answer)


def _common(before: list[_Marks], now: list[_Marks]) -> int:
    """Length of the longest common prefix."""
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return at
    return min(len(before), len(now))


def _grown(before: list[_Marks], now: list[_Marks], kept: int) -> int | None:
    """How many parts the last earlier message had, if parts were only added to it."""
    if kept != len(before) - 1 or kept >= len(now):
        return None
    size = len(before[kept])
    return size - 1 if now[kept][:size] == before[kept] else None


def _after(message: Message, count: int) -> Message:
    """Return the message without its first `count` compared parts."""
    compared = [part for part in message.parts if not isinstance(part, Thinking)]
    return Message(message.role, tuple(compared[count:]))


def _left(messages: tuple[Message, ...], marks: list[_Marks], left: Counter[_Marks]) -> list[Message]:
    """Return the messages that were never found again, in order."""
    gone: list[Message] = []
    for message, mark in zip(messages, marks, strict=True):
        if left[mark]:
            left[mark] -= 1
            gone.append(message)
    return gone


def _without_echo(found: News, answer: Message | None) -> News:
    """Take the earlier answer out of the news."""
    if answer is None:
        return found
    heard = _gist(answer)
    for at, message in enumerate(found.messages):
        if message.role == "assistant" and _gist(message) == heard:
            rest = found.messages[:at] + found.messages[at + 1 :]
            return msgspec.structs.replace(found, messages=rest, echo=message)
    return found


def _gist(message: Message) -> tuple[str, list[tuple[str, bytes]]]:
    """Reduce an answer to what every agent hands back of it: ids are often made anew, hosted tools left out."""
    words = message.text.strip()
    if words.startswith("<think>"):
        # Where the API has no place for thinking, agents and models put it before the text.
        words = words.partition("</think>")[2].strip()
    return words, [(call.name, _canonical(call.arguments)) for call in message.tool_calls]


def _marks(message: Message) -> _Marks:
    """Put role and parts into a form in which equal meaning is equal."""
    return (message.role, *(_mark(part) for part in message.parts if not isinstance(part, Thinking)))


def _mark(part: Part) -> object:
    match part:
        case Text(text):
            return text
        case ToolCall(made, name, arguments):
            return made, name, _canonical(arguments)
        case ToolResult(made, _, text, is_error):
            return made, text, is_error
        case _:
            return part


def _canonical(arguments: str) -> bytes:
    """JSON without its choices of white space and key order; what is no JSON as it is."""
    try:
        return msgspec.json.encode(load(arguments.encode("utf-8", "replace")), order="deterministic")
    except (ValueError, RecursionError):
        return arguments.encode("utf-8", "replace")
