"""A plain HTTP/1.1 server on this machine, for exchanges that are long or many: it holds none of them."""

from __future__ import annotations

import asyncio
import hashlib
import random
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

BLOCK = 1 << 20


class Server:
    """Answers by path, as `_answer` says. `meanwhile` is called with the number of each request, from 1, before that."""

    def __init__(self, meanwhile: Callable[[int], None] = lambda _: None) -> None:
        self._meanwhile = meanwhile
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.requests = 0

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=4096)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def end() -> None:
            self._server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.split(b"\r\n") if line.lower()[:15] == b"content-length:"), 0
                )
                await self._answer(head.split(b" ", 2)[1].decode(), length, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, length: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """`/down/N`: N bytes of noise. `/up`: the digest of what was sent. `/late/S/X`: X, after S seconds. Else "ok"."""
        digest = hashlib.sha256()
        while length:
            data = await reader.read(min(length, BLOCK))
            length -= len(data)
            digest.update(data)
        self.requests += 1
        self._meanwhile(self.requests)
        match path.split("/")[1:]:
            case ["down", size]:
                await _noise(writer, int(size))
                return
            case ["up"]:
                body = digest.hexdigest().encode()
            case ["late", seconds, said]:
                await asyncio.sleep(float(seconds))
                body = said.encode()
            case _:
                body = b"ok"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()


async def _noise(writer: asyncio.StreamWriter, size: int) -> None:
    """Bytes that nothing packs, the same each time."""
    noise = random.Random(size)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
    for at in range(0, size, BLOCK):
        writer.write(noise.randbytes(min(BLOCK, size - at)))
        await writer.drain()
