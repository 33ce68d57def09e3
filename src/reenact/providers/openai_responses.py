"""OpenAI Responses: requests, answers, background answers fetched later, compactions."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.providers.call import ToolSpec, Usage
from reenact.providers.loose import Doc, as_json, count, doc, docs, text
from reenact.providers.message import Message, Text
from reenact.providers.openai_items import messages_of, parts_of_answer
from reenact.providers.reader import Question, Reader, Reply
from reenact.providers.stream import Chunk

_PENDING = ("queued", "in_progress")


def question(body: Doc) -> Question:
    """Read a request. The messages of a conversation that OpenAI keeps are not in it."""
    messages: tuple[Message, ...] = ()
    if instructions := text(body, "instructions"):
        messages = (Message("system", (Text(instructions),)),)
    given = body.get("input")
    if isinstance(given, str):
        messages += (Message("user", (Text(given),)),)
    added = [
        spec for item in docs(body, "input") if item.get("type") == "additional_tools" for spec in docs(item, "tools")
    ]
    conversation = text(body, "conversation") or text(doc(body, "conversation"), "id")
    return Question(
        model=text(body, "model"),
        stream=body.get("stream") is True,
        messages=messages + messages_of(docs(body, "input")),
        tools=tuple(_tool(spec) for spec in docs(body, "tools") + added),
        continues=text(body, "previous_response_id") or conversation or None,
    )


def _tool(spec: Doc) -> ToolSpec:
    kind = text(spec, "type")
    hosted = kind not in ("function", "custom", "computer_use_preview", "local_shell", "shell", "apply_patch")
    hosted = hosted and text(spec, "execution") != "client"
    name = text(spec, "name", "server_label") or kind
    return ToolSpec(name, text(spec, "description"), as_json(spec.get("parameters")), hosted)


def reply(body: Doc) -> Reply:
    """Read an answer. Its finish reason is why it is incomplete, else its status."""
    status = text(body, "status")
    parts = parts_of_answer(docs(body, "output"))
    return Reply(
        message=Message("assistant", tuple(parts)) if parts else None,
        finish_reason=None if status in _PENDING else text(doc(body, "incomplete_details"), "reason") or status or None,
        usage=_usage(doc(body, "usage")),
        served=text(body, "model") or None,
        id=text(body, "id") or None,
        pending=status in _PENDING,
    )


def _usage(usage: Doc) -> Usage | None:
    if not usage:
        return None
    return Usage(
        count(usage, "input_tokens"),
        count(usage, "output_tokens"),
        cached_input=count(doc(usage, "input_tokens_details"), "cached_tokens"),
        reasoning=count(doc(usage, "output_tokens_details"), "reasoning_tokens"),
    )


def fold(chunks: Sequence[Chunk]) -> Doc:
    """Take the whole response that ends a stream; of one that was cut before, put together what there is."""
    whole: Doc = {}
    items: dict[int, _Item] = {}
    for chunk in chunks:
        body = chunk.doc
        kind = text(body, "type") or chunk.name
        whole = doc(body, "response") or whole
        slot = count(body, "output_index")
        if kind in ("response.output_item.added", "response.output_item.done"):
            items[slot] = _Item(doc(body, "item"), done=kind.endswith("done"))
        elif kind.endswith(".delta") and slot in items:
            items[slot].add(kind, body)
    if docs(whole, "output") and text(whole, "status") not in _PENDING:
        return whole
    return {**whole, "output": [item.whole() for _, item in sorted(items.items())]}


# Which field of an item a delta adds to, by the middle of the event's name.
_FIELDS = {
    "function_call_arguments": "arguments",
    "mcp_call_arguments": "arguments",
    "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
}
_PIECES = {
    "output_text": ("content", "content_index", "output_text", "text"),
    "refusal": ("content", "content_index", "refusal", "refusal"),
    "reasoning_text": ("content", "content_index", "reasoning_text", "text"),
    "reasoning_summary_text": ("summary", "summary_index", "summary_text", "text"),
}


class _Item:
    """An output item as it grows."""

    def __init__(self, start: Doc, *, done: bool) -> None:
        self.start, self.done = start, done
        self.fields: dict[str, list[str]] = {}
        self.pieces: dict[tuple[str, int, str, str], list[str]] = {}

    def add(self, kind: str, body: Doc) -> None:
        middle = kind.removeprefix("response.").removesuffix(".delta")
        delta = text(body, "delta")
        if field := _FIELDS.get(middle):
            self.fields.setdefault(field, []).append(delta)
        elif piece := _PIECES.get(middle):
            into, index, sort, field = piece
            self.pieces.setdefault((into, count(body, index), sort, field), []).append(delta)

    def whole(self) -> Doc:
        """Return the item as far as it came; one that was finished needs no deltas."""
        if self.done:
            return self.start
        grown: dict[str, object] = {field: "".join(deltas) for field, deltas in self.fields.items()}
        for into in ("content", "summary"):
            pieces = sorted((key[1], key[2:], deltas) for key, deltas in self.pieces.items() if key[0] == into)
            if pieces:
                grown[into] = [{"type": sort, field: "".join(deltas)} for _, (sort, field), deltas in pieces]
        return {**self.start, **grown}


READER = Reader("openai.responses", question, reply, fold)
