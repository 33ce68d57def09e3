"""Anthropic Messages, spoken by Anthropic itself, by Bedrock's InvokeModel and by Vertex."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.providers.call import ToolSpec, Usage
from reenact.providers.loose import Doc, as_json, count, doc, docs, load, text
from reenact.providers.media import media_of_anthropic
from reenact.providers.message import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult, of_role
from reenact.providers.reader import Question, Reader, Reply
from reenact.providers.stream import Chunk

# Typed tools that Anthropic defines and the agent carries out; the other typed ones run at Anthropic.
_OWN_TOOLS = ("custom", "bash_", "text_editor_", "computer_", "memory_")


def question(body: Doc) -> Question:
    """Read a request."""
    messages = [of_role(text(item, "role"), _content(item.get("content"))) for item in docs(body, "messages")]
    system = _content(body.get("system"))
    return Question(
        model=text(body, "model"),
        stream=body.get("stream") is True,
        messages=(*([Message("system", tuple(system))] if system else []), *messages),
        tools=tuple(_tool(spec) for spec in docs(body, "tools"))
        + tuple(_server(spec) for spec in docs(body, "mcp_servers")),
    )


def _tool(spec: Doc) -> ToolSpec:
    kind = text(spec, "type")
    hosted = kind != "" and not kind.startswith(_OWN_TOOLS)
    return ToolSpec(text(spec, "name") or kind, text(spec, "description"), as_json(spec.get("input_schema")), hosted)


def _server(spec: Doc) -> ToolSpec:
    return ToolSpec(text(spec, "name"), text(spec, "url"), hosted=True)


def _content(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    if not isinstance(content, list):
        return []
    return [part for block in content if isinstance(block, dict) for part in _parts(block)]


def _parts(block: Doc) -> list[Part]:
    """Read one block; only a tool result can be more than one part."""
    match kind := text(block, "type"):
        case "text":
            return [Text(text(block, "text"))]
        case "thinking" | "redacted_thinking":
            return [Thinking(text(block, "thinking"))]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            arguments = as_json(block.get("input"))
            return [ToolCall(text(block, "id"), text(block, "name"), arguments, hosted=kind != "tool_use")]
        case "image" | "document":
            return [media_of_anthropic(block)]
        case "container_upload":
            return [Media("file")]
        case _ if kind.endswith("tool_result"):
            return _result(block)
        case _:
            return [Other(kind)]


def _result(block: Doc) -> list[Part]:
    """Read a tool's result: its texts; or, where it has none (as hosted tools), its content as JSON."""
    content = block.get("content")
    inner = _content(content)
    texts = [part.text for part in inner if isinstance(part, Text)]
    words = "\n".join(texts) if texts or not content else as_json(content)
    failed = block.get("is_error") is True or text(doc(block, "content"), "type").endswith("_error")
    media = [part for part in inner if isinstance(part, Media)]
    if media and not texts:
        words = ""
    return [ToolResult(text(block, "tool_use_id"), None, words, failed), *media]


def reply(body: Doc) -> Reply:
    """Read an answer."""
    parts = _content(body.get("content"))
    return Reply(
        message=Message("assistant", tuple(parts)) if "content" in body else None,
        finish_reason=text(body, "stop_reason") or None,
        usage=_usage(doc(body, "usage")),
        served=text(body, "model") or None,
        id=text(body, "id") or None,
    )


def _usage(usage: Doc) -> Usage | None:
    if not usage:
        return None
    cached, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    return Usage(
        # Anthropic counts only what no cache had a part in as input.
        count(usage, "input_tokens") + cached + written,
        count(usage, "output_tokens"),
        cached_input=cached,
        cache_write=written,
        reasoning=count(doc(usage, "output_tokens_details"), "thinking_tokens"),
    )


def fold(chunks: Sequence[Chunk]) -> Doc:
    """Put the content blocks together."""
    whole: dict[str, object] = {}
    blocks: dict[int, _Block] = {}
    for chunk in chunks:
        body = chunk.doc
        slot = count(body, "index")
        match text(body, "type") or chunk.name:
            case "message_start":
                whole = dict(doc(body, "message"))
            case "content_block_start":
                blocks[slot] = _Block(doc(body, "content_block"))
            case "content_block_delta" if slot in blocks:
                blocks[slot].add(doc(body, "delta"))
            case "message_delta":
                whole.update(doc(body, "delta"))
                # Its counts are of the whole message so far, but it may leave some out.
                new = {key: value for key, value in doc(body, "usage").items() if value is not None}
                whole["usage"] = {**doc(whole, "usage"), **new}
    if blocks or whole:
        whole["content"] = [block.whole() for _, block in sorted(blocks.items())]
    return whole


_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class _Block:
    """A content block as it grows."""

    def __init__(self, start: Doc) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}

    def add(self, delta: Doc) -> None:
        if field := _GROWING.get(text(delta, "type")):
            self.pieces.setdefault(field, []).append(text(delta, field))

    def whole(self) -> Doc:
        grown: dict[str, object] = {}
        for field, pieces in self.pieces.items():
            if field == "partial_json":
                grown["input"] = complete_or_raw("".join(pieces), self.start.get("input"))
            else:
                grown[field] = text(self.start, field) + "".join(pieces)
        return {**self.start, **grown}


def complete_or_raw(arguments: str, empty: object) -> object:
    """Decode the arguments of a tool call that were streamed as JSON text; if they were cut, leave the text."""
    if not arguments:
        return empty
    try:
        return load(arguments.encode())
    except ValueError:
        return arguments


READER = Reader("anthropic.messages", question, reply, fold)
