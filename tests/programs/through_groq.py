"""Requests through the official groq SDK."""

from __future__ import annotations

import inspect
from typing import Any

import groq
from showing import show, show_head

METHODS = {"/openai/v1/chat/completions": "completions"}


def open_sync(base: str) -> groq.Groq:
    return groq.Groq(max_retries=0)


def open_async(base: str) -> groq.AsyncGroq:
    return groq.AsyncGroq(max_retries=0)


def arguments_of(create: Any, body: dict[str, Any]) -> dict[str, Any]:
    known = inspect.signature(create).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    more = {name: value for name, value in body.items() if name not in known}
    return {**arguments, "extra_body": more} if more else arguments


def send(client: groq.Groq, asked: Any) -> None:
    completions = client.chat.completions
    raw = completions.with_raw_response.create(**arguments_of(completions.create, asked.body))
    show_head(raw.http_response)
    parsed: Any = raw.parse()
    if asked.body.get("stream"):
        for chunk in parsed:
            show(chunk)
    else:
        show(parsed)


async def asend(client: groq.AsyncGroq, asked: Any) -> None:
    completions = client.chat.completions
    raw = await completions.with_raw_response.create(**arguments_of(completions.create, asked.body))
    show_head(raw.http_response)
    parsed: Any = raw.parse() if not inspect.iscoroutinefunction(raw.parse) else await raw.parse()
    if asked.body.get("stream"):
        async for chunk in parsed:
            show(chunk)
    else:
        show(parsed)
