"""The OpenAI SDK reads Chat Completions from the model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import openai
import pytest

from reenact.testing import (
    Call,
    Calls,
    Drop,
    Fail,
    ModelServer,
    Policy,
    ResetMidStream,
    Role,
    Say,
    Script,
    SlowFirstByte,
    Turn,
    Usage,
)

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How is the weather?"}]
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("forecast", "clock")
]


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.openai, api_key="any", max_retries=0)


def test_text_is_parsed_with_usage_and_ids() -> None:
    reply = Say("It is sunny in Tromsø ☀.", usage=Usage(120, 7, cached=64))
    with ModelServer(Script(reply)) as server, client(server) as sdk:
        raw = sdk.chat.completions.with_raw_response.create(model="gpt-4o", messages=MESSAGES)
        completion = raw.parse()
    assert completion.choices[0].message.content == reply.text
    assert completion.choices[0].finish_reason == "stop"
    assert completion.id.startswith("chatcmpl-")
    assert completion.model == "gpt-4o"
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (120, 7)
    assert completion.usage.prompt_tokens_details.cached_tokens == 64
    assert raw.headers["x-request-id"].startswith("req_")


def test_a_truncated_answer_finishes_for_length() -> None:
    with ModelServer(Script(Say("It is", truncated=True))) as server, client(server) as sdk:
        completion = sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    assert completion.choices[0].finish_reason == "length"


def test_parallel_calls_are_parsed(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        choice = sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, tools=TOOLS).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == two_calls.text
    made = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
    assert made == [(call.name, call.arguments) for call in two_calls.calls]
    assert len({call.id for call in choice.message.tool_calls}) == 2


def test_malformed_arguments_go_out_as_they_stand() -> None:
    with ModelServer(Script(Call("forecast", '{"city": "Os'))) as server, client(server) as sdk:
        choice = sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, tools=TOOLS).choices[0]
    assert choice.message.tool_calls[0].function.arguments == '{"city": "Os'


def test_streamed_text_arrives_in_several_deltas_and_then_usage() -> None:
    with ModelServer(Script(Say("one two three\nfour", usage=Usage(9, 4)))) as server, client(server) as sdk:
        chunks = list(
            sdk.chat.completions.create(
                model="gpt-4o", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
            )
        )
    deltas = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert deltas == ["one", " two", " three", "\nfour"]
    assert chunks[-1].usage.total_tokens == 13
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_a_stream_reports_no_usage_unless_asked() -> None:
    with ModelServer(Script(Say("one"))) as server, client(server) as sdk:
        chunks = list(sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


def test_streamed_parallel_calls_add_up(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        with sdk.chat.completions.stream(model="gpt-4o", messages=MESSAGES, tools=TOOLS) as stream:
            choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == two_calls.text
    made = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
    assert made == [(call.name, call.arguments) for call in two_calls.calls]


def test_the_policy_sees_a_neutral_conversation(
    two_calls: Calls, watched: Callable[[Policy], Policy], turns: list[Turn]
) -> None:
    script = Script(two_calls, Say("Cold."))
    with ModelServer(watched(script)) as server, client(server) as sdk:
        first = sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, tools=TOOLS).choices[0].message
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": text}
            for call, text in zip(first.tool_calls, ["-4 °C", "13:05"], strict=True)
        ]
        sdk.chat.completions.create(model="gpt-4o", messages=[*MESSAGES, first, *results], tools=TOOLS)
        sent = [request.json()["messages"] for request in server.requests]
    assert [m.role for m in turns[1].messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert turns[0].tools == ("forecast", "clock")
    assert turns[1].prompt == "How is the weather?"
    assert [(result.name, result.text) for result in turns[1].results] == [("forecast", "-4 °C"), ("clock", "13:05")]
    assert turns[1].messages[2].calls[0].arguments == two_calls.calls[0].arguments
    assert (turns[0].rounds, turns[1].rounds) == (0, 1)
    assert [len(messages) for messages in sent] == [2, 5]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_raises_the_error_of_its_status(
    status: int, error: type[openai.APIStatusError], stream: bool
) -> None:
    reply = Fail(status, retry_after=17, message="not today")
    with ModelServer(Script(reply)) as server, client(server) as sdk, pytest.raises(error, match="not today") as caught:
        sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=stream)
    assert caught.value.response.headers["retry-after"] == "17"


def test_the_sdk_tries_again_after_a_rate_limit() -> None:
    policy = Script(Fail(429, retry_after=0.01), Fail(500, retry_after=0.01), Say("third time"))
    with ModelServer(policy) as server, openai.OpenAI(base_url=server.openai, api_key="any", max_retries=2) as sdk:
        completion = sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        retries = [request.headers["x-stainless-retry-count"] for request in server.requests]
    assert completion.choices[0].message.content == "third time"
    assert retries == ["0", "1", "2"]


def test_an_exhausted_script_says_so_once_although_the_sdk_may_retry() -> None:
    with ModelServer(Script(Say("only one"))) as server:
        with openai.OpenAI(base_url=server.openai, api_key="any", max_retries=3) as sdk:
            sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES)
            with pytest.raises(openai.InternalServerError, match="script exhausted: it holds 1 replies"):
                sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        assert len(server.requests) == 2


def test_a_reset_in_the_middle_of_a_stream_raises_after_the_chunks_before_it() -> None:
    seen = []
    with (
        ModelServer(Script(ResetMidStream(Say("one two three four"), after_chunks=3))) as server,
        client(server) as sdk,
    ):
        with pytest.raises(Exception, match=r"(?i)reset|connection|closed"):
            for chunk in sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True):
                seen.append(chunk.choices[0].delta.content)
    assert seen == ["", "one", " two"]


@pytest.mark.parametrize("reply", [Drop(), ResetMidStream(Say("hello")), SlowFirstByte(Drop(), 0.01)])
def test_a_lost_connection_raises(reply: Drop | ResetMidStream | SlowFirstByte) -> None:
    with ModelServer(Script(reply)) as server, client(server) as sdk, pytest.raises(openai.APIConnectionError):
        sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES)


def test_a_slow_first_byte_runs_into_the_client_timeout() -> None:
    with ModelServer(Script(SlowFirstByte(Say("late"), 5))) as server, client(server) as sdk:
        with pytest.raises(openai.APITimeoutError):
            sdk.chat.completions.create(model="gpt-4o", messages=MESSAGES, timeout=0.05)


def test_the_async_client_streams_in_parallel() -> None:
    async def ask(sdk: openai.AsyncOpenAI, number: int) -> str:
        messages = [{"role": "user", "content": f"say {number}"}]
        stream = await sdk.chat.completions.create(model="gpt-4o", messages=messages, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def run(server: ModelServer) -> list[str]:
        async with openai.AsyncOpenAI(base_url=server.openai, api_key="any") as sdk:
            return await asyncio.gather(*(ask(sdk, number) for number in range(20)))

    with ModelServer(lambda turn: Say(f"you said: {turn.prompt}")) as server:
        assert asyncio.run(run(server)) == [f"you said: say {number}" for number in range(20)]


def test_embeddings_are_unit_vectors_that_follow_from_the_text() -> None:
    with ModelServer(Script()) as server, client(server) as sdk:
        data = sdk.embeddings.create(model="text-embedding-3-small", input=["cat", "dog", "cat"]).data
        plain = sdk.embeddings.create(model="text-embedding-3-small", input="cat", encoding_format="float").data
    assert data[0].embedding == data[2].embedding != data[1].embedding
    assert sum(x * x for x in data[0].embedding) == pytest.approx(1)
    assert plain[0].embedding == pytest.approx(data[0].embedding, abs=1e-6)


def test_models_are_listed() -> None:
    with ModelServer(Script()) as server, client(server) as sdk:
        assert "gpt-4o" in [model.id for model in sdk.models.list()]
        assert sdk.models.retrieve("my-model").id == "my-model"
