"""An agent on the official anthropic SDK: both ways of calling, all that may go wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
from attempts import aattempt, attempt
from showing import show

TOOLS: Any = [{"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]


def ask(text: str) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


def tool_loop(client: anthropic.Anthropic) -> None:
    arguments = ask("tools for Oslo")
    while True:
        answer = client.messages.create(**arguments, tools=TOOLS)
        show(answer)
        if answer.stop_reason != "tool_use":
            return
        arguments["messages"].append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": json.dumps({"sunny": True})}
            for block in answer.content
            if block.type == "tool_use"
        ]
        arguments["messages"].append({"role": "user", "content": results})


def streamed(client: anthropic.Anthropic, prompt: str) -> None:
    for event in client.messages.create(**ask(prompt), stream=True):
        show(event)


def helped(client: anthropic.Anthropic) -> None:
    with client.messages.stream(**ask("say a helped stream"), tools=TOOLS) as stream:
        for text in stream.text_stream:
            print("  ", text)
        show(stream.get_final_message())


def abandoned(client: anthropic.Anthropic) -> None:
    with client.messages.stream(**ask("say something long")) as stream:
        for text in stream.text_stream:
            print("  ", text)
            break


def synchronously() -> None:
    with anthropic.Anthropic() as client:
        attempt("say", lambda: show(client.messages.create(**ask("say hello"))))
        attempt("tools", lambda: tool_loop(client))
        attempt("stream", lambda: streamed(client, "say one two three"))
        attempt("stream of tools", lambda: streamed(client, "tools in a stream"))
        attempt("helped stream", lambda: helped(client))
        attempt("count", lambda: show(client.messages.count_tokens(model="claude", messages=ask("say")["messages"])))
        attempt("limited", lambda: show(client.messages.create(**ask("limited"))))
        attempt("broken", lambda: show(client.messages.create(**ask("broken"))))
        attempt("refused by the server", lambda: show(client.messages.create(**ask("refused"))))
        attempt("dropped", lambda: show(client.messages.create(**ask("dropped"))))
        attempt("reset", lambda: streamed(client, "reset"))
        once = client.with_options(timeout=0.3, max_retries=0)
        attempt("slow", lambda: show(once.messages.create(**ask("slow"))))
        attempt("abandoned", lambda: abandoned(client))
    away = anthropic.Anthropic(base_url="http://127.0.0.1:9", max_retries=0)
    attempt("nobody there", lambda: show(away.messages.create(**ask("say"))))


async def ashow(coming: Any) -> None:
    show(await coming)


async def astreamed(client: anthropic.AsyncAnthropic, prompt: str) -> None:
    async for event in await client.messages.create(**ask(prompt), stream=True):
        show(event)


async def ahelped(client: anthropic.AsyncAnthropic) -> None:
    async with client.messages.stream(**ask("say a helped stream"), tools=TOOLS) as stream:
        async for text in stream.text_stream:
            print("  ", text)
        show(await stream.get_final_message())


async def aabandoned(client: anthropic.AsyncAnthropic) -> None:
    async with client.messages.stream(**ask("say something long")) as stream:
        async for text in stream.text_stream:
            print("  ", text)
            break


async def together(client: anthropic.AsyncAnthropic) -> None:
    answers = await asyncio.gather(*(client.messages.create(**ask(f"say number {number}")) for number in range(6)))
    print([answer.content[0].model_dump() for answer in answers])


async def asynchronously() -> None:
    async with anthropic.AsyncAnthropic() as client:
        await aattempt("say", lambda: ashow(client.messages.create(**ask("say hello again"))))
        await aattempt("stream", lambda: astreamed(client, "say four five six"))
        await aattempt("helped stream", lambda: ahelped(client))
        await aattempt("limited", lambda: ashow(client.messages.create(**ask("limited again"))))
        await aattempt("broken", lambda: ashow(client.messages.create(**ask("broken again"))))
        await aattempt("refused by the server", lambda: ashow(client.messages.create(**ask("refused"))))
        await aattempt("dropped", lambda: ashow(client.messages.create(**ask("dropped again"))))
        await aattempt("reset", lambda: astreamed(client, "reset"))
        once = client.with_options(timeout=0.3, max_retries=0)
        await aattempt("slow", lambda: ashow(once.messages.create(**ask("slow"))))
        await aattempt("abandoned", lambda: aabandoned(client))
        await aattempt("together", lambda: together(client))
    away = anthropic.AsyncAnthropic(base_url="http://127.0.0.1:9", max_retries=0)
    await aattempt("nobody there", lambda: ashow(away.messages.create(**ask("say"))))


synchronously()
asyncio.run(asynchronously())
