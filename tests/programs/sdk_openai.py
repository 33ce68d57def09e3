"""An agent on the official openai SDK: Chat and Responses, both ways of calling, all that may go wrong."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
from attempts import aattempt, attempt
from pydantic import BaseModel
from showing import show

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": TOOL}}]
RESPONSE_TOOLS: Any = [{"type": "function", "name": "weather", "parameters": TOOL}]


class Place(BaseModel):
    city: str


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def tool_loop(client: openai.OpenAI) -> None:
    history = user("tools for Oslo")
    while True:
        answer = client.chat.completions.create(model="m", messages=history, tools=TOOLS).choices[0].message
        show(answer)
        if not answer.tool_calls:
            return
        history.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls:
            history.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps({"sunny": True})})


def streamed(client: openai.OpenAI, prompt: str) -> None:
    for chunk in client.chat.completions.create(model="m", messages=user(prompt), stream=True):
        show(chunk)


def helped(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model="m", messages=user("say a stream"), tools=TOOLS) as stream:
        for event in stream:
            print("  ", event.type)
        show(stream.get_final_completion())


def abandoned(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(model="m", messages=user("say something long"), stream=True)
    for chunk in stream:
        show(chunk)
        break
    stream.close()


def response_stream(client: openai.OpenAI) -> None:
    with client.responses.stream(model="m", input="tools for Oslo", tools=RESPONSE_TOOLS) as stream:
        for event in stream:
            show(event)
        show(stream.get_final_response())


def bytes_of(client: openai.OpenAI) -> None:
    with client.chat.completions.with_streaming_response.create(model="m", messages=user("say bytes")) as response:
        print("  ", response.headers.get("x-request-id"), b"".join(response.iter_bytes(16)))


def synchronously() -> None:
    with openai.OpenAI() as client:
        chat, responses = client.chat.completions, client.responses
        attempt("say", lambda: show(chat.create(model="m", messages=user("say hello"))))
        attempt("tools", lambda: tool_loop(client))
        attempt("stream", lambda: streamed(client, "say one two three"))
        attempt("stream of tools", lambda: streamed(client, "tools in a stream"))
        attempt("helped stream", lambda: helped(client))
        attempt("parse", lambda: show(chat.parse(model="m", messages=user("json"), response_format=Place)))
        attempt("bytes", lambda: bytes_of(client))
        attempt("response", lambda: show(responses.create(model="m", input="say hello")))
        attempt("response with tools", lambda: show(responses.create(model="m", input="tools", tools=RESPONSE_TOOLS)))
        attempt("response stream", lambda: response_stream(client))
        attempt("embeddings", lambda: show(client.embeddings.create(model="m", input=["a", "b"])))
        attempt("models", lambda: print([model.id for model in client.models.list()]))
        attempt("limited", lambda: show(chat.create(model="m", messages=user("limited"))))
        attempt("broken", lambda: show(responses.create(model="m", input="broken")))
        attempt("refused by the server", lambda: show(chat.create(model="m", messages=user("refused"))))
        attempt("always limited", lambda: show(chat.create(model="m", messages=user("overloaded"))))
        attempt("dropped", lambda: show(chat.create(model="m", messages=user("dropped"))))
        attempt("reset", lambda: streamed(client, "reset"))
        once = client.with_options(timeout=0.3, max_retries=0)
        attempt("slow", lambda: show(once.chat.completions.create(model="m", messages=user("slow"))))
        attempt("abandoned", lambda: abandoned(client))
    away = openai.OpenAI(base_url="http://127.0.0.1:9/v1", max_retries=0)
    attempt("nobody there", lambda: show(away.models.list()))


async def ashow(coming: Any) -> None:
    show(await coming)


async def astreamed(client: openai.AsyncOpenAI, prompt: str) -> None:
    async for chunk in await client.chat.completions.create(model="m", messages=user(prompt), stream=True):
        show(chunk)


async def aabandoned(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="m", messages=user("say something long"), stream=True)
    async for chunk in stream:
        show(chunk)
        break
    await stream.close()


async def aresponse_stream(client: openai.AsyncOpenAI) -> None:
    async with client.responses.stream(model="m", input="say it in a stream") as stream:
        async for event in stream:
            show(event)
        show(await stream.get_final_response())


async def together(client: openai.AsyncOpenAI) -> None:
    async def one(number: int) -> str | None:
        answer = await client.chat.completions.create(model="m", messages=user(f"say number {number}"))
        return answer.choices[0].message.content

    print(await asyncio.gather(*map(one, range(6))))


async def asynchronously() -> None:
    async with openai.AsyncOpenAI() as client:
        chat, responses = client.chat.completions, client.responses
        await aattempt("say", lambda: ashow(chat.create(model="m", messages=user("say hello again"))))
        await aattempt("stream", lambda: astreamed(client, "say four five six"))
        await aattempt("parse", lambda: ashow(chat.parse(model="m", messages=user("json"), response_format=Place)))
        await aattempt("response", lambda: ashow(responses.create(model="m", input="say hello again")))
        await aattempt("response stream", lambda: aresponse_stream(client))
        await aattempt("limited", lambda: ashow(chat.create(model="m", messages=user("limited again"))))
        await aattempt("broken", lambda: ashow(responses.create(model="m", input="broken again")))
        await aattempt("refused by the server", lambda: ashow(responses.create(model="m", input="refused")))
        await aattempt("dropped", lambda: ashow(chat.create(model="m", messages=user("dropped again"))))
        await aattempt("reset", lambda: astreamed(client, "reset"))
        once = client.with_options(timeout=0.3, max_retries=0)
        await aattempt("slow", lambda: ashow(once.chat.completions.create(model="m", messages=user("slow"))))
        await aattempt("abandoned", lambda: aabandoned(client))
        await aattempt("together", lambda: together(client))
    away = openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", max_retries=0)
    await aattempt("nobody there", lambda: ashow(away.models.list()))


synchronously()
asyncio.run(asynchronously())
