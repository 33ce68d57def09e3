"""boto3 reads Converse and ConverseStream from the model server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from reenact.testing import Call, Calls, Drop, Fail, ModelServer, Policy, ResetMidStream, Role, Say, Script, Turn, Usage

SESSION = boto3.Session(aws_access_key_id="any", aws_secret_access_key="any", region_name="us-east-1")
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MESSAGES = [{"role": "user", "content": [{"text": "How is the weather?"}]}]
TOOLS = {
    "tools": [
        {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in ("forecast", "clock")
    ]
}


@contextmanager
def client(server: ModelServer) -> Iterator[Any]:
    config = Config(retries={"total_max_attempts": 1})
    sdk = SESSION.client("bedrock-runtime", endpoint_url=server.bedrock, config=config)
    try:
        yield sdk
    finally:
        sdk.close()


def calls_of(content: list[dict[str, Any]]) -> list[tuple[str, object]]:
    return [(block["toolUse"]["name"], block["toolUse"]["input"]) for block in content if "toolUse" in block]


def test_text_is_parsed_with_usage() -> None:
    reply = Say("Sunny in Tromsø.", usage=Usage(120, 7, cached=64))
    with ModelServer(Script(reply)) as server, client(server) as sdk:
        response = sdk.converse(modelId=MODEL, messages=MESSAGES)
    assert response["output"]["message"]["content"] == [{"text": reply.text}]
    assert response["stopReason"] == "end_turn"
    assert response["usage"]["inputTokens"] == 56
    assert response["usage"]["cacheReadInputTokens"] == 64
    assert response["usage"]["totalTokens"] == 127
    assert response["ResponseMetadata"]["RequestId"]


def test_parallel_calls_are_parsed_beside_the_text(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        response = sdk.converse(modelId=MODEL, messages=MESSAGES, toolConfig=TOOLS)
    content = response["output"]["message"]["content"]
    assert response["stopReason"] == "tool_use"
    assert content[0] == {"text": two_calls.text}
    assert calls_of(content) == [(call.name, call.arguments) for call in two_calls.calls]


def test_a_stream_adds_up_to_the_whole(two_calls: Calls) -> None:
    with ModelServer(Script(two_calls)) as server, client(server) as sdk:
        events = list(sdk.converse_stream(modelId=MODEL, messages=MESSAGES, toolConfig=TOOLS)["stream"])
    texts, names, inputs = [], [], {}
    for event in events:
        match event:
            case {"contentBlockStart": {"start": {"toolUse": {"name": name}}}}:
                names.append(name)
            case {"contentBlockDelta": {"delta": {"text": text}}}:
                texts.append(text)
            case {"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}, "contentBlockIndex": index}}:
                inputs[index] = inputs.get(index, "") + piece
    assert texts == ["Let", " me", " look."]
    assert names == [call.name for call in two_calls.calls]
    assert [json.loads(text) for text in inputs.values()] == [call.arguments for call in two_calls.calls]
    assert events[-2]["messageStop"]["stopReason"] == "tool_use"
    assert events[-1]["metadata"]["usage"]["outputTokens"] > 0


def test_the_policy_sees_a_neutral_conversation(watched: Callable[[Policy], Policy], turns: list[Turn]) -> None:
    script = Script(Call("clock", {"zone": "UTC"}), Say("Noon."))
    with ModelServer(watched(script)) as server, client(server) as sdk:
        system = [{"text": "Be brief."}]
        first = sdk.converse(modelId=MODEL, messages=MESSAGES, toolConfig=TOOLS, system=system)["output"]["message"]
        use_id = first["content"][0]["toolUse"]["toolUseId"]
        result = {"toolUseId": use_id, "content": [{"json": {"time": "12:00"}}], "status": "success"}
        told = {"role": "user", "content": [{"toolResult": result}]}
        messages = [*MESSAGES, first, told]
        list(sdk.converse_stream(modelId=MODEL, messages=messages, toolConfig=TOOLS, system=system)["stream"])
    assert [m.role for m in turns[1].messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert [(r.id, r.name, r.text) for r in turns[1].results] == [(use_id, "clock", '{"time":"12:00"}')]
    assert (turns[1].model, turns[1].tools, turns[1].stream) == (MODEL, ("forecast", "clock"), True)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "ValidationException"),
        (429, "ThrottlingException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ],
)
@pytest.mark.parametrize("verb", ["converse", "converse_stream"])
def test_a_failure_raises_the_error_of_its_status(status: int, code: str, verb: str) -> None:
    with ModelServer(Script(Fail(status, retry_after=17, message="not today"))) as server, client(server) as sdk:
        with pytest.raises(ClientError, match="not today") as caught:
            getattr(sdk, verb)(modelId=MODEL, messages=MESSAGES)
    assert caught.value.response["Error"]["Code"] == code
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"] == "17"


def test_a_reset_in_the_middle_of_a_stream_raises() -> None:
    events: list[dict[str, object]] = []
    with ModelServer(Script(ResetMidStream(Say("one two three"), after_chunks=3))) as server, client(server) as sdk:
        stream = sdk.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]
        with pytest.raises(Exception, match=r"(?i)reset|connection|closed"):
            events.extend(stream)  # extend keeps what came before the error
        stream.close()
    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert len(events) == 3


def test_a_lost_connection_raises() -> None:
    with ModelServer(Script(Drop())) as server, client(server) as sdk, pytest.raises(ConnectionClosedError):
        sdk.converse(modelId=MODEL, messages=MESSAGES)
