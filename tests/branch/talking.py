"""A conversation with a tool, in the terms of each SDK: asked, called, told the result, asked on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from google.genai import types

MODEL = "any-model"
RESULT = "fair, 12 °C"


def chat(client: Any) -> None:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "weather?"}]
    for more in ("and tomorrow?", "thanks"):
        answer = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message
        messages.append(answer.to_dict())
        for call in answer.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": RESULT})
        answer = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message
        messages += [answer.to_dict(), {"role": "user", "content": more}]
    client.chat.completions.create(model=MODEL, messages=messages)


def responses(client: Any) -> None:
    items: list[Any] = [{"role": "user", "content": "weather?"}]
    for more in ("and tomorrow?", "thanks"):
        answer = client.responses.create(model=MODEL, input=items, instructions="Be brief.")
        items += [item.to_dict() for item in answer.output]
        for call in (item for item in answer.output if item.type == "function_call"):
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": RESULT})
        answer = client.responses.create(model=MODEL, input=items, instructions="Be brief.")
        items += [*(item.to_dict() for item in answer.output), {"role": "user", "content": more}]
    client.responses.create(model=MODEL, input=items, instructions="Be brief.")


def messages(client: Any) -> None:
    said: list[Any] = [{"role": "user", "content": "weather?"}]
    asked: Any = {"model": MODEL, "max_tokens": 9, "system": "Be brief.", "messages": said}
    for more in ("and tomorrow?", "thanks"):
        answer = client.messages.create(**asked)
        said.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
        calls = [block for block in answer.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]
        said.append({"role": "user", "content": results})
        answer = client.messages.create(**asked)
        said.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
        said.append({"role": "user", "content": more})
    client.messages.create(**asked)


def gemini(client: Any) -> None:
    config = types.GenerateContentConfig(system_instruction="Be brief.")
    said: list[Any] = [types.UserContent("weather?")]
    for more in ("and tomorrow?", "thanks"):
        answer = client.models.generate_content(model=MODEL, contents=said, config=config)
        said.append(answer.candidates[0].content)
        results = [
            types.Part.from_function_response(name=call.name, response={"result": RESULT})
            for call in answer.function_calls
        ]
        said.append(types.UserContent(results))
        answer = client.models.generate_content(model=MODEL, contents=said, config=config)
        said += [answer.candidates[0].content, types.UserContent(more)]
    client.models.generate_content(model=MODEL, contents=said, config=config)


def converse(client: Any) -> None:
    said: list[Any] = [{"role": "user", "content": [{"text": "weather?"}]}]
    asked: Any = {"modelId": MODEL, "system": [{"text": "Be brief."}], "messages": said}
    for more in ("and tomorrow?", "thanks"):
        message = client.converse(**asked)["output"]["message"]
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [{"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": RESULT}]}} for call in calls]
        said += [message, {"role": "user", "content": results}]
        message = client.converse(**asked)["output"]["message"]
        said += [message, {"role": "user", "content": [{"text": more}]}]
    client.converse(**asked)


TALKS: dict[str, Callable[[Any], None]] = {
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic.messages": messages,
    "google.gemini": gemini,
    "bedrock.converse": converse,
}


def text_of(result: str) -> str:
    """What a result says, without what Gemini puts around it."""
    try:
        return str(json.loads(result)["result"])
    except (ValueError, KeyError, TypeError):
        return result
