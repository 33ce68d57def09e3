"""Sends the requests of recorded cassettes through the official SDK of their provider; prints all that comes back.

    python cassettes.py through_openai cassettes.json

The file holds {"sync": [request, ...], "async": [request, ...]}. BASE says where the server is.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from showing import show_error


@dataclass
class Asked:
    """A recorded request: `body` is what its JSON holds, None when it is no JSON; `raw` is its bytes."""

    method: str
    path: str
    query: str
    kind: str
    raw: bytes
    body: Any = None

    @classmethod
    def read(cls, record: dict[str, str]) -> Asked:
        raw = base64.b64decode(record["raw"])
        asked = cls(record["method"], record["path"], record["query"], record["kind"], raw)
        with suppress(ValueError):
            asked.body = json.loads(raw)
        return asked

    @property
    def url(self) -> str:
        return self.path + (f"?{self.query}" if self.query else "")


async def send_all(through: Any, requests: list[Asked]) -> None:
    async with through.open_async(os.environ["BASE"]) as client:
        for number, asked in enumerate(requests):
            print("async", number, asked.method, asked.url)
            try:
                await through.asend(client, asked)
            except Exception as error:
                show_error(error)


def main() -> None:
    through = importlib.import_module(sys.argv[1])
    work = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    with through.open_sync(os.environ["BASE"]) as client:
        for number, record in enumerate(work["sync"]):
            asked = Asked.read(record)
            print("sync", number, asked.method, asked.url)
            try:
                through.send(client, asked)
            except Exception as error:
                show_error(error)
    asyncio.run(send_all(through, [Asked.read(record) for record in work["async"]]))


main()
