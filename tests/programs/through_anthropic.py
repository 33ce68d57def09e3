"""Requests through the official anthropic SDK: messages and token counts by their methods, the rest by client.post."""

from __future__ import annotations

import inspect
from typing import Any

import anthropic
import httpx2
from anthropic._models import FinalRequestOptions
from showing import show, show_head


def open_sync(base: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(max_retries=0)


def open_async(base: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(max_retries=0)


def method_of(client: Any, asked: Any) -> tuple[Any, dict[str, Any]] | None:
    if not isinstance(asked.body, dict):
        return None
    messages = client.beta.messages if "beta=true" in asked.query else client.messages
    match asked.path:
        case "/v1/messages":
            method, raw = messages.create, messages.with_raw_response.create
        case "/v1/messages/count_tokens":
            method, raw = messages.count_tokens, messages.with_raw_response.count_tokens
        case _:
            return None
    known = inspect.signature(method).parameters
    arguments = {name: value for name, value in asked.body.items() if name in known}
    more = {name: value for name, value in asked.body.items() if name not in known}
    # an SDK refuses a long answer that is not streamed unless a timeout is given
    return raw, {**arguments, "extra_body": more or None, "timeout": 60}


def options_of(asked: Any) -> FinalRequestOptions:
    return FinalRequestOptions(method=asked.method.lower(), url=asked.url, json_data=asked.body)


def is_file(asked: Any) -> bool:
    """An upload is sent as it was, by the HTTP client that the SDK has."""
    return asked.body is None and bool(asked.raw)


def send(client: anthropic.Anthropic, asked: Any) -> None:
    found = method_of(client, asked)
    if found is None:
        if is_file(asked):
            url = str(client.base_url.join(asked.path))
            response = client._client.request(
                asked.method, url, content=asked.raw, headers={"content-type": asked.kind}
            )
        else:
            response = client.request(httpx2.Response, options_of(asked))
        show_head(response)
        print("  raw", response.text)
        return
    call, arguments = found
    raw = call(**arguments)
    show_head(raw.http_response)
    parsed = raw.parse()
    if asked.body.get("stream"):
        for event in parsed:
            show(event)
    else:
        show(parsed)


async def asend(client: anthropic.AsyncAnthropic, asked: Any) -> None:
    found = method_of(client, asked)
    if found is None:
        if is_file(asked):
            url = str(client.base_url.join(asked.path))
            response = await client._client.request(
                asked.method, url, content=asked.raw, headers={"content-type": asked.kind}
            )
        else:
            response = await client.request(httpx2.Response, options_of(asked))
        show_head(response)
        print("  raw", response.text)
        return
    call, arguments = found
    raw = await call(**arguments)
    show_head(raw.http_response)
    parsed = raw.parse()
    if inspect.isawaitable(parsed):
        parsed = await parsed
    if asked.body.get("stream"):
        async for event in parsed:
            show(event)
    else:
        show(parsed)
