"""An agent on the official groq SDK: both ways of calling, all that may go wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import groq
from attempts import aattempt, attempt
from showing import show

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": TOOL}}]


def ask(text: str) -> dict[str, Any]:
    return {"model": "llama", "messages": [{"role": "user", "content": text}]}


def streamed(client: groq.Groq, prompt: str) -> None:
    for chunk in client.chat.completions.create(**ask(prompt), stream=True):
        show(chunk)


def abandoned(client: groq.Groq) -> None:
    with client.chat.completions.create(**ask("say something long"), stream=True) as stream:
        for chunk in stream:
            show(chunk)
            break


def synchronously() -> None:
    with groq.Groq() as client:
        chat = client.chat.completions
        attempt("say", lambda: show(chat.create(**ask("say hello"))))
        attempt("tools", lambda: show(chat.create(**ask("tools"), tools=TOOLS)))
        attempt("stream", lambda: streamed(client, "say one two three"))
        attempt("limited", lambda: show(chat.create(**ask("limited"))))
        attempt("refused by the server", lambda: show(chat.create(**ask("refused"))))
        attempt("dropped", lambda: show(chat.create(**ask("dropped"))))
        attempt("reset", lambda: streamed(client, "reset"))
        once = client.with_options(timeout=0.3, max_retries=0)
        attempt("slow", lambda: show(once.chat.completions.create(**ask("slow"))))
        attempt("abandoned", lambda: abandoned(client))
    away = groq.Groq(base_url="http://127.0.0.1:9", max_retries=0)
    attempt("nobody there", lambda: show(away.chat.completions.create(**ask("say"))))


async def ashow(coming: Any) -> None:
    show(await coming)


async def astreamed(client: groq.AsyncGroq, prompt: str) -> None:
    async for chunk in await client.chat.completions.create(**ask(prompt), stream=True):
        show(chunk)


async def aabandoned(client: groq.AsyncGroq) -> None:
    async with await client.chat.completions.create(**ask("say something long"), stream=True) as stream:
        async for chunk in stream:
            show(chunk)
            break


async def together(client: groq.AsyncGroq) -> None:
    answers = await asyncio.gather(*(client.chat.completions.create(**ask(f"say number {n}")) for n in range(6)))
    print([answer.choices[0].message.content for answer in answers])


async def asynchronously() -> None:
    async with groq.AsyncGroq() as client:
        chat = client.chat.completions
        await aattempt("say", lambda: ashow(chat.create(**ask("say hello again"))))
        await aattempt("stream", lambda: astreamed(client, "say four five six"))
        await aattempt("limited", lambda: ashow(chat.create(**ask("limited again"))))
        await aattempt("dropped", lambda: ashow(chat.create(**ask("dropped again"))))
        await aattempt("reset", lambda: astreamed(client, "reset"))
        once = client.with_options(timeout=0.3, max_retries=0)
        await aattempt("slow", lambda: ashow(once.chat.completions.create(**ask("slow"))))
        await aattempt("abandoned", lambda: aabandoned(client))
        await aattempt("together", lambda: together(client))


synchronously()
asyncio.run(asynchronously())
