"""Requests through the official google-genai SDK; with aiohttp installed its asynchronous half goes over that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from google import genai
from google.genai import types
from pydantic import ValidationError
from showing import show, show_head


def client_at(base: str) -> genai.Client:
    return genai.Client(api_key="test-only", http_options=types.HttpOptions(base_url=base, api_version="v1beta"))


def open_sync(base: str) -> genai.Client:
    return client_at(base)


def open_async(base: str) -> AbstractAsyncContextManager[Any]:
    return opened(base)


@asynccontextmanager
async def opened(base: str) -> AsyncIterator[Any]:
    client = client_at(base)
    try:
        yield client.aio
    finally:
        await client.aio.aclose()


def arguments_of(asked: Any) -> tuple[str, dict[str, Any]] | None:
    """The name of the method of `models` and its arguments."""
    model, _, verb = asked.path.rpartition("/")[2].partition(":")
    if verb not in ("generateContent", "streamGenerateContent"):
        return None
    body = dict(asked.body)
    try:
        contents = [types.Content.model_validate(content) for content in body.pop("contents", [])]
        config = types.GenerateContentConfig.model_validate({**body.pop("generationConfig", {}), **body})
    except ValidationError:  # ids that were scrubbed in the recording are not what the SDK takes
        return None
    name = "generate_content" if verb == "generateContent" else "generate_content_stream"
    return name, {"model": model, "contents": contents, "config": config}


def headers_of(asked: Any) -> dict[str, str]:
    return {"content-type": asked.kind} if asked.kind else {}


def send(client: genai.Client, asked: Any) -> None:
    found = arguments_of(asked)
    if found is None:
        http = client._api_client._httpx_client
        base = str(client._api_client._http_options.base_url).rstrip("/")
        response = http.request(asked.method, base + asked.url, content=asked.raw, headers=headers_of(asked))
        show_head(response)
        print("  raw", response.text)
        return
    name, arguments = found
    made = getattr(client.models, name)(**arguments)
    for chunk in made if name.endswith("stream") else [made]:
        show(chunk)
        print("  <", chunk.sdk_http_response)


async def asend(client: Any, asked: Any) -> None:
    found = arguments_of(asked)
    if found is None:
        http = await client._api_client._get_aiohttp_session()
        base = str(client._api_client._http_options.base_url).rstrip("/")
        async with http.request(asked.method, base + asked.url, data=asked.raw, headers=headers_of(asked)) as response:
            show_head(response)
            print("  raw", await response.text())
        return
    name, arguments = found
    made = await getattr(client.models, name)(**arguments)
    if name.endswith("stream"):
        async for chunk in made:
            show(chunk)
            print("  <", chunk.sdk_http_response)
    else:
        show(made)
        print("  <", made.sdk_http_response)
