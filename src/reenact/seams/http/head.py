"""A response's head, as it stands on tape."""

from __future__ import annotations

import msgspec


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """A response before its body. `framing` is "chunked" when the body's chunks still are in HTTP/1.1 framing.

    `read` is set when the body came with it, read and decoded already, as some transports of httpx give it: from how
    many bytes on the wire.
    """

    status: int
    headers: list[tuple[str, str]]
    reason: str = ""
    version: str = "HTTP/1.1"
    framing: str = ""
    verified: bool = True
    read: int | None = None


encode_head = msgspec.json.Encoder().encode
decode_head = msgspec.json.Decoder(Head).decode
