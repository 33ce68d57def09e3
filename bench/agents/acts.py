"""A program that reads and writes files, starts child processes, lanes of each kind, and asks over a bare socket.

python -m bench.agents.acts OUT URL FOLDER TIMES     OUT gets JSON: ns of each, by what was done; FOLDER has the files
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from bench.agents.pace import clocks, since

BYTES = 10_000
TASKS = 20


def main(out: str, url: str, folder: str, times: str) -> None:
    """Each in turn, that many times."""
    took: dict[str, list[int]] = {}
    where, files = urlsplit(url), Path(folder)
    written = files / "written"
    written.mkdir(exist_ok=True)

    def measure(name: str, action: Callable[[], object]) -> None:
        began = clocks()
        action()
        took.setdefault(name, []).append(since(began)[0])

    def ask() -> None:
        link.sendall(b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}" % where.path.encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += link.recv(65536)

    def thread() -> None:
        one = threading.Thread(target=int)
        one.start()
        one.join()

    async def tasks() -> None:
        await asyncio.gather(*(asyncio.sleep(0) for _ in range(TASKS)))

    with socket.create_connection((where.hostname, where.port)) as link, ThreadPoolExecutor(1) as pool:
        for number in range(int(times)):
            new = files / f"{number}.txt"
            measure("a file of 10 kB, read for the first time", new.read_bytes)
            measure("the same, read again", new.read_bytes)
            measure("a file of 10 kB, written", lambda path=written / new.name: path.write_bytes(bytes(BYTES)))  # type: ignore[misc]
            measure("a child process, from start to end", lambda: subprocess.run(["true"], check=True))  # noqa: S607
            measure("a thread, from start to end", thread)
            measure("a job of a pool of threads", lambda: pool.submit(int).result())
            measure(f"{TASKS} tasks on a loop of their own", lambda: asyncio.run(tasks()))
            measure("a request and its answer over a bare socket", ask)
    Path(out).write_text(json.dumps(took), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
