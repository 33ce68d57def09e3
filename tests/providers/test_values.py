"""The values that readers return: what others store and send, so their shape is a promise."""

from __future__ import annotations

import msgspec
import pytest

from reenact.providers import (
    ApiError,
    Media,
    Message,
    ModelCall,
    Other,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Unreadable,
    Usage,
)

PARTS: tuple[Part, ...] = (
    Text("a"),
    Thinking(""),
    ToolCall("1", "f", "{}", hosted=True),
    ToolResult("1", None, "x", is_error=True),
    Media("image/png", 5),
    Other("x"),
)
CALL = ModelCall(
    provider="p",
    api="a.b",
    model="m",
    messages=(Message("user", PARTS),),
    tools=(ToolSpec("f"),),
    usage=Usage(1, 2),
    error=ApiError(400, "t", "m"),
    unread=Unreadable("why", b"raw"),
)


def test_a_message_as_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(Message("user", PARTS))) == {
        "role": "user",
        "parts": [
            {"part": "text", "text": "a"},
            {"part": "thinking", "text": ""},
            {"part": "tool_call", "id": "1", "name": "f", "arguments": "{}", "hosted": True},
            {"part": "tool_result", "id": "1", "name": None, "text": "x", "is_error": True},
            {"part": "media", "kind": "image/png", "size": 5},
            {"part": "other", "kind": "x"},
        ],
    }


def test_a_call_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(CALL), type=ModelCall) == CALL


@pytest.mark.parametrize("value", [CALL, CALL.usage, CALL.error, CALL.unread, *CALL.tools, *CALL.messages, *PARTS])
def test_values_are_frozen_and_can_be_hashed(value: msgspec.Struct) -> None:
    name = value.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(value, name, getattr(value, name))
    assert isinstance(hash(value), int)


def test_a_message_gives_its_text_and_the_calls_for_the_agent() -> None:
    own = ToolCall("2", "g", "{}")
    message = Message("assistant", (*PARTS, Text("b"), own))
    assert message.text == "a\nb"
    assert message.tool_calls == (own,)
