"""The Anthropic SDK reads Messages from the model server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anthropic
import pytest

from reenact.testing import Call, Calls, Drop, Fail, ModelServer, Policy, ResetMidStream, Role, Say, Script, Turn, Usage

MESSAGES = [{"role": "user", "content": "How is the weather?"}]
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("forecast", "clock")]
MODEL = "claude-of-the-test"  # the SDK warns of real models that are to be retired


def client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.anthropic, api_key="any", max_retries=0)


def calls_of(message: anthropic.types.Message) -> list[tuple[str, object]]:
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def test_text_is_parsed_with_usage_and_ids() -> None:
    reply = Say("Sunny in Tromsø.", usage=Usage(120, 7, cached=64))
    with ModelServer(Script(reply)) as server, client(server) as sdk:
        message = sdk.messages.create(model=MODEL, max_tokens=100, messages=MESSAGES)
    assert [block.text for block in message.content] == [reply.text]
    assert message.stop_reason == "end_turn"
    assert message.id.startswith("msg_01")
    assert message._request_id.startswith("req_011C")
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (56, 64)
    assert message.usage.output_tokens == 7


def test_parallel_calls_are_parsed_beside_the_text(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        message = sdk.messages.create(model=MODEL, max_tokens=100, messages=MESSAGES, tools=TOOLS)
    assert message.stop_reason == "tool_use"
    assert message.content[0].text == two_calls.text
    assert calls_of(message) == [(call.name, call.arguments) for call in two_calls.calls]


def test_a_stream_adds_up_to_the_whole(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        with sdk.messages.stream(model=MODEL, max_tokens=100, messages=MESSAGES, tools=TOOLS) as stream:
            texts = list(stream.text_stream)
            message = stream.get_final_message()
    assert texts == ["Let", " me", " look."]
    assert message.stop_reason == "tool_use"
    assert calls_of(message) == [(call.name, call.arguments) for call in two_calls.calls]


def test_a_stream_counts_what_it_wrote_at_its_end() -> None:
    with ModelServer(Script(Say("one two", usage=Usage(9, 4), truncated=True))) as server, client(server) as sdk:
        with sdk.messages.stream(model=MODEL, max_tokens=2, messages=MESSAGES) as stream:
            message = stream.get_final_message()
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 4)
    assert message.stop_reason == "max_tokens"


def test_the_async_client_streams() -> None:
    async def run(server: ModelServer) -> str:
        async with anthropic.AsyncAnthropic(base_url=server.anthropic, api_key="any") as sdk:
            async with sdk.messages.stream(model=MODEL, max_tokens=100, messages=MESSAGES) as stream:
                return "".join([text async for text in stream.text_stream])

    with ModelServer(Script(Say("one two three"))) as server:
        assert asyncio.run(run(server)) == "one two three"


def test_the_policy_sees_a_neutral_conversation(watched: Callable[[Policy], Policy], turns: list[Turn]) -> None:
    script = Script(Call("clock", {"zone": "UTC"}), Say("Noon."))
    with ModelServer(watched(script)) as server, client(server) as sdk:
        first = sdk.messages.create(model=MODEL, max_tokens=100, messages=MESSAGES, tools=TOOLS, system="Be brief.")
        result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": "no clock", "is_error": True}
        answer = {"role": "user", "content": [result, {"type": "text", "text": "Try again."}]}
        said = {"role": "assistant", "content": first.content}
        system = [{"type": "text", "text": "Be brief."}]
        sdk.messages.create(model=MODEL, max_tokens=100, messages=[*MESSAGES, said, answer], tools=TOOLS, system=system)
    assert [m.role for m in turns[1].messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]
    assert [(r.name, r.text, r.is_error) for r in turns[1].results] == [("clock", "no clock", True)]
    assert (turns[1].prompt, turns[1].model) == ("Try again.", MODEL)
    assert turns[1].messages[0].text == "Be brief."


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ],
)
def test_a_failure_raises_the_error_of_its_status(
    status: int, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with ModelServer(Script(Fail(status, retry_after=17))) as server, client(server) as sdk:
        with pytest.raises(error) as caught:
            sdk.messages.create(model=MODEL, max_tokens=100, messages=MESSAGES)
    assert caught.value.response.headers["retry-after"] == "17"
    assert caught.value.body["error"]["type"] == kind


def test_a_reset_in_the_middle_of_a_stream_raises() -> None:
    texts = []
    with ModelServer(Script(ResetMidStream(Say("one two three"), after_chunks=5))) as server, client(server) as sdk:
        with pytest.raises(Exception, match=r"(?i)reset|connection|closed"):
            with sdk.messages.stream(model=MODEL, max_tokens=100, messages=MESSAGES) as stream:
                texts.extend(stream.text_stream)  # extend keeps what came before the error
    # message_start, content_block_start, ping, and two of the three words
    assert texts == ["one", " two"]


def test_a_lost_connection_raises() -> None:
    with ModelServer(Script(Drop())) as server, client(server) as sdk, pytest.raises(anthropic.APIConnectionError):
        sdk.messages.create(model=MODEL, max_tokens=100, messages=MESSAGES)


def test_tokens_are_counted_beside_the_policy() -> None:
    with ModelServer(Script()) as server, client(server) as sdk:
        assert sdk.messages.count_tokens(model=MODEL, messages=MESSAGES).input_tokens > 0
