"""Answers and requests that are not as they should be: an error of ours, or an edit, and never anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reenact.edits import Answer, Asked, BaseUrlRule, Call, Decision, ModelRule, apply, context_rule, decided
from reenact.edits.framing import Event, Frames, Framing, Sse
from reenact.edits.results import ResultRule
from reenact.errors import EditError
from reenact.testing import Call as Called
from reenact.testing import Calls
from tests.branch.asking import SDKS, Asking

SSE = (("content-type", "text/event-stream"),)
JSON = (("content-type", "application/json"),)
FRAMES = (("content-type", "application/vnd.amazon.eventstream"),)
URLS = {
    "openai.chat": "https://api.openai.com/v1/chat/completions",
    "openai.responses": "https://api.openai.com/v1/responses",
    "anthropic.messages": "https://api.anthropic.com/v1/messages",
    "google.gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent",
    "bedrock.converse": "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream",
    "bedrock.invoke": "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke-with-response-stream",
}
KEYS = [
    *(
        "id",
        "type",
        "role",
        "content",
        "text",
        "index",
        "choices",
        "message",
        "delta",
        "tool_calls",
        "function",
        "custom",
    ),
    *(
        "name",
        "arguments",
        "finish_reason",
        "refusal",
        "output",
        "call_id",
        "item",
        "response",
        "output_index",
        "status",
    ),
    *(
        "sequence_number",
        "stop_reason",
        "content_block",
        "input",
        "partial_json",
        "candidates",
        "parts",
        "functionCall",
    ),
    *(
        "args",
        "finishReason",
        "toolUse",
        "toolUseId",
        "start",
        "stopReason",
        "contentBlockIndex",
        "messages",
        "contents",
    ),
    *("tool_call_id", "tool_result", "tool_use_id", "functionResponse", "toolResult", "usage", "thoughtSignature"),
]
WORDS = [
    *("", "text", "assistant", "tool_use", "function", "function_call", "message", "output_text", "stop", "tool_calls"),
    *("content_block_start", "content_block_delta", "content_block_stop", "message_delta", "response.completed"),
    *("response.output_item.added", "response.output_item.done", "text_delta", "input_json_delta", "end_turn", "STOP"),
    *(
        "tool",
        "user",
        "model",
        "function_call_output",
        "tool_result",
        "f",
        "{}",
        "[",
        '{"a": 1}',
        "completed",
        "refusal",
    ),
]
SCALARS = st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats(allow_nan=False) | st.sampled_from(WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5)
EVENTS = st.sampled_from(
    [*WORDS, "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"]
)
DECISIONS = [
    Decision("new"),
    Decision("", (Call("f", '{"a": 2}'), Call("g"))),
    Decision("no", stop="refusal"),
    Decision("", (Call("f", "free text"),)),
    Decision("", (Call("f", '{"a": 2}', "id"),), "length"),
]


BODIES: dict[str, Any] = {
    "openai.chat": {
        "id": "c",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "hi",
                    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
    },
    "openai.responses": {
        "id": "r",
        "status": "completed",
        "output": [
            {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "hi", "annotations": []}],
            },
            {"id": "fc", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        ],
    },
    "anthropic.messages": {
        "id": "m",
        "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        "stop_reason": "tool_use",
    },
    "google.gemini": {
        "candidates": [
            {
                "content": {"parts": [{"text": "hi"}, {"functionCall": {"name": "f", "args": {}}}], "role": "model"},
                "finishReason": "STOP",
            }
        ]
    },
    "bedrock.converse": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"text": "hi"}, {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}],
            }
        },
        "stopReason": "tool_use",
    },
}
BODIES["bedrock.invoke"] = BODIES["anthropic.messages"]


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, one in inner for place in places(one, (*way, key)))]


def with_junk(value: Any, way: tuple[Any, ...], junk: Any) -> Any:
    if not way:
        return junk
    copied = value.copy()
    copied[way[0]] = with_junk(value[way[0]], way[1:], junk)
    return copied


@st.composite
def spoiled(draw: Callable[[st.SearchStrategy[Any]], Any], body: Any) -> Any:
    """A body with junk somewhere in it."""
    for _ in range(draw(st.integers(1, 3))):
        body = with_junk(body, draw(st.sampled_from(places(body))), draw(VALUES))
    return body


def tried(answer: Answer) -> None:
    """Reads and edits; what comes back can be read again."""
    try:
        was = decided(answer)
    except EditError:
        return
    assert apply(answer, was) is answer
    for decision in DECISIONS:
        try:
            made = apply(answer, decision)
        except EditError:
            continue
        now = decided(made)
        assert now.text == decision.text
        assert [call.name for call in now.calls] == [call.name for call in decision.calls]


def answer_of(api: str, headers: tuple[tuple[str, str], ...], body: bytes) -> Answer:
    return Answer("POST", URLS[api], b"{}", 200, headers, (body,))


QUIET = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.parametrize("api", URLS)
@QUIET
@given(st.data())
def test_plain_answers(api: str, data: st.DataObject) -> None:
    body = data.draw(spoiled(BODIES[api]) | VALUES)
    tried(answer_of(api, JSON, json.dumps(body).encode()))


@pytest.fixture(scope="module")
def streams() -> dict[str, tuple[Framing, list[Event]]]:
    """A sound stream of each API."""
    found: dict[str, tuple[Framing, list[Event]]] = {}
    reply = Calls((Called("f", {"a": 1}), Called("g", {})), text="one two three")
    with Asking() as asking:
        for api in SDKS:
            body = asking.recorded(api, reply, stream=True).body
            framing: Framing = Frames() if api == "bedrock.converse" else Sse()
            found[api] = framing, framing.split(body)
    wrapped = Frames(wrapped=True)
    events = found["anthropic.messages"][1]
    found["bedrock.invoke"] = wrapped, [wrapped.event(one.name, one.doc) for one in events if one.doc is not None]
    return found


@pytest.mark.parametrize("api", URLS)
@QUIET
@given(st.data())
def test_streams(api: str, streams: dict[str, tuple[Framing, list[Event]]], data: st.DataObject) -> None:
    framing, events = streams[api]
    events = list(events)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(events) - 1))
        match data.draw(st.sampled_from(["spoil", "drop", "twice", "swap"])):
            case "drop" if len(events) > 1:
                del events[at]
            case "twice":
                events.insert(at, events[at])
            case "swap":
                events[0], events[at] = events[at], events[0]
            case _:
                doc = data.draw(spoiled(events[at].doc))
                if isinstance(doc, dict):
                    events[at] = framing.event(data.draw(st.just(events[at].name) | EVENTS), doc)
    body = b"".join(framing.chunks(events))
    tried(
        answer_of(
            api, FRAMES if api.startswith("bedrock.") else SSE, body[: data.draw(st.none() | st.integers(0, len(body)))]
        )
    )


@pytest.mark.parametrize("api", URLS)
@QUIET
@given(st.binary(max_size=80), st.sampled_from([SSE, JSON, FRAMES, ()]))
def test_any_bytes(api: str, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
    tried(answer_of(api, headers, body))


RULES = [
    ResultRule(Call("f", id="t"), "new"),
    ResultRule(Call("f"), "new", failed=True),
    ModelRule("other"),
    BaseUrlRule("http://localhost:1"),
]


@pytest.mark.parametrize("api", URLS)
@QUIET
@given(st.data())
def test_requests(api: str, data: st.DataObject) -> None:
    messages = st.lists(OBJECTS | VALUES, max_size=4)
    key = {"openai.responses": "input", "google.gemini": "contents"}.get(api, "messages")
    body = data.draw(st.builds(lambda value, rest: {**rest, key: value}, messages | VALUES, OBJECTS) | VALUES)
    asked = Asked("POST", URLS[api], (), json.dumps(body).encode())
    rules: list[Any] = list(RULES)
    for make in (
        lambda: ResultRule(Call("f"), "new").bound(asked),
        lambda: context_rule(asked, '[{"op": "add", "path": "/-", "value": {"role": "user"}}]'),
        lambda: context_rule(asked, '[{"op": "remove", "path": "/0"}]'),
    ):
        try:
            rules.append(make())
        except EditError:
            continue
    for rule in rules:
        try:
            made = rule.apply(asked)
        except EditError:
            continue
        assert made is asked or made.url != asked.url or made.document() != asked.document()
