"""Streams of events in which a model spells a text, as the five wire formats write them."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator
from zlib import crc32

Spell = Callable[[list[str]], list[bytes]]


def sse(*documents: object) -> list[bytes]:
    """Server-sent events."""
    return [b"data: " + json.dumps(document).encode() + b"\n\n" for document in documents]


def chat(pieces: list[str]) -> list[bytes]:
    """OpenAI Chat Completions: two choices at once, the second of which says something else."""

    def chunk(index: int, text: str) -> object:
        return {"id": "chatcmpl-1", "choices": [{"index": index, "delta": {"content": text}}]}

    both = (chunk(at, text) for piece in pieces for at, text in ((0, piece), (1, "other ")))
    return [*sse(*both), b"data: [DONE]\n\n"]


def chat_arguments(pieces: list[str]) -> list[bytes]:
    """OpenAI Chat Completions: the arguments of a tool call, which are JSON."""
    quoted = cut(json.dumps({"key": "".join(pieces)}), 3)
    calls = ([{"index": 0, "function": {"arguments": piece}}] for piece in quoted)
    return sse(*({"choices": [{"index": 0, "delta": {"tool_calls": call}}]} for call in calls))


def responses(pieces: list[str]) -> list[bytes]:
    """OpenAI Responses, which says all of it once more at the end."""
    about = {"output_index": 0, "content_index": 0}
    deltas = ({"type": "response.output_text.delta", **about, "delta": piece, "obfuscation": "x9Z"} for piece in pieces)
    return sse(*deltas, {"type": "response.output_text.done", **about, "text": "".join(pieces)})


def anthropic(pieces: list[str]) -> list[bytes]:
    """Anthropic Messages."""
    deltas = (
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}} for piece in pieces
    )
    return [b"event: content_block_delta\n" + event for event in sse(*deltas)]


def anthropic_arguments(pieces: list[str]) -> list[bytes]:
    """Anthropic Messages: the input of a tool."""
    quoted = cut(json.dumps({"key": "".join(pieces)}), 2)
    return sse(*({"index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}} for piece in quoted))


def gemini(pieces: list[str]) -> list[bytes]:
    """Gemini."""
    return sse(*({"candidates": [{"content": {"parts": [{"text": piece}]}, "index": 0}]} for piece in pieces))


def converse(pieces: list[str]) -> list[bytes]:
    """Bedrock: ConverseStream."""
    return [frame({"contentBlockIndex": 0, "delta": {"text": piece}, "p": "abcdef"}) for piece in pieces]


def invoke(pieces: list[str]) -> list[bytes]:
    """Bedrock: InvokeModelWithResponseStream, whose events are in base64."""
    inner = ({"type": "content_block_delta", "index": 0, "delta": {"text": piece}} for piece in pieces)
    return [frame({"bytes": base64.b64encode(json.dumps(one).encode()).decode(), "p": "abc"}) for one in inner]


def frame(document: object) -> bytes:
    """A frame of `application/vnd.amazon.eventstream`."""
    name, value = b":event-type", b"chunk"
    headers = bytes((len(name),)) + name + b"\7" + struct.pack(">H", len(value)) + value
    payload = json.dumps(document, separators=(",", ":")).encode()
    head = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = head + struct.pack(">I", crc32(head)) + headers + payload
    return whole + struct.pack(">I", crc32(whole))


def cut(text: str, size: int) -> list[str]:
    """In pieces of that many letters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def spelled(stream: bytes) -> Iterator[str]:
    """What is said in it, as a program puts it together: by the strings that stand in the same place."""
    texts: dict[str, str] = {}
    for document in documents(stream):
        _gather(document, "", texts)
    yield from texts.values()


def documents(stream: bytes) -> Iterator[object]:
    """The events, whose frames have to be sound."""
    if stream.startswith((b"data:", b"event:")):
        lines = (line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: {"))
        yield from map(json.loads, lines)
        return
    while stream:
        size, headers = struct.unpack_from(">II", stream)
        one, stream = stream[:size], stream[size:]
        assert crc32(one[:-4]) == int.from_bytes(one[-4:], "big")
        document = json.loads(one[12 + headers : -4])
        yield json.loads(base64.b64decode(document["bytes"])) if "bytes" in document else document


def _gather(value: object, where: str, texts: dict[str, str]) -> None:
    match value:
        case str():
            texts[where] = texts.get(where, "") + value
        case dict():
            for name, item in value.items():
                _gather(item, f"{where}/{value.get('index', '')}{name}", texts)
        case list():
            for at, item in enumerate(value):
                _gather(item, f"{where}/{at}", texts)


EVENTS = b'{"status":200,"headers":[["content-type","text/event-stream"]]}'
FRAMES = b'{"status":200,"headers":[["content-type","application/vnd.amazon.eventstream"]]}'

FORMATS: dict[str, tuple[bytes, Spell]] = {
    "chat": (EVENTS, chat),
    "chat-arguments": (EVENTS, chat_arguments),
    "responses": (EVENTS, responses),
    "anthropic": (EVENTS, anthropic),
    "anthropic-arguments": (EVENTS, anthropic_arguments),
    "gemini": (EVENTS, gemini),
    "converse": (FRAMES, converse),
    "invoke": (FRAMES, invoke),
}
"""What the answers of each say in their heads, and how they spell a text."""
