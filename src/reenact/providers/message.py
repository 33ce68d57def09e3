"""What a model is told and what it says: a message is a role and parts.

Parts are the same whatever provider spoke them, so two messages can be compared with `==`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TypeAlias

import msgspec


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="part"):
    """Words for a person or a model. A refusal is text too."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", tag_field="part"):
    """The model's reasoning; `text` is empty where the provider keeps it hidden."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", tag_field="part"):
    """The model asks for a tool. `arguments` is JSON text as sent, or compact JSON where the provider sends an object.

    A hosted call was carried out by the provider: no tool of the agent answers it.
    """

    id: str
    name: str
    arguments: str
    hosted: bool = False


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", tag_field="part"):
    """What a tool gave back for the call `id`; structured results stand as JSON text."""

    id: str
    name: str | None
    text: str
    is_error: bool = False


class Media(msgspec.Struct, frozen=True, tag="media", tag_field="part"):
    """An image, sound, video or file. `kind` is its media type; `size` in bytes, None where only referred to."""

    kind: str
    size: int | None = None


class Other(msgspec.Struct, frozen=True, tag="other", tag_field="part"):
    """A part of a sort that has no name here; `kind` is the provider's word for it."""

    kind: str


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Media | Other


class Message(msgspec.Struct, frozen=True):
    """`role` is "system", "user", "assistant" or "tool" (only tool results), else the provider's own word."""

    role: str
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined by line ends."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the agent has to answer; hosted ones are left out."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall) and not part.hosted)


def of_role(role: str, parts: list[Part]) -> Message:
    """Make a message; one that holds nothing but tool results (and media of theirs) is a tool's, whoever carried it."""
    results = role == "user" and any(isinstance(part, ToolResult) for part in parts)
    if results and all(isinstance(part, ToolResult | Media) for part in parts):
        role = "tool"
    return Message(role, tuple(parts))


def joined(parts: list[Part]) -> list[Part]:
    """Join neighbours that are both text or both thinking: a stream cuts them anywhere."""
    out: list[Part] = []
    for sort, run in groupby(parts, key=type):
        if sort is Text or sort is Thinking:
            out.append(sort("".join(part.text for part in run if isinstance(part, Text | Thinking))))
        else:
            out.extend(run)
    return out
