"""An agent with one tool on an official SDK: `talking.py FORMAT [stream]`. It prints what it decides, step by step."""

# ruff: noqa: PLC0415  each run has one SDK

import json
import sys
from collections.abc import Iterator
from typing import Any

MODEL = "any-model"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def lookup(city: str) -> str:
    """What the agent can do."""
    return json.dumps({"city": city, "hour": len(city) + 10})


def chat(stream: bool) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    import openai

    client = openai.OpenAI(max_retries=0)
    tools: Any = [{"type": "function", "function": {"name": "lookup", "parameters": SCHEMA}}]
    messages: list[Any] = [{"role": "user", "content": "when?"}]
    while True:
        if stream:
            with client.chat.completions.stream(model=MODEL, messages=messages, tools=tools) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        calls = [(call.id, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
        messages[-1].pop("parsed", None)
        for call in messages[-1].get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        yield message.content or "", calls
        messages += [{"role": "tool", "tool_call_id": made, "content": lookup(**asked)} for made, asked in calls]


def responses(stream: bool) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    import openai

    client = openai.OpenAI(max_retries=0)
    tools: Any = [{"type": "function", "name": "lookup", "parameters": SCHEMA, "strict": False}]
    items: list[Any] = [{"role": "user", "content": "when?"}]
    while True:
        if stream:
            with client.responses.stream(model=MODEL, input=items, tools=tools) as events:
                for _ in events:
                    pass
                answer: Any = events.get_final_response()
        else:
            answer = client.responses.create(model=MODEL, input=items, tools=tools)
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        for item in items:
            for part in item.get("content", ()) if isinstance(item.get("content"), list) else ():
                part.pop("parsed", None)
        calls = [(item.call_id, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
        yield answer.output_text, calls
        items += [{"type": "function_call_output", "call_id": made, "output": lookup(**asked)} for made, asked in calls]


def messages(stream: bool) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    import anthropic

    client = anthropic.Anthropic(max_retries=0)
    said: list[Any] = [{"role": "user", "content": "when?"}]
    asked: Any = {"model": MODEL, "max_tokens": 99, "tools": [{"name": "lookup", "input_schema": SCHEMA}]}
    while True:
        if stream:
            with client.messages.stream(messages=said, **asked) as events:
                answer: Any = events.get_final_message()
        else:
            answer = client.messages.create(messages=said, **asked)
        said.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
        calls = [(block.id, block.input) for block in answer.content if block.type == "tool_use"]
        yield "".join(block.text for block in answer.content if block.type == "text"), calls
        results = [{"type": "tool_result", "tool_use_id": made, "content": lookup(**given)} for made, given in calls]
        said.append({"role": "user", "content": results})


def gemini(stream: bool) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    from google import genai
    from google.genai import types

    client = genai.Client()
    declared = types.FunctionDeclaration(name="lookup", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    said: list[Any] = [types.UserContent("when?")]
    while True:
        if stream:
            parts: list[Any] = []
            for chunk in client.models.generate_content_stream(model=MODEL, contents=said, config=config):
                parts += (chunk.candidates[0].content.parts or []) if chunk.candidates else []
        else:
            answer = client.models.generate_content(model=MODEL, contents=said, config=config)
            parts = answer.candidates[0].content.parts  # type: ignore[index, union-attr, assignment]
        said.append(types.ModelContent(parts))
        calls = [(part.function_call.id or "", dict(part.function_call.args)) for part in parts if part.function_call]
        yield "".join(part.text or "" for part in parts), calls
        said.append(
            types.UserContent(
                [types.Part.from_function_response(name="lookup", response={"result": lookup(**a)}) for _, a in calls]
            )
        )


def converse(stream: bool) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    import boto3

    client: Any = boto3.client("bedrock-runtime")
    tools = {"tools": [{"toolSpec": {"name": "lookup", "inputSchema": {"json": SCHEMA}}}]}
    said: list[Any] = [{"role": "user", "content": [{"text": "when?"}]}]
    while True:
        asked: dict[str, Any] = {"modelId": MODEL, "messages": said, "toolConfig": tools}
        content = _streamed(client.converse_stream(**asked)["stream"]) if stream else None
        if content is None:
            content = client.converse(**asked)["output"]["message"]["content"]
        said.append({"role": "assistant", "content": content})
        calls = [(block["toolUse"]["toolUseId"], block["toolUse"]["input"]) for block in content if "toolUse" in block]
        yield "".join(block.get("text", "") for block in content), calls
        results = [{"toolUseId": made, "content": [{"text": lookup(**given)}]} for made, given in calls]
        said.append({"role": "user", "content": [{"toolResult": result} for result in results]})


def _streamed(events: Any) -> list[dict[str, Any]]:
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if "contentBlockStart" in event:
            begun = event["contentBlockStart"]
            blocks[begun["contentBlockIndex"]] = {"toolUse": {**begun["start"]["toolUse"], "input": ""}}
        if "contentBlockDelta" in event:
            came = event["contentBlockDelta"]
            block = blocks.setdefault(came["contentBlockIndex"], {"text": ""})
            if "text" in came["delta"]:
                block["text"] += came["delta"]["text"]
            else:
                block["toolUse"]["input"] += came["delta"]["toolUse"]["input"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return [blocks[at] for at in sorted(blocks)]


if __name__ == "__main__":
    for text, calls in globals()[sys.argv[1]](stream="stream" in sys.argv[2:]):
        print("said", text, "called", [asked for _, asked in calls], flush=True)
        if not calls:
            break
