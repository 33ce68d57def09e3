"""The OpenAI SDK reads Responses from the model server."""

from __future__ import annotations

import json
from collections.abc import Callable

import openai
import pytest

from reenact.testing import Call, Calls, Fail, ModelServer, Policy, ResetMidStream, Role, Say, Script, Turn, Usage

TOOLS = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in ("forecast", "clock")]


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.openai, api_key="any", max_retries=0)


def calls_of(response: openai.types.responses.Response) -> list[tuple[str, object]]:
    return [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]


def test_text_is_parsed_with_usage_and_ids() -> None:
    reply = Say("Sunny in Tromsø.", usage=Usage(120, 7, cached=64))
    with ModelServer(Script(reply)) as server, client(server) as sdk:
        response = sdk.responses.create(model="gpt-5.2", input="How is the weather?")
    assert response.output_text == reply.text
    assert response.status == "completed"
    assert response.id.startswith("resp_")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (120, 7)
    assert response.usage.input_tokens_details.cached_tokens == 64


def test_a_truncated_answer_is_incomplete() -> None:
    with ModelServer(Script(Say("It is", truncated=True))) as server, client(server) as sdk:
        response = sdk.responses.create(model="gpt-5.2", input="How is the weather?")
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"


def test_parallel_calls_are_parsed_beside_the_text(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        response = sdk.responses.create(model="gpt-5.2", input="How is the weather?", tools=TOOLS)
    assert calls_of(response) == [(call.name, call.arguments) for call in two_calls.calls]
    assert response.output_text == two_calls.text


def test_a_stream_adds_up_to_the_whole(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        with sdk.responses.stream(model="gpt-5.2", input="How is the weather?", tools=TOOLS) as stream:
            events = list(stream)
            response = stream.get_final_response()
    assert calls_of(response) == [(call.name, call.arguments) for call in two_calls.calls]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == two_calls.text
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")


def test_a_truncated_stream_ends_incomplete() -> None:
    with ModelServer(Script(Say("It is", truncated=True))) as server, client(server) as sdk:
        events = list(sdk.responses.create(model="gpt-5.2", input="How is the weather?", stream=True))
    assert events[-1].type == "response.incomplete"


def test_the_policy_sees_items_as_messages(watched: Callable[[Policy], Policy], turns: list[Turn]) -> None:
    script = Script(Call("clock", {}), Say("Noon."))
    with ModelServer(watched(script)) as server, client(server) as sdk:
        items = [{"role": "user", "content": [{"type": "input_text", "text": "What time is it?"}]}]
        first = sdk.responses.create(model="gpt-5.2", instructions="Be brief.", input=items, tools=TOOLS)
        items += [item.model_dump() for item in first.output]
        items += [{"type": "function_call_output", "call_id": first.output[0].call_id, "output": "12:00"}]
        sdk.responses.create(model="gpt-5.2", instructions="Be brief.", input=items, tools=TOOLS)
    assert [m.role for m in turns[1].messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert [(result.name, result.text) for result in turns[1].results] == [("clock", "12:00")]
    assert turns[1].tools == ("forecast", "clock")


def test_a_conversation_goes_on_by_the_id_of_the_response_before(
    watched: Callable[[Policy], Policy], turns: list[Turn]
) -> None:
    script = Script(Call("clock", {}), Say("Noon."))
    with ModelServer(watched(script)) as server, client(server) as sdk:
        first = sdk.responses.create(model="gpt-5.2", instructions="Be brief.", input="What time is it?", tools=TOOLS)
        output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "12:00"}
        sdk.responses.create(model="gpt-5.2", previous_response_id=first.id, input=[output], tools=TOOLS)
    # Instructions are not carried over.
    assert [m.role for m in turns[1].messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert turns[1].results[0].name == "clock"


def test_an_unknown_response_before_is_refused() -> None:
    with ModelServer(Script()) as server, client(server) as sdk:
        with pytest.raises(openai.BadRequestError, match="resp_nowhere"):
            sdk.responses.create(model="gpt-5.2", previous_response_id="resp_nowhere", input="And now?")


def test_a_rate_limit_raises_with_the_time_to_wait() -> None:
    with ModelServer(Script(Fail(429, retry_after=3))) as server, client(server) as sdk:
        with pytest.raises(openai.RateLimitError) as caught:
            sdk.responses.create(model="gpt-5.2", input="How is the weather?")
    assert caught.value.response.headers["retry-after"] == "3"


def test_a_reset_in_the_middle_of_a_stream_raises() -> None:
    seen = []
    with ModelServer(Script(ResetMidStream(Say("one two three"), after_chunks=5))) as server, client(server) as sdk:
        with pytest.raises(Exception, match=r"(?i)reset|connection|closed"):
            for event in sdk.responses.create(model="gpt-5.2", input="How is the weather?", stream=True):
                seen.append(event.type)
    assert len(seen) == 5
