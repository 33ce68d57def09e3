"""LiteLLM: a loop of its own, async."""

import asyncio
import json

import litellm

from tools import reserve, weather

TOOLS = {"look_up": weather, "book": reserve}
SCHEMAS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    for name in TOOLS
]


async def main():
    messages = [{"role": "user", "content": "Plan my evening."}]
    while True:
        reply = await litellm.acompletion(model="openai/gpt-5", messages=messages, tools=SCHEMAS)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            text = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            print(call.function.name, text)
    print(messages[-1]["content"], reply.usage.total_tokens)


asyncio.run(main())
