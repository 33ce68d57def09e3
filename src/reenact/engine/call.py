"""A call: what the agent asks of the world, before anything has answered."""

from __future__ import annotations

import msgspec

from reenact.engine.divergence import Request
from reenact.tape.event import Kind

Headers = tuple[tuple[str, str], ...]

_encode = msgspec.json.Encoder().encode
_headers_decoder = msgspec.json.Decoder(list[tuple[str, str]])


class Call(msgspec.Struct, frozen=True):
    """`name` is the method and URL of HTTP, else a label; `headers` are empty but for HTTP.

    `lasts` is how long (s) it takes, where the program says so: a sleep.
    """

    kind: Kind
    name: str
    headers: Headers = ()
    body: bytes = b""
    lasts: float | None = None

    def head(self) -> bytes:
        """The headers as they stand on tape."""
        return _encode(self.headers)


class Outgoing(msgspec.Struct, frozen=True):
    """A request as it leaves: with all that is secret in it."""

    method: str
    url: str
    headers: Headers
    body: bytes


def request_of(name: str, headers: Headers, body: bytes) -> Request:
    """The call as a request, for comparing."""
    method, _, url = name.partition(" ")
    return Request(method, url, headers, body)


def headers_of(head: bytes) -> Headers:
    """The headers that `Call.head` wrote."""
    return tuple(_headers_decoder.decode(head)) if head else ()
