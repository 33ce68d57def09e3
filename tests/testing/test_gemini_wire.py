"""The Google Gen AI SDK reads generateContent from the model server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest
from google import genai
from google.genai import errors, types

from reenact.testing import Call, Calls, Fail, ModelServer, Policy, ResetMidStream, Role, Say, Script, Turn, Usage

MODEL = "gemini-2.5-flash"
NAMES = ("forecast", "clock")
CONFIG = types.GenerateContentConfig(
    system_instruction="Be brief.",
    tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in NAMES])],
)


def client(server: ModelServer) -> genai.Client:
    return genai.Client(api_key="any", http_options=types.HttpOptions(base_url=server.gemini))


def calls_of(response: types.GenerateContentResponse) -> list[tuple[str, object]]:
    return [(call.name, call.args) for call in response.function_calls or ()]


def test_text_is_parsed_with_usage() -> None:
    reply = Say("Sunny in Tromsø.", usage=Usage(120, 7, cached=64))
    with ModelServer(Script(reply)) as server, client(server) as sdk:
        response = sdk.models.generate_content(model=MODEL, contents="How is the weather?")
    assert response.text == reply.text
    assert response.candidates[0].finish_reason == types.FinishReason.STOP
    assert response.model_version == MODEL
    counts = response.usage_metadata
    assert (counts.prompt_token_count, counts.candidates_token_count, counts.total_token_count) == (120, 7, 127)
    assert counts.cached_content_token_count == 64


def test_parallel_calls_are_parsed_beside_the_text(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        response = sdk.models.generate_content(model=MODEL, contents="How is the weather?", config=CONFIG)
    assert calls_of(response) == [(call.name, call.arguments) for call in two_calls.calls]
    assert response.candidates[0].content.parts[0].text == two_calls.text


def test_a_stream_adds_up_to_the_whole(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        stream = sdk.models.generate_content_stream(model=MODEL, contents="How is the weather?", config=CONFIG)
        chunks = list(stream)
    texts = [part.text for chunk in chunks for part in chunk.candidates[0].content.parts if part.text]
    assert texts == ["Let", " me", " look."]
    assert calls_of(chunks[-1]) == [(call.name, call.arguments) for call in two_calls.calls]
    assert [chunk.candidates[0].finish_reason for chunk in chunks] == [None, None, None, types.FinishReason.STOP]


# The SDK's own session class offends aiohttp.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_the_async_client_streams() -> None:
    async def run(server: ModelServer) -> str:
        async with client(server).aio as sdk:
            stream = await sdk.models.generate_content_stream(model=MODEL, contents="How is the weather?")
            return "".join([chunk.text async for chunk in stream])

    with ModelServer(Script(Say("one two three"))) as server:
        assert asyncio.run(run(server)) == "one two three"


def test_without_sse_a_stream_is_one_json_array() -> None:
    with ModelServer(Script(Say("one two"))) as server:
        url = f"{server.gemini}/v1beta/models/{MODEL}:streamGenerateContent"
        documents = httpx.post(url, json={"contents": []}).json()
    assert [d["candidates"][0]["content"]["parts"][0]["text"] for d in documents] == ["one", " two"]


def test_a_truncated_answer_finishes_for_its_length() -> None:
    with ModelServer(Script(Say("It is", truncated=True))) as server, client(server) as sdk:
        response = sdk.models.generate_content(model=MODEL, contents="How is the weather?")
    assert response.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS


def test_the_policy_sees_a_neutral_conversation(watched: Callable[[Policy], Policy], turns: list[Turn]) -> None:
    script = Script(Call("clock", {"zone": "UTC"}), Say("Noon."))
    with ModelServer(watched(script)) as server, client(server) as sdk:
        asked = types.Content(role="user", parts=[types.Part(text="What time is it?")])
        first = sdk.models.generate_content(model=MODEL, contents=[asked], config=CONFIG)
        result = types.Part.from_function_response(name="clock", response={"result": "12:00"})
        told = types.Content(role="user", parts=[result])
        sdk.models.generate_content(model=MODEL, contents=[asked, first.candidates[0].content, told], config=CONFIG)
    assert [m.role for m in turns[1].messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert turns[1].messages[2].calls == (Call("clock", {"zone": "UTC"}),)
    assert [(r.name, r.text) for r in turns[1].results] == [("clock", '{"result":"12:00"}')]
    assert (turns[1].model, turns[1].tools, turns[1].stream) == (MODEL, NAMES, False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "error", "state"),
    [
        (400, errors.ClientError, "INVALID_ARGUMENT"),
        (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (503, errors.ServerError, "UNAVAILABLE"),
    ],
)
def test_a_failure_raises_the_error_of_its_status(
    status: int, error: type[errors.APIError], state: str, stream: bool
) -> None:
    with ModelServer(Script(Fail(status, retry_after=17, message="not today"))) as server, client(server) as sdk:
        with pytest.raises(error, match="not today") as caught:
            if stream:
                list(sdk.models.generate_content_stream(model=MODEL, contents="How is the weather?"))
            else:
                sdk.models.generate_content(model=MODEL, contents="How is the weather?")
    assert (caught.value.code, caught.value.status) == (status, state)
    assert caught.value.response.headers["retry-after"] == "17"
    assert caught.value.details["error"]["details"][0]["retryDelay"] == "17s"


def test_a_reset_in_the_middle_of_a_stream_raises() -> None:
    texts = []
    with ModelServer(Script(ResetMidStream(Say("one two three"), after_chunks=2))) as server, client(server) as sdk:
        with pytest.raises(Exception, match=r"(?i)reset|connection|closed"):
            for chunk in sdk.models.generate_content_stream(model=MODEL, contents="How is the weather?"):
                texts.append(chunk.text)
    assert texts == ["one", " two"]


def test_tokens_are_counted_beside_the_policy() -> None:
    with ModelServer(Script()) as server, client(server) as sdk:
        assert sdk.models.count_tokens(model=MODEL, contents="How is the weather?").total_tokens > 0
