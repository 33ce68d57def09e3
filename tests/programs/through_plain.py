"""Requests of many providers in one run, through the plain HTTP libraries in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from itertools import cycle
from typing import Any

import aiohttp
import httpx
import httpx2
import requests
from showing import show_head


@contextmanager
def open_sync(base: str) -> Iterator[Any]:
    with ExitStack() as stack:
        clients = [stack.enter_context(each) for each in (httpx.Client(), httpx2.Client(), requests.Session())]
        yield base, cycle(clients)


@asynccontextmanager
async def open_async(base: str) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        clients: list[Any] = [httpx.AsyncClient(), httpx2.AsyncClient(), aiohttp.ClientSession()]
        for client in clients:
            await stack.enter_async_context(client)
        yield base, cycle(clients)


def send(state: Any, asked: Any) -> None:
    base, clients = state
    client = next(clients)
    headers = {"content-type": asked.kind} if asked.kind else {}
    if isinstance(client, requests.Session):
        with client.request(asked.method, base + asked.url, data=asked.raw, headers=headers, stream=True) as response:
            show_head(response)
            for piece in response.iter_content(None):
                print("  +", piece)
        return
    with client.stream(asked.method, base + asked.url, content=asked.raw, headers=headers) as response:
        show_head(response)
        for piece in response.iter_bytes():
            print("  +", piece)


async def asend(state: Any, asked: Any) -> None:
    base, clients = state
    client = next(clients)
    headers = {"content-type": asked.kind} if asked.kind else {}
    if isinstance(client, aiohttp.ClientSession):
        async with client.request(asked.method, base + asked.url, data=asked.raw, headers=headers) as response:
            show_head(response)
            print("  +", await response.read())
        return
    async with client.stream(asked.method, base + asked.url, content=asked.raw, headers=headers) as response:
        show_head(response)
        async for piece in response.aiter_bytes():
            print("  +", piece)
