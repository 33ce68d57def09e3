"""A streamed body as events, each with the bytes that it came in, and new events in the same framing."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

from reenact.errors import EditError
from reenact.providers import eventstream, sse
from reenact.providers.loose import Doc, load_doc

_BLANK = re.compile(rb"(?:\r\n){2,}|\n{2,}|\r{2,}")
_FRAME = struct.Struct(">II")
_CRC = struct.Struct(">I")
_AROUND = _FRAME.size + 2 * _CRC.size
_STRING = 7


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `doc` is None where it carries no object: a comment, the word that ends a stream."""

    raw: bytes
    name: str
    doc: Doc | None


class Framing(Protocol):
    """How events stand in a body."""

    def split(self, body: bytes) -> list[Event]:
        """The events of a body. Raises EditError for what is cut or damaged."""

    def event(self, name: str, doc: Doc) -> Event:
        """A new event; framings without names leave the name out."""

    def chunks(self, events: Sequence[Event]) -> list[bytes]:
        """The body that holds these, in the pieces in which it may be sent."""


def dumped(doc: object) -> bytes:
    """JSON, compact, in UTF-8."""
    return json.dumps(doc, ensure_ascii=False, separators=(",", ":")).encode()


class Sse:
    """Server-sent events. New ones have the line ends of those that were there, and names where those had names."""

    def __init__(self) -> None:
        self._blank = b"\n\n"
        self._named = False

    def split(self, body: bytes) -> list[Event]:
        """See Framing."""
        found: list[Event] = []
        at = 0
        for gap in _BLANK.finditer(body):
            found.append(_sse(body[at : gap.end()]))
            self._blank = gap[0][: 4 if b"\r\n" in gap[0] else 2]
            at = gap.end()
        if at < len(body):
            found.append(_sse(body[at:] + self._blank))
        self._named = any(event.name for event in found)
        return found

    def event(self, name: str, doc: Doc) -> Event:
        """See Framing."""
        head = b"event: " + name.encode() + self._blank[: len(self._blank) // 2] if self._named else b""
        return Event(head + b"data: " + dumped(doc) + self._blank, name if self._named else "", doc)

    def chunks(self, events: Sequence[Event]) -> list[bytes]:
        """See Framing."""
        return [event.raw for event in events]


def _sse(raw: bytes) -> Event:
    read = sse.events(raw)
    if not read or read[0].data.strip() == b"[DONE]":
        return Event(raw, "", None)
    try:
        return Event(raw, read[0].name, load_doc(read[0].data))
    except ValueError as problem:
        raise EditError(f"an event of the recorded stream cannot be read: {problem}") from None


class Frames:
    """`application/vnd.amazon.eventstream`. `wrapped`: InvokeModel puts the model's own events into them, in base64."""

    def __init__(self, *, wrapped: bool = False) -> None:
        self._wrapped = wrapped

    def split(self, body: bytes) -> list[Event]:
        """See Framing."""
        read = eventstream.frames(body)
        if read.fault is not None:
            raise EditError(f"the recorded stream cannot be read: {read.fault}")
        found: list[Event] = []
        at = 0
        for frame in read.frames:
            size = _FRAME.unpack_from(body, at)[0]
            if frame.word(":message-type") != "event":
                raise EditError(f"the recorded stream ends in an error: {frame.word(':exception-type')}")
            found.append(self._read(body[at : at + size], frame))
            at += size
        return found

    def _read(self, raw: bytes, frame: eventstream.Frame) -> Event:
        try:
            doc = load_doc(frame.payload)
            if not self._wrapped:
                return Event(raw, frame.word(":event-type"), doc)
            inner = load_doc(b64decode(str(doc.get("bytes", ""))))
            return Event(raw, str(inner.get("type", "")), inner)
        except ValueError as problem:
            raise EditError(f"an event of the recorded stream cannot be read: {problem}") from None

    def event(self, name: str, doc: Doc) -> Event:
        """See Framing."""
        payload = dumped({"bytes": b64encode(dumped(doc)).decode()} if self._wrapped else doc)
        return Event(_frame("chunk" if self._wrapped else name, payload), name, doc)

    def chunks(self, events: Sequence[Event]) -> list[bytes]:
        """See Framing."""
        return [event.raw for event in events]


def _frame(kind: str, payload: bytes) -> bytes:
    """A frame as Bedrock sends them (the layout stands in `providers.eventstream`)."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    head = b"".join(
        bytes([len(name)]) + name.encode() + struct.pack(">BH", _STRING, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = _FRAME.pack(len(head) + len(payload) + _AROUND, len(head))
    start = prelude + _CRC.pack(crc32(prelude)) + head + payload
    return start + _CRC.pack(crc32(start))


class Array:
    """One JSON array, written element by element, as Gemini does without `alt=sse`."""

    def split(self, body: bytes) -> list[Event]:
        """See Framing."""
        try:
            elements = json.loads(body)
        except (ValueError, RecursionError) as problem:
            raise EditError(f"the recorded stream cannot be read: {problem}") from None
        if not all(isinstance(element, dict) for element in elements):
            raise EditError("the recorded stream cannot be read: it holds something other than objects")
        return [self.event("", element) for element in elements]

    def event(self, name: str, doc: Doc) -> Event:
        """See Framing."""
        return Event(dumped(doc), "", doc)

    def chunks(self, events: Sequence[Event]) -> list[bytes]:
        """See Framing."""
        begun = [(b",\r\n" if at else b"[") + event.raw for at, event in enumerate(events)]
        return [*begun, b"]"]
