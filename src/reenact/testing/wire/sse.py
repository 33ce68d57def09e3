"""Server-sent events and JSON bodies (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from collections.abc import Iterable

from reenact.testing.response import Headers, Response
from reenact.testing.wire.dialect import Json
from reenact.testing.wire.transcript import json_text

DONE = b"data: [DONE]\n\n"


def data(value: Json, end: str = "\n\n") -> bytes:
    """An event without a name."""
    return f"data: {json_text(value)}{end}".encode()


def named(name: str, value: Json) -> bytes:
    """An event with a name."""
    return f"event: {name}\ndata: {json_text(value)}\n\n".encode()


def stream(events: Iterable[bytes], headers: Headers) -> Response:
    """A stream in which each event is a chunk."""
    kind = ("content-type", "text/event-stream; charset=utf-8")
    return Response(200, (kind, ("cache-control", "no-cache"), *headers), tuple(events))


def document(value: Json, headers: Headers, status: int = 200) -> Response:
    """A JSON body."""
    return Response(status, (("content-type", "application/json"), *headers), json_text(value).encode())
