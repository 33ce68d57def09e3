"""The Groq SDK reads its flavour of Chat Completions from the model server."""

from __future__ import annotations

import json
from collections.abc import Callable

import groq
import pytest

from reenact.testing import Calls, Fail, ModelServer, Policy, Provider, ResetMidStream, Say, Script, Turn, Usage

MESSAGES = [{"role": "user", "content": "How is the weather?"}]
MODEL = "llama-3.3-70b-versatile"


def client(server: ModelServer) -> groq.Groq:
    return groq.Groq(base_url=server.groq, api_key="any", max_retries=0)


def test_text_is_parsed_with_usage_and_the_provider_is_told_apart(
    watched: Callable[[Policy], Policy], turns: list[Turn]
) -> None:
    with ModelServer(watched(Script(Say("Sunny.", usage=Usage(12, 3))))) as server, client(server) as sdk:
        completion = sdk.chat.completions.create(model=MODEL, messages=MESSAGES)
        assert server.requests[0].path == "/openai/v1/chat/completions"
    assert completion.choices[0].message.content == "Sunny."
    assert completion.usage.total_tokens == 15
    assert completion.x_groq.id.startswith("req_")
    assert turns[0].provider is Provider.GROQ


def test_parallel_calls_are_parsed(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        message = sdk.chat.completions.create(model=MODEL, messages=MESSAGES).choices[0].message
    made = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
    assert made == [(call.name, call.arguments) for call in two_calls.calls]


def test_a_stream_ends_with_the_usage_in_groqs_own_field() -> None:
    with ModelServer(Script(Say("one two", usage=Usage(12, 3)))) as server, client(server) as sdk:
        chunks = list(sdk.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "one two"
    assert chunks[-1].x_groq.usage.total_tokens == 15


def test_a_rate_limit_raises_with_the_time_to_wait() -> None:
    with ModelServer(Script(Fail(429, retry_after=3))) as server, client(server) as sdk:
        with pytest.raises(groq.RateLimitError) as caught:
            sdk.chat.completions.create(model=MODEL, messages=MESSAGES)
    assert caught.value.response.headers["retry-after"] == "3"


def test_a_reset_in_the_middle_of_a_stream_raises() -> None:
    seen = []
    with ModelServer(Script(ResetMidStream(Say("one two three"), after_chunks=2))) as server, client(server) as sdk:
        with pytest.raises(Exception, match=r"(?i)reset|connection|closed"):
            for chunk in sdk.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True):
                seen.append(chunk.choices[0].delta.content)
    assert seen == ["", "one"]
