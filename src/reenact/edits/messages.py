"""Answers of Anthropic's Messages, also as Bedrock's InvokeModel and Vertex carry them."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.edits.decision import END, LENGTH, REFUSAL, TOOLS, Call
from reenact.edits.framing import Event, Framing, dumped
from reenact.edits.grouping import grouped, numbered
from reenact.edits.shape import Block, Ids, object_of, pieces, portions
from reenact.errors import EditError
from reenact.providers.loose import NOTHING, Doc, as_json, doc, docs, text

STOPS = {END: "end_turn", TOOLS: "tool_use", LENGTH: "max_tokens", REFUSAL: "refusal"}
OTHER_STOPS = ("stop_sequence", "pause_turn", "model_context_window_exceeded")


class _Messages:
    stops = STOPS
    other_stops = OTHER_STOPS
    ids = Ids("toolu_01", 22)
    blocks: list[Block]
    stop: str


class Plain(_Messages):
    """One JSON object."""

    def __init__(self, body: Doc) -> None:
        if "content" not in body:
            raise EditError("the recorded answer has no content to edit")
        self._body = body
        self.stop = text(body, "stop_reason")
        self.blocks = [_block(raw) for raw in docs(body, "content")]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        return Block(_said(like.raw if like is not None else NOTHING, words), words)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        return Block({**_asked(like.raw if like is not None else NOTHING, call), "input": object_of(call)}, call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        new = {"content": [block.raw for block in blocks], **_stopping(self._body, stop)}
        return [dumped({**self._body, **new})]


class Streamed(_Messages):
    """A stream of events."""

    def __init__(self, framing: Framing, events: Sequence[Event]) -> None:
        self._framing = framing
        self._found = grouped(events, "index")
        end = next((event.doc for event in self._found.after if event.name == "message_delta"), None)
        if end is None:
            raise EditError("the recorded answer is not whole: its stream has no message_delta")
        self.stop = text(doc(end, "delta"), "stop_reason")
        self.blocks = [_streamed(group) for group in self._found.groups]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        start = _said(_start(like), "")
        count = _deltas(like, "text_delta") or portions(words)
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(words, count)]
        return Block(self._events(start, deltas), words)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        object_of(call)
        start = {**_asked(_start(like), call), "input": {}}
        count = _deltas(like, "input_json_delta") or portions(call.arguments)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(call.arguments, count)]
        return Block(self._events(start, deltas), call=call)

    def _events(self, start: Doc, deltas: Sequence[Doc]) -> list[Event]:
        docs: list[Doc] = [
            {"type": "content_block_start", "index": 0, "content_block": start},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0},
        ]
        return [self._framing.event(str(doc["type"]), doc) for doc in docs]

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        events = list(self._found.before)
        for at, block in enumerate(blocks):
            events += numbered(self._framing, block.raw, "index", at)
        for event in self._found.after:
            if event.doc is not None and event.name == "message_delta" and stop != self.stop:
                delta = {**doc(event.doc, "delta"), **_stopping(doc(event.doc, "delta"), stop)}
                event = self._framing.event(event.name, {**event.doc, "delta": delta})  # noqa: PLW2901  the same one, edited
            events.append(event)
        return self._framing.chunks(events)


def _block(raw: Doc) -> Block:
    match text(raw, "type"):
        case "text":
            return Block(raw, text(raw, "text"))
        case "tool_use":
            return Block(raw, call=Call(text(raw, "name"), as_json(raw.get("input")), text(raw, "id")))
        case _:
            return Block(raw)


def _streamed(events: list[Event]) -> Block:
    start = _start(Block(events))
    match text(start, "type"):
        case "text":
            return Block(events, text(start, "text") + _joined(events, "text"))
        case "tool_use":
            arguments = _joined(events, "partial_json") or as_json(start.get("input"))
            return Block(events, call=Call(text(start, "name"), arguments, text(start, "id")))
        case _:
            return Block(events)


def _start(block: Block | None) -> Doc:
    """What a streamed block begins with."""
    events: list[Event] = block.raw if block is not None else []
    return next((doc(event.doc, "content_block") for event in events if event.name == "content_block_start"), NOTHING)


def _joined(events: list[Event], field: str) -> str:
    return "".join(text(doc(event.doc, "delta"), field) for event in events)


def _deltas(block: Block | None, kind: str) -> int:
    events: list[Event] = block.raw if block is not None else []
    return sum(text(doc(event.doc, "delta"), "type") == kind for event in events)


def _said(like: Doc, words: str) -> Doc:
    kept = {key: value for key, value in like.items() if key != "citations" or value is None}
    return {"type": "text", **kept, "text": words}


def _asked(like: Doc, call: Call) -> dict[str, object]:
    return {"type": "tool_use", **like, "id": call.id, "name": call.name}


def _stopping(was: Doc, stop: str) -> Doc:
    if stop == was.get("stop_reason"):
        return NOTHING
    return {"stop_reason": stop, "stop_sequence": None}
