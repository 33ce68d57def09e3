"""Everything that an asynchronous client of httpx (or httpx2: the first argument) may meet."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from attempts import aattempt

library: Any = importlib.import_module(sys.argv[1])
BASE = os.environ["BASE"]
CODINGS = ("gzip", "br", "zstd")


def head(response: Any) -> None:
    print("  ", response.http_version, response.status_code, response.reason_phrase, str(response.url))
    for name, value in response.headers.raw:
        print("  <", name, value)


async def whole(coming: Any) -> None:
    response = await coming
    head(response)
    print("  ", response.encoding, len(response.content), response.text[:400], response.num_bytes_downloaded)
    print("  ", [(hop.status_code, str(hop.url)) for hop in response.history], dict(response.cookies))


async def streamed(client: Any, path: str, how: str, *size: int, **options: Any) -> None:
    async with client.stream("GET", path, **options) as response:
        head(response)
        async for piece in getattr(response, how)(*size):
            print("  +", len(piece), piece[:60])
        print("  ", response.is_closed, response.is_stream_consumed, response.num_bytes_downloaded)


async def body() -> AsyncIterator[bytes]:
    for number in range(5):
        yield b"piece %d;" % number


async def uploaded(client: Any) -> None:
    response = await client.post("/echo", files={"f": ("name.txt", b"data", "text/plain")})
    print("  ", response.status_code, len(response.content))


async def abandoned(client: Any) -> None:
    async with client.stream("GET", "/steady") as response:
        async for piece in response.aiter_raw():
            print("  +", piece)
            break
    print("  ", response.is_closed, response.is_stream_consumed)


async def never_read(client: Any) -> None:
    response = await client.send(client.build_request("GET", "/steady"), stream=True)
    head(response)
    await response.aclose()
    print("  ", response.is_closed)


async def gate(client: Any) -> None:
    async with client.stream("GET", "/gate") as response:
        async for piece in response.aiter_raw():
            print("  +", piece)
            print("  ", (await client.post("/seen")).text)


async def together(client: Any) -> None:
    paths = ["/sized", "/chunked", "/status/404", "/coded/gzip", "/coded/zstd/chunked", "/nothing"]
    for response in await asyncio.gather(*(client.get(path) for path in paths)):
        print("  ", response.status_code, len(response.content))


async def cancelled(client: Any) -> None:
    try:
        async with asyncio.timeout(0.2):
            await client.get("/slow")
    except TimeoutError as error:
        print("  ", type(error.__cause__).__name__, "after", type(error).__name__)


async def main() -> None:
    async with library.AsyncClient(base_url=BASE, headers={"accept-encoding": "gzip, br, zstd"}) as client:
        await aattempt("sized", lambda: whole(client.get("/sized")))
        await aattempt("chunked", lambda: whole(client.get("/chunked")))
        await aattempt("chunked, raw", lambda: streamed(client, "/chunked", "aiter_raw"))
        await aattempt("chunked, in pieces", lambda: streamed(client, "/chunked", "aiter_bytes", 64))
        await aattempt("chunked, lines", lambda: streamed(client, "/chunked", "aiter_lines"))
        for coding in CODINGS:
            path = f"/coded/{coding}"
            await aattempt(coding, lambda path=path: whole(client.get(path)))
            await aattempt(coding + " chunked", lambda path=path: streamed(client, path + "/chunked", "aiter_bytes"))
            await aattempt(coding + " raw", lambda path=path: streamed(client, path + "/chunked", "aiter_raw"))
        for path in ("/empty", "/nothing", "/status/404", "/status/418", "/status/500"):
            await aattempt(path, lambda path=path: whole(client.get(path)))
        await aattempt("head", lambda: whole(client.head("/sized")))
        await aattempt("json", lambda: whole(client.put("/echo?q=1&q=%20b", json={"a": ["ä", None]})))
        await aattempt("form", lambda: whole(client.post("/echo", data={"a": "1", "b": "ä &"})))
        await aattempt("generator", lambda: whole(client.post("/echo", content=body())))
        await aattempt("files", lambda: uploaded(client))
        await aattempt("redirect", lambda: whole(client.get("/redirect/302/2", follow_redirects=True)))
        await aattempt("cookies", lambda: whole(client.get("/cookies")))
        await aattempt("cookies sent", lambda: whole(client.get("/echo")))
        await aattempt("reset before the body", lambda: streamed(client, "/reset/head", "aiter_raw"))
        await aattempt("reset in a chunked body", lambda: streamed(client, "/reset/chunked", "aiter_raw"))
        await aattempt("reset in a sized body", lambda: streamed(client, "/reset/sized", "aiter_raw"))
        await aattempt("reset, read whole", lambda: whole(client.get("/reset/chunked")))
        await aattempt("dropped", lambda: whole(client.get("/drop")))
        await aattempt("slow", lambda: whole(client.get("/slow", timeout=0.2)))
        await aattempt("stalls", lambda: streamed(client, "/stalls", "aiter_raw", timeout=0.3))
        await aattempt("cancelled", lambda: cancelled(client))
        await aattempt("refused", lambda: whole(client.get("http://127.0.0.1:9/")))
        await aattempt("abandoned", lambda: abandoned(client))
        await aattempt("never read", lambda: never_read(client))
        await aattempt("gate", lambda: gate(client))
        await aattempt("together", lambda: together(client))
        await aattempt("after all that", lambda: whole(client.get("/sized")))
    await aattempt("a closed client", lambda: whole(client.get("/sized")))


asyncio.run(main())
