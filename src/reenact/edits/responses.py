"""Answers of OpenAI's Responses: items, and a numbered event for everything that happens to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from reenact.edits.decision import END, LENGTH, REFUSAL, TOOLS, Call
from reenact.edits.framing import Event, Framing, dumped
from reenact.edits.grouping import grouped, numbered, with_field
from reenact.edits.shape import Block, Ids, object_of, pieces, portions
from reenact.errors import EditError
from reenact.providers.loose import NOTHING, Doc, as_json, doc, docs, text

STOPS = {END: "completed", TOOLS: "completed", LENGTH: "max_output_tokens", REFUSAL: "completed"}
OTHER_STOPS = ("content_filter",)
_ENDS = ("response.completed", "response.incomplete")
# Calls by the type of their item: the field of what they are given, and the middle of the names of its events. Those
# without such events are of tools that OpenAI has named; what they are given is an object.
_CALLS = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
    "tool_search_call": ("arguments", ""),
    "computer_call": ("action", ""),
    "local_shell_call": ("action", ""),
    "shell_call": ("action", ""),
    "apply_patch_call": ("operation", ""),
}
_PENDING = ("queued", "in_progress")


class _Responses:
    stops = STOPS
    other_stops = OTHER_STOPS
    ids = Ids("call_", 24)
    blocks: list[Block]
    stop: str


class Plain(_Responses):
    """One JSON object. Its stop is why it is incomplete, else its status."""

    def __init__(self, body: Doc) -> None:
        self._body = body
        self.stop = _stop_of(body)
        if self.stop in _PENDING:
            raise EditError(
                "the recorded answer was still to come, as a background response; edit where it was fetched"
            )
        self.blocks = [_block(item, item) for item in docs(body, "output")]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        item = _message(self._body, words, like.raw if like is not None else NOTHING, refused=refused)
        return Block(item, words, refused=refused)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        return Block(_call(call, like.raw if like is not None else NOTHING), call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        return [dumped(_ended(self._body, [block.raw for block in blocks], stop, self.stop))]


class Streamed(_Responses):
    """A stream of events; those of one item have its number, and the last one holds all items again."""

    def __init__(self, framing: Framing, events: Sequence[Event]) -> None:
        self._framing = framing
        self._found = grouped(events, "output_index")
        end = next((event.doc for event in self._found.after if event.name in _ENDS), None)
        if end is None:
            raise EditError("the recorded answer is not whole: its stream has no response.completed")
        self._body = doc(end, "response")
        self._number: Doc = {"sequence_number": 0} if "sequence_number" in (end or NOTHING) else {}
        self.stop = _stop_of(self._body)
        self.blocks = [_block(_item(group), group) for group in self._found.groups]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        item = _message(self._body, words, _item(like.raw) if like is not None else NOTHING, refused=refused)
        kind, field = ("refusal", "refusal") if refused else ("output_text", "text")
        part = docs(item, "content")[0]
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        aside: Doc = {} if refused else {"logprobs": []}
        given = pieces(words, _deltas(like) or portions(words))
        events = [
            ("response.content_part.added", {**place, "part": {**part, field: ""}}),
            *((f"response.{kind}.delta", {**place, "delta": piece, **aside}) for piece in given),
            (f"response.{kind}.done", {**place, field: words, **aside}),
            ("response.content_part.done", {**place, "part": part}),
        ]
        return Block([*self._events(item, {"content": []}, events)], words, refused=refused)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        item = _call(call, _item(like.raw) if like is not None else NOTHING)
        field, kind = _CALLS[text(item, "type")]
        if not kind:
            return Block([*self._events(item, NOTHING, ())], call=call)
        place = {"item_id": item["id"], "output_index": 0}
        given = pieces(call.arguments, _deltas(like) or portions(call.arguments))
        events = [
            *((f"response.{kind}.delta", {**place, "delta": piece}) for piece in given),
            (f"response.{kind}.done", {**place, field: call.arguments}),
        ]
        return Block([*self._events(item, {field: ""}, events)], call=call)

    def _events(self, item: Doc, empty: Doc, inner: Sequence[tuple[str, Doc]]) -> Iterator[Event]:
        first = {"item": {**item, "status": "in_progress", **empty}, "output_index": 0}
        last = {"item": item, "output_index": 0}
        every = (("response.output_item.added", first), *inner, ("response.output_item.done", last))
        for kind, fields in every:
            yield self._framing.event(kind, {"type": kind, **fields, **self._number})

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        body = _ended(self._body, [_item(block.raw) for block in blocks], stop, self.stop)
        events = list(self._found.before)
        for at, block in enumerate(blocks):
            events += numbered(self._framing, block.raw, "output_index", at)
        for event in self._found.after:
            if event.doc is not None and event.name in _ENDS:
                kind = f"response.{body['status']}"
                events.append(self._framing.event(kind, {**event.doc, "type": kind, "response": body}))
            else:
                events.append(event)
        return self._framing.chunks([*self._ordered(events)])

    def _ordered(self, events: Sequence[Event]) -> Iterator[Event]:
        """The events numbered as they come, where they have a number."""
        number = 0
        for event in events:
            yield with_field(self._framing, event, "sequence_number", number)
            number += event.doc is not None and "sequence_number" in event.doc


def _block(item: Doc, raw: object) -> Block:
    kind = text(item, "type")
    if kind in _CALLS and text(item, "execution") != "server":
        name = text(item, "name") or kind.removesuffix("_call")
        return Block(raw, call=Call(name, as_json(item.get(_CALLS[kind][0])), text(item, "call_id", "id")))
    parts = docs(item, "content")
    if kind == "message" and text(item, "role") == "assistant":
        refused = any(text(part, "type") == "refusal" for part in parts)
        return Block(raw, "".join(text(part, "text", "refusal") for part in parts), refused=refused)
    return Block(raw)


def _item(events: Sequence[Event]) -> Doc:
    """The item that a streamed block is, as it was when it was done."""
    for kind in ("response.output_item.done", "response.output_item.added"):
        for event in events:
            if event.name == kind:
                return doc(event.doc, "item")
    return NOTHING


def _deltas(block: Block | None) -> int:
    events: list[Event] = block.raw if block is not None else []
    return sum(event.name.endswith(".delta") for event in events)


def _message(body: Doc, words: str, like: Doc, *, refused: bool) -> Doc:
    made = "msg_" + hashlib.sha256(f"{text(body, 'id')}/{words}".encode()).hexdigest()[:48]
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": words}
    if refused:
        part = {"type": "refusal", "refusal": words}
    return {"id": made, "type": "message", "role": "assistant", **like, "status": "completed", "content": [part]}


def _call(call: Call, like: Doc) -> Doc:
    """A call as an item. Where its tool is another than before, free text is for a custom tool."""
    kind = text(like, "type")
    if (text(like, "name") or kind.removesuffix("_call")) != call.name:
        kind, like = "function_call" if call.object is not None else "custom_tool_call", NOTHING
    field, streamed = _CALLS[kind]
    if not streamed:
        return {**like, field: object_of(call)}
    made = hashlib.sha256(f"{call.id}/{call.name}".encode()).hexdigest()[:48]
    fresh = {"id": ("fc_" if kind == "function_call" else "ctc_") + made, "type": kind, **like, "status": "completed"}
    return {**fresh, field: call.arguments, "call_id": call.id, "name": call.name}


def _stop_of(body: Doc) -> str:
    return text(doc(body, "incomplete_details"), "reason") or text(body, "status")


def _ended(body: Doc, items: Sequence[Doc], stop: str, was: str) -> Doc:
    if stop == was:
        return {**body, "output": items}
    if stop == STOPS[END]:
        return {**body, "status": "completed", "incomplete_details": None, "output": items}
    return {**body, "status": "incomplete", "incomplete_details": {"reason": stop}, "output": items}
