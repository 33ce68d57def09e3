"""One event of a tape as bytes put together: the request as it was sent, and what came back, as far as it came."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, NamedTuple

import msgspec

from reenact.providers import Unreadable, Wire
from reenact.providers.encoding import LIMIT, dechunk, decode_content
from reenact.tape.event import Failed, Kind, Part, PartKind
from reenact.tape.recording import Event
from reenact.trajectory.entry import Entry, Place, Trouble

Headers = tuple[tuple[str, str], ...]

_LET_GO = (PartKind.ABANDONED, PartKind.GIVEN_UP, PartKind.CANCELLED)
_ROOM, _ROOM_EACH = 1 << 30, 100  # bytes, and those for each that came: text is packed to a tenth
_LOWEST_ERROR = 400
_TYPED = 1000


class Head(msgspec.Struct, frozen=True):
    """A response before its body. `framing` is "chunked" when HTTP/1.1 framing still is on the body.

    `read` is set when it had been decoded already: from how many bytes.
    """

    status: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)] = 0
    headers: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    version: str = ""
    framing: str = ""
    read: int | None = None


_head = msgspec.json.Decoder(Head).decode
_headers = msgspec.json.Decoder(tuple[tuple[str, str], ...]).decode


class Fault(NamedTuple):
    """Why an exchange is not what it should be: one word, and in words."""

    type: str
    message: str


class Room:
    """How much the bodies of a run may come to, all together, without their codings: a tape may be a bomb."""

    def __init__(self) -> None:
        self._left = _ROOM

    def decoded(self, headers: Headers, body: bytes) -> bytes | Unreadable:
        """A body without content coding."""
        self._left += len(body) * _ROOM_EACH
        plain = decode_content(headers, body, limit=max(0, min(self._left, LIMIT)))
        self._left -= len(plain) if isinstance(plain, bytes) and plain is not body else 0
        return plain


class Exchange:
    """An event with the bytes of both directions. `sent` is the body of its request as on the wire.

    Exchanges of one run share one `room`.
    """

    def __init__(self, event: Event, sent: bytes, fault: Fault | None = None, room: Room | None = None) -> None:
        self.event = event
        self.sent = sent
        self.fault = fault
        self._room = room or Room()
        self.method, _, self.url = event.name.partition(" ")

    @cached_property
    def request_headers(self) -> Headers:
        """The headers of the request; none where they cannot be read."""
        try:
            return _headers(self.event.head) if self.event.head else ()
        except (ValueError, RecursionError):
            return ()

    @cached_property
    def head(self) -> Head | None:
        """The response's head; None where no response came."""
        for _, part in self.event.parts:
            if part.kind == PartKind.HEAD:
                try:
                    return _head(part.data)
                except (ValueError, RecursionError):
                    return None
        return None

    @property
    def status(self) -> int | None:
        """The HTTP status; None where no response came."""
        return self.head.status if self.head is not None else None

    @property
    def chunks(self) -> tuple[Part, ...]:
        """The pieces of the response's body, as the agent got them."""
        return tuple(part for _, part in self.event.parts if part.kind == PartKind.CHUNK)

    @cached_property
    def received(self) -> bytes:
        """The response's body as it came off the wire."""
        return b"".join(part.data for part in self.chunks)

    @cached_property
    def question(self) -> bytes | Unreadable:
        """The request's body without content coding."""
        return self._room.decoded(self.request_headers, self.sent)

    @cached_property
    def answer(self) -> bytes | Unreadable:
        """The response's body without framing and content coding, as far as it came."""
        if self.head is None:
            return b""
        if self.event.left_out:
            return Unreadable(f"its {self.event.received:,} bytes are too many to be read here", self.received)
        if self.head.read is not None:
            return self.received
        body = dechunk(self.received) if self.head.framing == "chunked" else self.received
        return self._room.decoded(self.head.headers, body)

    @property
    def wire(self) -> Wire:
        """The exchange as the readers of the providers want it; bodies that cannot be decoded are empty."""
        question, answer = self.question, self.answer
        return Wire(
            self.method,
            self.url,
            self.request_headers,
            question if isinstance(question, bytes) else b"",
            self.status,
            self.head.headers if self.head is not None else (),
            answer if isinstance(answer, bytes) else b"",
        )

    @property
    def failed(self) -> Failed | None:
        """The exception that the agent got."""
        return self.event.parts[-1][1].failed if self.event.parts else None

    def trouble(self) -> Trouble | None:
        """What went wrong, as far as it shows without knowing what the bytes mean."""
        number, failed = self.event.id, self.failed
        if failed is not None:
            return Trouble(number, self.status, class_of(failed), message_of(failed))
        if self.status is not None and self.status >= _LOWEST_ERROR:
            return Trouble(number, self.status, self.head.reason if self.head is not None else "", "")
        if self.fault is not None:
            return Trouble(number, None, self.fault.type, self.fault.message)
        if not self.event.complete and not self._stays_open:
            return Trouble(number, None, "unfinished", "the tape ends before the answer does")
        if self.let_go and self.head is None and self.event.kind is Kind.HTTP:
            return Trouble(number, None, "given up", "the agent did not wait for the answer")
        return None

    @property
    def _stays_open(self) -> bool:
        """Whether it is a connection that was made, and need not have an end."""
        return self.event.kind is Kind.SOCKET and bool(self.event.parts)

    @property
    def let_go(self) -> bool:
        """Whether the agent let go of the answer before its end."""
        return bool(self.event.parts) and self.event.parts[-1][1].kind in _LET_GO

    @property
    def _typed(self) -> str:
        if self.event.kind is not Kind.STDIN:
            return ""
        data = b"".join(part.data[: 4 * _TYPED] for _, part in self.event.parts if part.kind == PartKind.VALUE)
        return data.decode("utf-8", "replace")[:_TYPED]

    def entry(self) -> Entry:
        """The event as one line."""
        event, site = self.event, self.event.site
        return Entry(
            event=event.id,
            lane=event.lane,
            kind=event.kind.name.lower(),
            name=event.name,
            began=event.at,
            ended=event.ended if event.complete else None,
            status=self.status,
            sent=len(self.sent),
            received=sum(len(part.data) for part in self.chunks) + self.event.left_out,
            value=self._typed,
            trouble=self.trouble(),
            site=Place(site.place, site.file, site.line) if site is not None else None,
        )


def class_of(failed: Failed) -> str:
    """The class of an exception, with its module where that says something."""
    return failed.name if failed.module in ("builtins", "__main__") else f"{failed.module}.{failed.name}"


def message_of(failed: Failed) -> str:
    """What an exception says; that of its cause where it says nothing itself."""
    said = ", ".join(str(value) for value in failed.args if value not in ("", None))
    if said or failed.cause is None:
        return said
    return message_of(failed.cause)
