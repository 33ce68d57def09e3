"""Steps of real recordings: the SDKs of the providers against the local model server, and what goes on around them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact.providers import Text, ToolResult
from reenact.testing import Call, Calls, Drop, Fail, ModelServer, Reply, ResetMidStream, Say, Script, Turn
from reenact.trajectory import Step, Trajectory, trajectory
from tests.runs import Bench, settings
from tests.trajectory.made import Made

WEATHER = """
def weather(city):
    return f"{city}: 7 degrees"
"""

OPENAI_CHAT = """
    import json
    from openai import OpenAI
    client = OpenAI()
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Oslo and Bergen?"}]
    while True:
        said = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools).choices[0].message
        messages.append(said.to_dict())
        if not said.tool_calls:
            break
        for call in said.tool_calls:
            told = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
"""

OPENAI_RESPONSES = """
    import json
    from openai import OpenAI
    client = OpenAI()
    tools = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]
    items = [{"role": "user", "content": "Oslo and Bergen?"}]
    while True:
        with client.responses.stream(model="gpt-5", instructions="Be brief.", input=items, tools=tools) as stream:
            said = stream.get_final_response()
        items += [item.to_dict() for item in said.output]
        calls = [item for item in said.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            told = weather(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": told})
"""

ANTHROPIC = """
    import anthropic
    client = anthropic.Anthropic()
    tools = [{"name": "weather", "input_schema": {"type": "object"}}]
    messages = [{"role": "user", "content": "Oslo and Bergen?"}]
    while True:
        with client.messages.stream(
            model="claude", max_tokens=99, system="Be brief.", messages=messages, tools=tools
        ) as stream:
            said = stream.get_final_message()
        messages.append({"role": "assistant", "content": [block.to_dict() for block in said.content]})
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            break
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": weather(**call.input)} for call in calls]
        messages.append({"role": "user", "content": results})
"""

GEMINI = """
    from google import genai
    from google.genai import types
    client = genai.Client()
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="weather")])
    config = types.GenerateContentConfig(
        system_instruction="Be brief.", tools=[tool],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [types.Content(role="user", parts=[types.Part(text="Oslo and Bergen?")])]
    while True:
        said = client.models.generate_content(model="gemini", contents=contents, config=config)
        contents.append(said.candidates[0].content)
        if not said.function_calls:
            break
        parts = [
            types.Part.from_function_response(name=call.name, response={"result": weather(**call.args)})
            for call in said.function_calls
        ]
        contents.append(types.Content(role="user", parts=parts))
"""

BEDROCK = """
    import boto3
    client = boto3.client("bedrock-runtime")
    tools = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": {"type": "object"}}}}]}
    messages = [{"role": "user", "content": [{"text": "Oslo and Bergen?"}]}]
    while True:
        said = client.converse(modelId="m", messages=messages, system=[{"text": "Be brief."}], toolConfig=tools)
        message = said["output"]["message"]
        messages.append(message)
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if not calls:
            break
        messages.append({"role": "user", "content": [
            {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": weather(**call["input"])}]}}
            for call in calls
        ]})
"""

SDKS = {
    "openai.chat": OPENAI_CHAT,
    "openai.responses": OPENAI_RESPONSES,
    "anthropic.messages": ANTHROPIC,
    "google.gemini": GEMINI,
    "bedrock": BEDROCK,
}


def desk(turn: Turn) -> Reply:
    if turn.results:
        return Say("Take a coat.")
    return Calls((Call("weather", {"city": "Oslo"}), Call("weather", {"city": "Bergen"})), text="Let me look.")


def new(step: Step) -> list[str]:
    parts = [part for message in step.news.messages for part in message.parts]
    return [part.text for part in parts if isinstance(part, Text | ToolResult)]


def recorded(bench: Bench, program: str, policy: object, **server: object) -> Trajectory:
    with ModelServer(policy, **server) as host:  # type: ignore[arg-type]
        run = bench.record(WEATHER + textless(program), env={**settings(host), "GEMINI_API_KEY": "k"})
    return trajectory(run.tape)


def textless(program: str) -> str:
    """The program without the indentation that it has in this file."""
    return "\n".join(line[4:] for line in program.splitlines())


@pytest.mark.parametrize("api", SDKS)
def test_a_tool_loop_of_every_sdk_is_two_steps(bench: Bench, api: str) -> None:
    found = recorded(bench, SDKS[api], desk)
    first, second = found.steps
    assert first.api.startswith(api)
    assert new(first) == ["Be brief.", "Oslo and Bergen?"]
    assert first.answer is not None
    assert first.answer.text == "Let me look."
    assert [(call.name, call.arguments.replace(" ", "")) for call in first.calls] == [
        ("weather", '{"city":"Oslo"}'),
        ("weather", '{"city":"Bergen"}'),
    ]
    assert first.tools == ("weather",)
    assert [text.removeprefix('{"result":"').removesuffix('"}') for text in new(second)] == [
        "Oslo: 7 degrees",
        "Bergen: 7 degrees",
    ]
    results = [part for message in second.news.messages for part in message.parts]
    assert [part.name for part in results if isinstance(part, ToolResult)] == ["weather"] * 2
    assert second.answer is not None
    assert second.answer.text == "Take a coat."
    for step in (first, second):
        assert step.complete
        assert step.usage is not None
        assert step.usage.input > 0
        assert step.site is not None
        assert step.site.file.endswith("agent.py")
        assert step.troubles == ()
    assert found.outside == ()


def test_retries_of_an_sdk_are_attempts_at_one_step(bench: Bench) -> None:
    program = """
    from openai import OpenAI
    client = OpenAI(max_retries=3)
    client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hello"}])
    """
    script = Script(Fail(429, retry_after=0.01, message="slow down"), Drop(), Fail(500), Say("Hi"))
    (step,) = recorded(bench, program, script).steps
    attempts = [entry for entry in step.entries if entry.kind == "http"]
    assert [entry.status for entry in attempts] == [429, None, 500, 200]
    assert tuple(entry.event for entry in attempts) == step.attempts
    assert [entry.kind for entry in step.entries].count("sleep") == 3
    assert [trouble.status for trouble in step.troubles] == [429, None, 500]
    assert step.troubles[1].type == "httpx2.RemoteProtocolError"
    assert step.answer is not None
    assert step.answer.text == "Hi"


def test_a_pressed_stream_that_is_reset_and_asked_again(bench: Bench) -> None:
    program = """
    import json, os, urllib3
    body = json.dumps({"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": "Hello"}]})
    headers = {"accept-encoding": "gzip", "content-type": "application/json"}
    for attempt in range(2):
        answer = urllib3.request(
            "POST", os.environ["OPENAI_BASE_URL"] + "/chat/completions", body=body, headers=headers,
            preload_content=False, retries=False,
        )
        try:
            for _ in answer.stream(10):
                pass
        except urllib3.exceptions.HTTPError:
            continue
    """
    words = "It rains in Oslo and in Bergen, and it will go on."
    script = Script(ResetMidStream(Say(words), 3), Say(words))
    (step,) = recorded(bench, program, script, encoding="gzip").steps
    assert len(step.attempts) == 2
    assert step.answer is not None
    assert step.answer.text == words
    assert step.troubles[0].type == "ConnectionResetError"
    assert step.complete


def test_agents_in_tasks_have_lanes_and_tools_of_their_own(bench: Bench) -> None:
    program = """
    import asyncio, os, httpx
    async def agent(client, name):
        question = {"model": "gpt-5", "messages": [{"role": "user", "content": name}], "tools": [
            {"type": "function", "function": {"name": "fetch", "parameters": {}}}]}
        said = (await client.post("/v1/chat/completions", json=question)).json()["choices"][0]["message"]
        told = (await client.get(f"/{name}")).text
        call = said["tool_calls"][0]["id"]
        question["messages"] += [said, {"role": "tool", "tool_call_id": call, "content": told}]
        await client.post("/v1/chat/completions", json=question)
    async def main():
        async with httpx.AsyncClient(base_url=os.environ["BASE"]) as client:
            await client.get("/begin")
            await asyncio.gather(agent(client, "first"), agent(client, "second"))
    asyncio.run(main())
    """
    found = recorded(bench, program, lambda turn: Say("done") if turn.results else Call("fetch", {}))
    lanes: dict[str, list[Step]] = {}
    for step in found.steps:
        lanes.setdefault(step.lane, []).append(step)
    assert len(lanes) == 2
    for name, (asked, told) in zip(("first", "second"), lanes.values(), strict=True):
        assert new(asked) == [name]
        assert [entry.name.rpartition("/")[2] for entry in asked.entries] == ["completions", name]
        assert len(new(told)) == 1
        assert told.answer is not None
        assert told.answer.text == "done"
    assert [entry.name.rpartition("/")[2] for entry in found.outside if entry.kind == "http"] == ["begin"]


def exchanges(traffic: Path) -> Iterator[list[dict[str, Any]]]:
    for path in sorted(traffic.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            yield from (json.loads(line)["exchanges"] for line in lines)


def body(message: dict[str, Any]) -> bytes:
    return base64.b64decode(message["body_b64"]) if "body_b64" in message else (message.get("body") or "").encode()


def test_real_traffic_of_the_providers_becomes_steps_without_trouble_of_our_own(
    recorded_traffic: Path, tmp_path: Path
) -> None:
    asked = answered = 0
    for number, recorded_exchanges in enumerate(exchanges(recorded_traffic)):
        made = Made(tmp_path / f"{number}.tape")
        for exchange in recorded_exchanges:
            request, response = exchange["request"], exchange["response"]
            event = made.begin(f"{request['method']} {request['url']}", body(request))
            headers = [pair for pair in response["headers"].items() if pair[0].lower() != "content-encoding"]
            made.answer(event, response["status"], body(response), headers=headers)
        found = trajectory(made.done())
        asked += len(found.steps)
        answered += sum(step.complete for step in found.steps)
        troubles = [trouble for step in found.steps for trouble in step.troubles]
        assert not [trouble for trouble in troubles if trouble.status is None], troubles
    assert asked > 300
    assert answered > asked * 0.9
