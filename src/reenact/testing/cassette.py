"""Recorded exchanges: one JSON object per line, each a cassette of a provider's real traffic.

    {"cassette": name, "provider": ..., "exchanges": [{"request": {...}, "response": {...}}, ...]}

A message has `body` (text) or `body_b64` (base64 of the bytes).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from reenact.testing.response import Headers


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, of which only what it asked for is kept, and the response to it."""

    method: str
    target: str
    status: int
    headers: Headers
    body: bytes

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Exchange:
        """From its JSON form; raises ValueError when it is not one."""
        try:
            request, response = record["request"], record["response"]
            url = urlsplit(request["url"])
            target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
            headers = tuple((str(name), str(value)) for name, value in response["headers"].items())
            return cls(str(request["method"]), target, int(response["status"]), headers, _body(response))
        except (KeyError, TypeError, AttributeError) as error:
            message = f"not a recorded exchange: {type(error).__name__}: {error}"
            raise ValueError(message) from error

    def header(self, name: str) -> str:
        """The value of a response header by its lower-case name, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True, slots=True)
class Cassette:
    """The exchanges of one recorded run, in order."""

    name: str
    provider: str
    exchanges: tuple[Exchange, ...]


def read_cassettes(path: str | Path) -> Iterator[Cassette]:
    """The cassettes of a file, one by one; raises ValueError with the line that is not one."""
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                exchanges = tuple(Exchange.read(each) for each in record["exchanges"])
                cassette = Cassette(str(record["cassette"]), str(record["provider"]), exchanges)
            except (KeyError, TypeError, ValueError) as error:
                message = f"{path}:{number}: {error}"
                raise ValueError(message) from error
            yield cassette


def address(method: str, target: str) -> tuple[str, str]:
    """What a request is matched by: percent-encoding of the path does not count, the query does."""
    path, mark, query = target.partition("?")
    return method, unquote(path) + mark + query


def _body(message: Mapping[str, Any]) -> bytes:
    if "body_b64" in message:
        return base64.b64decode(message["body_b64"])
    return str(message.get("body", "")).encode()
