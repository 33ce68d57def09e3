"""What a step was told and what it answered, as things that can be compared one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from reenact.diff.value import container
from reenact.providers import Media, Message, Other, Text, Thinking, ToolCall, ToolResult
from reenact.trajectory.difference import Sort
from reenact.trajectory.own import Own


class Item(NamedTuple):
    """A thing that was said. `name` is a role or a tool, `gist` equal where two say the same, whoever runs."""

    sort: Sort
    name: str
    text: str
    gist: str

    @property
    def shape(self) -> tuple[Sort, str]:
        """What two items have in common when one is an edit of the other."""
        return self.sort, self.name


def told(messages: Iterable[Message], own: Own) -> Iterator[Item]:
    """What messages tell a model."""
    for message in messages:
        for part in message.parts:
            match part:
                case Text(text):
                    yield _item(Sort.PROMPT, message.role, text, own)
                case ToolResult(_, name, text, is_error):
                    yield _item(Sort.RESULT, f"{name or ''}{' failed' if is_error else ''}", text, own)
                case ToolCall(_, name, arguments):
                    yield _item(Sort.PROMPT, f"{message.role} calls {name}", arguments, own)
                case Media(kind, size):
                    yield _item(Sort.PROMPT, message.role, f"[{kind}, {size} bytes]", own)
                case Other(kind):
                    yield _item(Sort.PROMPT, message.role, f"[{kind}]", own)


def answered(answer: Message | None, own: Own) -> Iterator[Item]:
    """What an answer says and asks for."""
    for part in answer.parts if answer is not None else ():
        match part:
            case Text(text):
                yield _item(Sort.ANSWER, "", text, own)
            case Thinking(text) if text:
                yield _item(Sort.THINKING, "", text, own)
            case ToolCall(_, name, arguments, hosted):
                yield _item(Sort.CALL, f"{name} of the provider" if hosted else name, arguments, own)
            case ToolResult(_, name, text, is_error):
                yield _item(Sort.RESULT, f"{name or ''}{' failed' if is_error else ''}", text, own)
            case Media(kind, size):
                yield _item(Sort.ANSWER, "", f"[{kind}, {size} bytes]", own)
            case Other(kind):
                yield _item(Sort.ANSWER, "", f"[{kind}]", own)


def _item(sort: Sort, name: str, text: str, own: Own) -> Item:
    return Item(sort, name, text, own.without(_canonical(text)))


def _canonical(text: str) -> str:
    """JSON without its choices of white space and key order; what is no JSON as it is."""
    value = container(text)
    return text if value is None else msgspec.json.encode(value, order="deterministic").decode()
