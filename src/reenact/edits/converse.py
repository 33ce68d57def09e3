"""Answers of Bedrock's Converse and ConverseStream."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.edits.decision import END, LENGTH, REFUSAL, TOOLS, Call
from reenact.edits.framing import Event, Framing, dumped
from reenact.edits.grouping import grouped, numbered, with_field
from reenact.edits.shape import Block, Ids, object_of, pieces, portions
from reenact.errors import EditError
from reenact.providers.loose import NOTHING, Doc, as_json, doc, docs, text

STOPS = {END: "end_turn", TOOLS: "tool_use", LENGTH: "max_tokens", REFUSAL: "content_filtered"}
OTHER_STOPS = (
    "stop_sequence",
    "guardrail_intervened",
    "malformed_model_output",
    "malformed_tool_use",
    "model_context_window_exceeded",
)


class _Converse:
    stops = STOPS
    other_stops = OTHER_STOPS
    ids = Ids("tooluse_", 22)
    blocks: list[Block]
    stop: str


class Plain(_Converse):
    """One JSON object."""

    def __init__(self, body: Doc) -> None:
        self._body = body
        self._message = doc(body, "output", "message")
        if not self._message:
            raise EditError("the recorded answer has no message to edit")
        self.stop = text(body, "stopReason")
        self.blocks = [_block(raw) for raw in docs(self._message, "content")]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        return Block({"text": words}, words)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        use = {**_use(like), "toolUseId": call.id, "name": call.name, "input": object_of(call)}
        return Block({"toolUse": use}, call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        message = {**self._message, "content": [block.raw for block in blocks]}
        return [dumped({**self._body, "output": {"message": message}, "stopReason": stop})]


class Streamed(_Converse):
    """A stream of events. A block of words has no beginning of its own: its first delta is that."""

    def __init__(self, framing: Framing, events: Sequence[Event]) -> None:
        self._framing = framing
        self._found = grouped(events, "contentBlockIndex")
        end = next((event.doc for event in self._found.after if event.name == "messageStop"), None)
        if end is None:
            raise EditError("the recorded answer is not whole: its stream has no messageStop")
        self.stop = text(end, "stopReason")
        self.blocks = [_streamed(group) for group in self._found.groups]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        count = _deltas(like) or portions(words)
        return Block(self._events(NOTHING, [{"text": piece} for piece in pieces(words, count) or [""]]), words)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        object_of(call)
        start = {**_begun(like), "toolUseId": call.id, "name": call.name}
        given = pieces(call.arguments, _deltas(like) or portions(call.arguments))
        return Block(self._events(start, [{"toolUse": {"input": piece}} for piece in given]), call=call)

    def _events(self, start: Doc, deltas: Sequence[Doc]) -> list[Event]:
        place: Doc = {"contentBlockIndex": 0}
        begun: list[tuple[str, Doc]] = [("contentBlockStart", {**place, "start": {"toolUse": start}})] if start else []
        said: list[tuple[str, Doc]] = [("contentBlockDelta", {**place, "delta": delta}) for delta in deltas]
        return [self._framing.event(name, doc) for name, doc in (*begun, *said, ("contentBlockStop", place))]

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        events = list(self._found.before)
        for at, block in enumerate(blocks):
            events += numbered(self._framing, block.raw, "contentBlockIndex", at)
        events += [with_field(self._framing, event, "stopReason", stop) for event in self._found.after]
        return self._framing.chunks(events)


def _use(block: Block | None) -> Doc:
    return doc(block.raw, "toolUse") if block is not None else NOTHING


def _block(raw: Doc) -> Block:
    if isinstance(words := raw.get("text"), str):
        return Block(raw, words)
    use = doc(raw, "toolUse")
    if use and text(use, "type") != "server_tool_use":
        return Block(raw, call=Call(text(use, "name"), as_json(use.get("input")), text(use, "toolUseId")))
    return Block(raw)


def _streamed(events: list[Event]) -> Block:
    use = _begun(Block(events))
    deltas = [doc(event.doc, "delta") for event in events if event.name == "contentBlockDelta"]
    if use and text(use, "type") != "server_tool_use":
        arguments = "".join(text(doc(delta, "toolUse"), "input") for delta in deltas) or "{}"
        return Block(events, call=Call(text(use, "name"), arguments, text(use, "toolUseId")))
    if deltas and all("text" in delta for delta in deltas):
        return Block(events, "".join(text(delta, "text") for delta in deltas))
    return Block(events)


def _begun(block: Block | None) -> Doc:
    """The call that a streamed block begins with."""
    events: list[Event] = block.raw if block is not None else []
    starts = (doc(event.doc, "start", "toolUse") for event in events if event.name == "contentBlockStart")
    return next(starts, NOTHING)


def _deltas(block: Block | None) -> int:
    events: list[Event] = block.raw if block is not None else []
    return sum(event.name == "contentBlockDelta" for event in events)
