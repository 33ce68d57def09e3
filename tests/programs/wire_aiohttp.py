"""Everything that a program that uses aiohttp may meet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from attempts import aattempt

BASE = os.environ["BASE"]
CODINGS = ("gzip", "br", "zstd")


def head(response: Any) -> None:
    print("  ", response.version, response.status, response.reason, str(response.url), response.ok)
    for name, value in response.raw_headers:
        print("  <", name, value)


async def whole(coming: Any) -> None:
    async with coming as response:
        head(response)
        data = await response.read()
        print("  ", response.get_encoding(), len(data), (await response.text())[:400])
        print("  ", [(hop.status, str(hop.url)) for hop in response.history])
        print("  ", {name: morsel.value for name, morsel in response.cookies.items()})


async def streamed(session: Any, path: str, how: str = "iter_any", *size: int, **options: Any) -> None:
    async with session.get(path, **options) as response:
        head(response)
        whole_body = b""
        async for piece in getattr(response.content, how)(*size):
            whole_body += piece
            print("  +", len(piece))
        print("  ", len(whole_body), whole_body[:60], response.closed)


async def body() -> AsyncIterator[bytes]:
    for number in range(5):
        yield b"piece %d;" % number


async def by_hand(session: Any) -> None:
    async with session.get("/chunked") as response:
        print("  ", await response.content.readexactly(10), await response.content.readline())
        print("  ", await response.content.readuntil(b"30"), len(await response.content.read()))


async def chunks(session: Any) -> None:
    async with session.get("/steady") as response:
        async for piece, ends in response.content.iter_chunks():
            if piece:  # whether the end of the last one comes with it or as an empty one hangs on the network
                print("  +", len(piece), ends)


async def abandoned(session: Any) -> None:
    async with session.get("/steady") as response:
        async for piece in response.content.iter_any():
            print("  +", piece[:10])
            break
    print("  ", response.closed)


async def never_read(session: Any) -> None:
    response = await session.get("/steady")
    head(response)
    response.close()
    print("  ", response.closed)


async def gate(session: Any) -> None:
    async with session.get("/gate") as response:
        async for piece in response.content.iter_any():
            print("  +", piece)
            async with session.post("/seen") as thanks:
                print("  ", await thanks.text())


async def together(session: Any) -> None:
    async def one(path: str) -> tuple[int, int]:
        async with session.get(path) as response:
            return response.status, len(await response.read())

    paths = ["/sized", "/chunked", "/status/404", "/coded/gzip", "/coded/zstd/chunked", "/nothing"]
    print("  ", await asyncio.gather(*map(one, paths)))


async def cancelled(session: Any) -> None:
    try:
        async with asyncio.timeout(0.2):
            await session.get("/slow")
    except TimeoutError as error:
        print("  ", type(error.__cause__).__name__, "after", type(error).__name__)


def limit(**seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(**seconds)


async def main() -> None:
    async with aiohttp.ClientSession(BASE, headers={"accept-encoding": "gzip, br, zstd"}) as session:
        await aattempt("sized", lambda: whole(session.get("/sized")))
        await aattempt("chunked", lambda: whole(session.get("/chunked")))
        await aattempt("chunked, as it comes", lambda: streamed(session, "/steady"))
        await aattempt("chunked, in pieces", lambda: streamed(session, "/sized", "iter_chunked", 64))
        await aattempt("by hand", lambda: by_hand(session))
        await aattempt("chunks", lambda: chunks(session))
        for coding in CODINGS:
            path = f"/coded/{coding}"
            await aattempt(coding, lambda path=path: whole(session.get(path)))
            await aattempt(coding + " chunked", lambda path=path: whole(session.get(path + "/chunked")))
        for path in ("/empty", "/nothing", "/status/404", "/status/418", "/status/500"):
            await aattempt(path, lambda path=path: whole(session.get(path)))
        await aattempt("raise", lambda: whole(session.get("/status/503", raise_for_status=True)))
        await aattempt("head", lambda: whole(session.head("/sized")))
        await aattempt("json", lambda: whole(session.put("/echo?q=1&q=%20b", json={"a": ["ä", None]})))
        await aattempt("form", lambda: whole(session.post("/echo", data={"a": "1", "b": "ä &"})))
        await aattempt("generator", lambda: whole(session.post("/echo", data=body())))
        await aattempt("redirect", lambda: whole(session.get("/redirect/302/2")))
        await aattempt("redirect keeps", lambda: whole(session.post("/redirect/307/1", data=b"x")))
        await aattempt("not followed", lambda: whole(session.get("/redirect/301/1", allow_redirects=False)))
        await aattempt("cookies", lambda: whole(session.get("/cookies")))
        await aattempt("cookies sent", lambda: whole(session.get("/echo")))
        await aattempt("reset before the body", lambda: streamed(session, "/reset/head"))
        await aattempt("reset in a chunked body", lambda: streamed(session, "/reset/chunked"))
        await aattempt("reset in a sized body", lambda: streamed(session, "/reset/sized"))
        await aattempt("reset, read whole", lambda: whole(session.get("/reset/chunked")))
        await aattempt("dropped", lambda: whole(session.get("/drop")))
        await aattempt("slow", lambda: whole(session.get("/slow", timeout=limit(total=0.2))))
        await aattempt("slow to read", lambda: whole(session.get("/slow", timeout=limit(sock_read=0.2))))
        await aattempt("stalls", lambda: streamed(session, "/stalls", timeout=limit(sock_read=0.3)))
        await aattempt("cancelled", lambda: cancelled(session))
        await aattempt("refused", lambda: whole(session.get("http://127.0.0.1:9/")))
        await aattempt("abandoned", lambda: abandoned(session))
        await aattempt("never read", lambda: never_read(session))
        await aattempt("gate", lambda: gate(session))
        await aattempt("together", lambda: together(session))
        await aattempt("after all that", lambda: whole(session.get("/sized")))
    await aattempt("a closed session", lambda: whole(session.get("/sized")))


asyncio.run(main())
