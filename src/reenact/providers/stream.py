"""A streamed answer as a row of JSON objects, whichever framing carried them."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass

from reenact.providers import eventstream, sse
from reenact.providers.call import Unreadable
from reenact.providers.loose import MOST, Doc, load, load_doc, text, too_large

_LINES = 1 << 20
_FIELDS = (b":", b"data", b"event", b"id", b"retry", b"\xef\xbb\xbf")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One object of a stream. `name` is its event type, empty where the framing has none; `failed` marks an error."""

    name: str
    doc: Doc
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """The readable chunks in order. `fault` holds what could not be read: the end of a cut stream, say."""

    chunks: tuple[Chunk, ...]
    fault: Unreadable | None = None


def stream_of(content_type: str, body: bytes) -> Stream | None:
    """Take the framing off a streamed body; None if it is not streamed."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/vnd.amazon.eventstream":
        return _from_frames(body)
    # Some proxies call a plain answer a stream, and some a stream nothing at all.
    if (kind == "text/event-stream" and not body.startswith(b"{")) or body.startswith((b"data:", b"event:", b":")):
        return _from_sse(body)
    return None


def _from_sse(body: bytes) -> Stream:
    if len(body) > _LINES and body.count(b"\n") + body.count(b"\r") > _LINES:
        return Stream((), Unreadable(f"more than {_LINES:,} lines", body))
    chunks: list[Chunk] = []
    fault: Unreadable | None = None
    for event in sse.events(body):
        if event.data.strip() == b"[DONE]":
            continue
        try:
            doc = load_doc(event.data)
        except ValueError as problem:
            reason = f"event {len(chunks)}: {problem if event.whole else 'cut'}"
            fault = fault or Unreadable(reason, event.data)
            continue
        failed = event.name == "error" or doc.get("type") == "error" or bool(doc.get("error"))
        chunks.append(Chunk(event.name, doc, failed))
    if not chunks and fault is None and body.strip() and not body.startswith(_FIELDS):
        fault = Unreadable("no server-sent events", body)
    return Stream(tuple(chunks), fault)


def _from_frames(body: bytes) -> Stream:
    decoded = eventstream.frames(body)
    chunks: list[Chunk] = []
    fault = Unreadable(decoded.fault, body[decoded.end :]) if decoded.fault else None
    for frame in decoded.frames:
        if frame.word(":message-type") == "error":
            error = {"__type": frame.word(":error-code"), "message": frame.word(":error-message")}
            chunks.append(Chunk("error", error, failed=True))
            continue
        try:
            doc = load_doc(frame.payload)
            if isinstance(inner := doc.get("bytes"), str):
                # InvokeModelWithResponseStream wraps the model's own events in base64.
                doc = load_doc(b64decode(inner))
        except ValueError as problem:
            fault = fault or Unreadable(f"frame {len(chunks)}: {problem}", frame.payload)
            continue
        if kind := frame.word(":exception-type"):
            chunks.append(Chunk(kind, {"__type": kind, "message": text(doc, "message", "Message")}, failed=True))
        else:
            chunks.append(Chunk(frame.word(":event-type"), doc))
    return Stream(tuple(chunks), fault)


def from_array(body: bytes) -> Stream:
    """Read a stream that is one JSON array, written element by element."""
    if too_large(body):
        return Stream((), Unreadable(f"more than {MOST:,} values", body))
    try:
        value = load(body)
    except ValueError:
        return _from_cut_array(body)
    elements = value if isinstance(value, list) else [value]
    return Stream(tuple(Chunk("", item, bool(item.get("error"))) for item in elements if isinstance(item, dict)))


def _from_cut_array(body: bytes) -> Stream:
    source = body.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    chunks: list[Chunk] = []
    at = source.find("[") + 1
    while True:
        while at < len(source) and source[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(source, at)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict):
            chunks.append(Chunk("", value, bool(value.get("error"))))
    return Stream(tuple(chunks), Unreadable(f"element {len(chunks)}: cut", source[at:].encode("utf-8", "replace")))
