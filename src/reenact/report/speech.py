"""What was said to a model and by it, part by part, in a few words or in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

from reenact.providers import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult
from reenact.report.figures import size

_DEEPEST: Final = 40
_BRACKETS: Final = re.compile(r"[\[\]{}]")


class Said(NamedTuple):
    """One part: who or what it is, its words, what it is about, and whether it tells of a failure."""

    label: str
    text: str
    about: str = ""
    bad: bool = False

    @property
    def short(self) -> str:
        """On one line."""
        if not self.about:
            return self.text
        return f"{self.about}: {self.text}" if self.label == "tool" else f"{self.about}{self.text}"


def said(messages: Iterable[Message]) -> Iterator[Said]:
    """The parts of messages; hidden thinking says nothing."""
    for message in messages:
        if not message.parts:
            yield Said(message.role, "(empty)")
        names = {part.id: part.name for part in message.parts if isinstance(part, ToolCall)}
        for part in message.parts:
            if isinstance(part, ToolResult) and part.name is None and part.id in names:
                yield _said(message.role, msgspec.structs.replace(part, name=names[part.id]))
            elif part != Thinking(""):
                yield _said(message.role, part)


def _said(role: str, part: Part) -> Said:
    match part:
        case Text(text):
            return Said(_who(role, "text"), text)
        case Thinking(text):
            return Said("thinking", text)
        case ToolCall(_, name, arguments, hosted):
            return Said("hosted" if hosted else "call", _arguments(arguments), name)
        case ToolResult(made, name, text, is_error):
            return Said("tool", text, f"{name or made}{' failed' if is_error else ''}", is_error)
        case Media(kind, bytes_):
            return Said(_who(role, "media"), f"[{kind}{f', {size(bytes_)}' if bytes_ is not None else ''}]")
        case Other(kind):
            return Said(_who(role, "other"), f"[{kind}]")


def _who(role: str, what: str) -> str:
    """Of the model's own answer one wants to know what it is, of anything else who said it."""
    return what if role == "assistant" else role


def _arguments(text: str) -> str:
    """The arguments of a call as Python would write them; what is no JSON object as it is."""
    try:
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return f"({text})"
    pairs = (f"{name}={bytes(value).decode('utf-8', 'replace')}" for name, value in values.items())
    return f"({', '.join(pairs)})"


def in_full(part: Part) -> str:
    """All words of a part; JSON in lines."""
    match part:
        case ToolCall(arguments=arguments):
            return pretty(arguments)
        case ToolResult(text=text):
            return pretty(text)
        case _:
            return _said("", part).text


def pretty(text: str | bytes) -> str:
    """JSON objects and arrays in lines, anything else as it is."""
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if not plain.lstrip().startswith(("{", "[")) or _depth(plain) > _DEEPEST:
        return plain
    try:
        return msgspec.json.format(plain, indent=2)
    except (ValueError, RecursionError):
        return plain


def _depth(text: str) -> int:
    """How deep its brackets are nested, those in texts among them. Each level is two spaces more in each line."""
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKETS.findall(text)), default=0)
