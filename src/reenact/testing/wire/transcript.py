"""Builds the neutral list of messages from a provider's items, which are cut differently in each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from reenact.testing.reply import Call
from reenact.testing.turn import Message, Role, ToolResult


class Transcript:
    """Items in, messages out: neighbours of the assistant, and of tools, become one message."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._names = {call.id: call.name for message in self._messages for call in message.calls}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages so far."""
        return tuple(self._messages)

    def say(self, role: Role, text: str) -> None:
        """Add a text; an empty one of a user or of the system is kept, too."""
        last = self._messages[-1] if self._messages else None
        if role is Role.ASSISTANT and last is not None and last.role is role:
            self._messages[-1] = replace(last, text=last.text + text)
        else:
            self._messages.append(Message(role, text))

    def call(self, call: Call) -> None:
        """Add a call that the assistant made."""
        self._names[call.id] = call.name
        self.say(Role.ASSISTANT, "")
        last = self._messages[-1]
        self._messages[-1] = replace(last, calls=(*last.calls, call))

    def result(self, call_id: str, text: str, *, name: str = "", is_error: bool = False) -> None:
        """Add what a tool gave back."""
        result = ToolResult(call_id, name or self._names.get(call_id, ""), text, is_error)
        if not self._messages or self._messages[-1].role is not Role.TOOL:
            self._messages.append(Message(Role.TOOL))
        last = self._messages[-1]
        self._messages[-1] = replace(last, results=(*last.results, result))


def text_of(content: Any) -> str:
    """The text in a provider's content; parts that are not text are left out."""
    match content:
        case str():
            return content
        case {"text": str(text)} | {"refusal": str(text)}:
            return text
        case list():
            return "".join(text_of(part) for part in content)
        case _:
            return ""


def json_text(value: Any) -> str:
    """Compact JSON, as a model or a tool would write it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def parsed_call(name: str, arguments: str, call_id: str) -> Call:
    """A call whose arguments came as text: an object where they are one, else the text."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return Call(name, arguments, call_id)
    return Call(name, value if isinstance(value, dict) else arguments, call_id)
