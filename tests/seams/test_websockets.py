"""WebSockets of the libraries that agents use: each message comes back in replay, and what is sent is compared."""

from __future__ import annotations

import json
import logging
import threading
from types import TracebackType
from typing import Self

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from reenact.testing.address import Address
from tests.runs import Bench, settings

TYPED = """
    import os, json
    BASE = os.environ["BASE"].replace("http:", "ws:")
"""
WEBSOCKETS = """
    import asyncio, websockets
    async def talk(number):
        async with websockets.connect(f"{BASE}/talk/{number}") as link:
            print(number, await link.recv())
            for said in ("one", "two"):
                await link.send(json.dumps({"type": said}))
                async for message in link:
                    print(number, message)
                    if "done" in message:
                        break
            await link.send(bytes(5000))
            print(number, [await link.recv() for _ in range(3)])
            try:
                await asyncio.wait_for(link.recv(), 0.05)
            except TimeoutError:
                print(number, "late")
            print(type(await (await link.ping())))
            await link.send(json.dumps({"type": "bye"}))
            try:
                await link.recv()
            except websockets.ConnectionClosed as error:
                print(number, repr(error), link.close_code)
    async def main():
        await asyncio.gather(*map(talk, range(3)))
        async with websockets.connect(f"{BASE}/kept", ping_interval=0.05) as link:
            print(await link.recv())
            await asyncio.sleep(0.2)
    asyncio.run(main())
"""
SYNC = """
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect
    with connect(f"{BASE}/sync") as link:
        print(link.recv())
        link.send(json.dumps({"type": "one"}))
        for message in link:
            print(message)
            if "done" in message:
                break
        try:
            link.recv(timeout=0.05)
        except TimeoutError as error:
            print(repr(error))
        link.send(json.dumps({"type": "bye"}))
        try:
            link.recv()
        except ConnectionClosed as error:
            print(repr(error))
"""
AIOHTTP = """
    import asyncio, aiohttp
    async def main():
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{BASE}/aiohttp") as link:
            print((await link.receive()).data)
            await link.send_json({"type": "one"})
            async for message in link:
                print(message.data)
                if "done" in message.data:
                    break
            await link.send_bytes(bytes(300))
            print([(await link.receive()).data for _ in range(3)])
            await link.send_json({"type": "bye"})
            print((await link.receive()).type, link.close_code)
    asyncio.run(main())
"""
HTTPX2 = """
    import httpx2
    with httpx2.Client() as client, client.websocket(f"{BASE}/httpx2") as link:
        print(link.receive_text())
        link.send_json({"type": "one"})
        print([link.receive_text() for _ in range(3)])
        try:
            link.receive_text(timeout=0.05)
        except TimeoutError as error:
            print(repr(error))
        link.send_json({"type": "bye"})
        try:
            link.receive_text()
        except Exception as error:
            print(repr(error))
"""
HTTPX2_ASYNC = """
    import asyncio, httpx2
    async def main():
        async with httpx2.AsyncClient() as client, client.websocket(f"{BASE}/httpx2") as link:
            print(await link.receive_text())
            await link.send_json({"type": "one"})
            print([await link.receive_text() for _ in range(3)])
            await link.send_json({"type": "bye"})
            try:
                await link.receive_text()
            except Exception as error:
                print(repr(error))
    asyncio.run(main())
"""
REALTIME = """
    import asyncio, openai
    async def main():
        client = openai.AsyncOpenAI(websocket_base_url=f"{BASE}/v1")
        async with client.realtime.connect(model="gpt-realtime") as link:
            print((await link.recv()).type)
            await link.send({"type": "response.create"})
            async for event in link:
                print(event.type, getattr(event, "delta", ""))
                if event.type == "response.done":
                    break
    asyncio.run(main())
    with openai.OpenAI(websocket_base_url=f"{BASE}/v1").realtime.connect(model="gpt-realtime") as link:
        print(link.recv().type)
        link.send({"type": "response.create"})
        print([link.recv().type for _ in range(3)])
"""
EVERY = {
    "websockets": WEBSOCKETS,
    "websockets.sync": SYNC,
    "aiohttp": AIOHTTP,
    "httpx2": HTTPX2,
    "httpx2 async": HTTPX2_ASYNC,
    "openai realtime": REALTIME,
}


class Talker(Address):
    """Greets with the path; answers each message with two pieces and an end, and `bye` by closing."""

    def __init__(self, port: int = 0) -> None:
        self.heard: list[str | bytes] = []
        quiet = logging.getLogger("tests.talker")
        quiet.disabled = True
        self._server = serve(self._talk, "127.0.0.1", port, logger=quiet)
        self._port = int(self._server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.serve_forever)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    def _talk(self, link: ServerConnection) -> None:
        path = link.request.path if link.request is not None else ""
        link.send(json.dumps({"type": "session.created", "path": path}))
        try:
            for message in link:
                self.heard.append(message)
                asked = json.loads(message) if isinstance(message, str) else {"type": len(message)}
                if asked["type"] == "bye":
                    link.close(4001, "bye then")
                    return
                for piece in ("a", "b"):
                    link.send(json.dumps({"type": "response.output_text.delta", "delta": f"{asked['type']} {piece}"}))
                link.send(json.dumps({"type": "response.done"}))
        except ConnectionClosed:
            return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", EVERY.values(), ids=EVERY)
def test_messages_come_back(bench: Bench, program: str) -> None:
    with Talker() as server:
        run = bench.record(TYPED + program, env=settings(server))
        heard = len(server.heard)
    assert run.status == 0, run.stderr.decode()
    assert b"session.created" in run.stdout
    with Talker(server.port) as again:
        run.reproduced()
        assert heard
        assert again.heard == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "program", [WEBSOCKETS, SYNC, AIOHTTP, HTTPX2], ids=["websockets", "sync", "aiohttp", "httpx2"]
)
def test_a_message_that_is_sent_otherwise_is_a_divergence(bench: Bench, program: str) -> None:
    with Talker() as server:
        run = bench.record(TYPED + program, env=settings(server))
    changed = (TYPED + program).replace('"one"', '"six"')
    bench.write(changed)
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert first["what"] == "mismatch", first
    line = changed.splitlines()[first["site"]["line"] - 1]
    assert ".send" in line, first
