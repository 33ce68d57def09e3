"""Clients of httpx whose transports are no plain ones: one stands on aiohttp, others give whole responses."""

import asyncio
import os
from typing import Any

import aiohttp
import httpx

URL = os.environ["BASE"]


class OnAiohttp(httpx.AsyncBaseTransport):
    """Makes its session when it is first needed, as LiteLLM's does."""

    session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.session is None:
            self.session = aiohttp.ClientSession()
        body = await request.aread()
        async with self.session.request(request.method, str(request.url), data=body) as answer:
            return httpx.Response(answer.status, headers=answer.headers, content=await answer.read())

    async def aclose(self) -> None:
        if self.session is not None:
            await self.session.close()


class Reading(httpx.AsyncHTTPTransport):
    """Reads every response itself, as those do that try again."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        await answer.aread()
        return answer


class Making(httpx.BaseTransport):
    """Asks nobody."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(203, json={"asked": request.url.path}, headers={"x-made": "here"})


def show(answer: httpx.Response) -> None:
    state: Any = (answer.is_closed, answer.is_stream_consumed, answer.encoding, answer.num_bytes_downloaded)
    try:
        took: Any = answer.elapsed.total_seconds() >= 0
    except RuntimeError as error:
        took = str(error)
    print(answer.status_code, answer.content[:80], len(answer.content), sorted(answer.headers), *state, took)


async def main() -> None:
    for transport in (OnAiohttp(), Reading()):
        client = httpx.AsyncClient(transport=transport)
        for number in range(2):
            show(await client.post(f"{URL}/echo", content=f"question {number}"))
        show(await client.get(f"{URL}/sized"))
        if isinstance(transport, Reading):
            show(await client.get(f"{URL}/coded/gzip"))
        await transport.aclose()
    async with aiohttp.ClientSession() as own, own.post(f"{URL}/echo", data=b"by itself") as last:
        print(last.status, await last.read())


with httpx.Client(transport=Making()) as made:
    show(made.get("http://nowhere.invalid/a"))
    with made.stream("GET", "http://nowhere.invalid/b") as answer:
        print(list(answer.iter_bytes()))
asyncio.run(main())
