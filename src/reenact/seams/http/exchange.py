"""What the HTTP seams share: how a request becomes a call, and how a response's head stands on tape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

import msgspec

from reenact.engine.call import Call
from reenact.engine.crossing import Crossing, Revive
from reenact.engine.lane import Lane
from reenact.tape.event import Kind
from reenact.tape.redact import redact_headers, redact_url


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


def request(method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> Call:
    """The call that an HTTP request makes, without what must never reach the disk."""
    return Call(Kind.HTTP, f"{method.upper()} {redact_url(url)}", redact_headers(headers), body)


def begin(lane: Lane, build: Callable[[], Call], revive: Revive) -> Crossing | None:
    """The crossing for what `build` describes; None when it cannot be described, and the call is left alone.

    That is a fault of ours: it is reported at the end of a recording, and never reaches the agent.
    """
    session = lane.session
    try:
        call = build()
    except Exception as fault:
        if session is None or not session.recording:
            raise
        session.fault(fault)
        return None
    return Crossing.begin(lane, call, revive)


def text_pairs(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Raw headers as text. Latin-1 maps every byte to one character and back."""
    flat = [*chain.from_iterable(raw)]
    texts = b"\n".join(flat).decode("latin-1").split("\n")  # all at once; no header has a line's end in it
    if len(texts) != len(flat):
        texts = [part.decode("latin-1") for part in flat]
    return [*zip(texts[::2], texts[1::2], strict=True)]


def raw_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """The inverse of `text_pairs`."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
