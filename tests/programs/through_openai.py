"""Requests through the official openai SDK: by the method that the user would call where there is one."""

from __future__ import annotations

import inspect
from typing import Any

import httpx2
import openai
from openai._models import FinalRequestOptions
from showing import show, show_head

LIBRARY: Any = openai
CREATE = {
    ("POST", "/v1/chat/completions"): "chat.completions",
    ("POST", "/v1/responses"): "responses",
    ("POST", "/v1/embeddings"): "embeddings",
    ("POST", "/v1/conversations"): "conversations",
    ("POST", "/openai/v1/chat/completions"): "chat.completions",
}


def open_sync(base: str) -> Any:
    return LIBRARY.OpenAI(max_retries=0)


def open_async(base: str) -> Any:
    return LIBRARY.AsyncOpenAI(max_retries=0)


def create_of(client: Any, asked: Any) -> tuple[Any, dict[str, Any]] | None:
    """The SDK's method and its arguments; what the method does not know goes into extra_body."""
    path = CREATE.get((asked.method, asked.path))
    if path is None or not isinstance(asked.body, dict):
        return None
    resource = client
    for name in path.split("."):
        resource = getattr(resource, name)
    known = inspect.signature(resource.create).parameters
    arguments = {name: value for name, value in asked.body.items() if name in known}
    more = {name: value for name, value in asked.body.items() if name not in known}
    if more:
        arguments["extra_body"] = more
    return resource.with_raw_response.create, arguments


def options_of(asked: Any) -> FinalRequestOptions:
    path = asked.url.removeprefix("/openai").removeprefix("/v1")
    return FinalRequestOptions(method=asked.method.lower(), url=path, json_data=asked.body)


def is_file(asked: Any) -> bool:
    """An upload is sent as it was, by the HTTP client that the SDK has."""
    return asked.body is None and bool(asked.raw)


def send(client: Any, asked: Any) -> None:
    found = create_of(client, asked)
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
    create, arguments = found
    raw = create(**arguments)
    show_head(raw.http_response)
    parsed = raw.parse()
    if hasattr(parsed, "response"):
        for chunk in parsed:
            show(chunk)
    else:
        show(parsed)


async def asend(client: Any, asked: Any) -> None:
    found = create_of(client, asked)
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
    create, arguments = found
    raw = await create(**arguments)
    show_head(raw.http_response)
    parsed = raw.parse()
    if hasattr(parsed, "response"):
        async for chunk in parsed:
            show(chunk)
    else:
        show(parsed)
