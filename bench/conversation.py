"""The conversation that every agent here has: it grows by about 1.6 kB of news a step, and is the same in every run."""

from __future__ import annotations

import json
from functools import cache
from random import Random  # noqa: TID251  seeded: no entropy is read
from typing import Any

from bench.words import text

MODEL = "bench-1"
NOWHERE = "http://model.invalid/v1"
_SAID = 450
_FOUND = 950
_PIECES = 60

TOOL_NAMES = ("search", "read_page", "ask_database")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": text(f"tool {name}", 200),
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
        },
    }
    for name in TOOL_NAMES
]
OPENING = [
    {"role": "system", "content": text("system", 1500)},
    {"role": "user", "content": text("question", 200)},
]


def tool_result(step: int) -> str:
    """What the tool of a step found."""
    return text(f"found {step}", _FOUND)


@cache
def answer(step: int) -> bytes:
    """The model's answer at a step (counted from 0): some words, and a call of a tool."""
    document = {
        "id": f"chatcmpl-{_mark(step)}",
        "object": "chat.completion",
        "created": 1_790_000_000 + 7 * step,
        "model": MODEL,
        "choices": [{"index": 0, "message": said(step), "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 500 + 400 * step, "completion_tokens": 130, "total_tokens": 630 + 400 * step},
        "system_fingerprint": "fp_bench",
    }
    return json.dumps(document).encode()


@cache
def streamed(step: int) -> tuple[bytes, ...]:
    """The same words as server-sent events, a few characters each."""
    content = said(step)["content"]
    size = len(content) // _PIECES + 1
    deltas: list[dict[str, Any]] = [{"content": content[at : at + size]} for at in range(0, len(content), size)]
    common = {"id": f"chatcmpl-{_mark(step)}", "object": "chat.completion.chunk", "model": MODEL}
    events = [json.dumps({**common, "choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    return tuple(f"data: {event}\n\n".encode() for event in (*events, "[DONE]"))


@cache
def headers(step: int) -> tuple[tuple[str, str], ...]:
    """What comes with an answer: the names that providers send, with values that change at each step."""
    minutes, seconds = divmod(7 * step, 60)
    return (
        ("content-type", "application/json"),
        ("date", f"Tue, 22 Sep 2026 {13 + minutes // 60:02}:{minutes % 60:02}:{seconds:02} GMT"),
        ("openai-processing-ms", str(400 + 37 * step % 911)),
        ("openai-version", "2020-10-01"),
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-remaining-requests", str(9999 - step % 7)),
        ("x-request-id", f"req_{_mark(step)}"),
        ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
        ("server", "bench"),
    )


def after(step: int, message: dict[str, Any]) -> list[dict[str, Any]]:
    """What an agent adds to its history after a step: the answer, and what the tool found."""
    calls = message["tool_calls"]
    result = {"role": "tool", "tool_call_id": calls[0]["id"], "content": tool_result(step)}
    return [{"role": "assistant", "content": message["content"], "tool_calls": calls}, result]


def body(messages: list[dict[str, Any]]) -> bytes:
    """The request for these messages, as an SDK writes it."""
    document = {"messages": messages, "model": MODEL, "tools": TOOLS}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


@cache
def said(step: int) -> dict[str, Any]:
    """The message of the answer at a step."""
    arguments = json.dumps({"query": text(f"query {step}", 40), "limit": 3 + step % 5})
    function = {"name": TOOL_NAMES[step % len(TOOL_NAMES)], "arguments": arguments}
    call = {"id": f"call_{_mark(step)[:16]}", "type": "function", "function": function}
    return {"role": "assistant", "content": text(f"said {step}", _SAID), "tool_calls": [call]}


def _mark(step: int) -> str:
    return f"{Random(step).getrandbits(128):032x}"  # noqa: S311  no secret
