"""What a step was told and what it answered, as things that can be compared one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from reenact.diff.value import container
from reenact.providers import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult
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


def items(said: Iterable[Said], own: Own) -> Iterator[Item]:
    """What was said, so that it can be compared with what was said in another run."""
    for one in said:
        yield Item(*one, own.without(_canonical(one.text)))


class Said(NamedTuple):
    """A thing that was said."""

    sort: Sort
    name: str
    text: str


def told(messages: Iterable[Message]) -> Iterator[Said]:
    """What messages tell a model. Thinking is handed back and told nobody."""
    for message in messages:
        for part in message.parts:
            if not isinstance(part, Thinking):
                yield _said(part, message.role, Sort.PROMPT)


def answered(answer: Message | None) -> Iterator[Said]:
    """What an answer says and asks for; hidden thinking says nothing."""
    for part in answer.parts if answer is not None else ():
        if part != Thinking(""):
            yield _said(part, "", Sort.ANSWER)


def _said(part: Part, role: str, sort: Sort) -> Said:
    """A part of what somebody of that role says; `sort` is what it is, if nothing else is known of it."""
    match part:
        case Text(text):
            return Said(sort, role, text)
        case Thinking(text):
            return Said(Sort.THINKING, "", text)
        case ToolCall(_, name, arguments, hosted):
            name = f"{name} of the provider" if hosted else name
            return Said(sort, f"{role} calls {name}", arguments) if role else Said(Sort.CALL, name, arguments)
        case ToolResult(_, name, text, is_error):
            return Said(Sort.RESULT, f"{name or ''}{' failed' if is_error else ''}", text)
        case Media(kind, size):
            return Said(sort, role, f"[{kind}, {size} bytes]")
        case Other(kind):
            return Said(sort, role, f"[{kind}]")


def _canonical(text: str) -> str:
    """JSON without its choices of white space and key order; what is no JSON as it is."""
    value = container(text)
    return text if value is None else msgspec.json.encode(value, order="deterministic").decode()
