"""An agent on google-genai: both ways of calling (with aiohttp installed the second goes over that), and faults."""

from __future__ import annotations

import asyncio
from typing import Any

from attempts import aattempt, attempt
from google import genai
from google.genai import types
from showing import show

PARAMETERS = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
WEATHER = types.FunctionDeclaration(name="weather", description="", parameters=types.Schema.model_validate(PARAMETERS))
TOOLS = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[WEATHER])])
RETRY = types.HttpRetryOptions(attempts=3, initial_delay=0.05, max_delay=0.2)


KEPT: list[genai.Client] = []  # until the end: a client that is collected closes itself, whenever that may be


def client_of(**options: Any) -> genai.Client:
    KEPT.append(genai.Client(api_key="test-only", http_options=types.HttpOptions(**options)))
    return KEPT[-1]


def seen(answer: Any) -> None:
    show(answer)
    print("  <", answer.sdk_http_response)


def streamed(client: genai.Client, prompt: str) -> None:
    for chunk in client.models.generate_content_stream(model="gemini", contents=prompt):
        seen(chunk)


def abandoned(client: genai.Client) -> None:
    for chunk in client.models.generate_content_stream(model="gemini", contents="say something long"):
        seen(chunk)
        break


def chat(client: genai.Client) -> None:
    talk = client.chats.create(model="gemini")
    for prompt in ("say one", "say two", "say three"):
        seen(talk.send_message(prompt))


def synchronously() -> None:
    client = client_of()
    models = client.models
    attempt("say", lambda: seen(models.generate_content(model="gemini", contents="say hello")))
    attempt("tools", lambda: seen(models.generate_content(model="gemini", contents="tools", config=TOOLS)))
    attempt("stream", lambda: streamed(client, "say one two three"))
    attempt("chat", lambda: chat(client))
    attempt("tokens", lambda: show(models.count_tokens(model="gemini", contents="say hello")))
    attempt("refused by the server", lambda: seen(models.generate_content(model="gemini", contents="refused")))
    attempt("dropped", lambda: seen(models.generate_content(model="gemini", contents="dropped")))
    attempt("reset", lambda: streamed(client, "reset"))
    attempt("abandoned", lambda: abandoned(client))
    patient = client_of(retry_options=RETRY)
    attempt("limited", lambda: seen(patient.models.generate_content(model="gemini", contents="limited")))
    hasty = client_of(timeout=300)
    attempt("slow", lambda: seen(hasty.models.generate_content(model="gemini", contents="slow")))
    away = client_of(base_url="http://127.0.0.1:9")
    attempt("nobody there", lambda: seen(away.models.generate_content(model="gemini", contents="say")))


async def aseen(coming: Any) -> None:
    seen(await coming)


async def astreamed(client: genai.Client, prompt: str) -> None:
    async for chunk in await client.aio.models.generate_content_stream(model="gemini", contents=prompt):
        seen(chunk)


async def aabandoned(client: genai.Client) -> None:
    async for chunk in await client.aio.models.generate_content_stream(model="gemini", contents="say something long"):
        seen(chunk)
        break


async def together(client: genai.Client) -> None:
    models = client.aio.models
    answers = await asyncio.gather(
        *(models.generate_content(model="gemini", contents=f"say number {number}") for number in range(6))
    )
    print([answer.text for answer in answers])


async def asynchronously() -> None:
    client = client_of()
    models = client.aio.models
    await aattempt("say", lambda: aseen(models.generate_content(model="gemini", contents="say hello again")))
    await aattempt("tools", lambda: aseen(models.generate_content(model="gemini", contents="tools", config=TOOLS)))
    await aattempt("stream", lambda: astreamed(client, "say four five six"))
    await aattempt("refused by the server", lambda: aseen(models.generate_content(model="gemini", contents="refused")))
    await aattempt("dropped", lambda: aseen(models.generate_content(model="gemini", contents="dropped again")))
    await aattempt("reset", lambda: astreamed(client, "reset"))
    await aattempt("abandoned", lambda: aabandoned(client))
    patient = client_of(retry_options=RETRY)
    limited = patient.aio.models.generate_content
    await aattempt("limited", lambda: aseen(limited(model="gemini", contents="limited again")))
    hasty = client_of(timeout=300)
    await aattempt("slow", lambda: aseen(hasty.aio.models.generate_content(model="gemini", contents="slow")))
    await aattempt("together", lambda: together(client))
    for each in (client, patient, hasty):
        await each.aio.aclose()


synchronously()
asyncio.run(asynchronously())
