"""Amazon Bedrock Converse and ConverseStream, which speak of every model in one format."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.providers.anthropic import complete_or_raw
from reenact.providers.call import ToolSpec, Usage
from reenact.providers.loose import NOTHING, Doc, as_json, count, doc, docs, text
from reenact.providers.media import media_of_bedrock
from reenact.providers.message import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult, of_role
from reenact.providers.reader import Question, Reader, Reply
from reenact.providers.stream import Chunk

_MEDIA = ("image", "document", "video", "audio")
_ASIDES = ("cachePoint",)


def question(body: Doc) -> Question:
    """Read a request. The model stands in the URL."""
    system = _parts(docs(body, "system"))
    messages = [of_role(text(item, "role"), _parts(docs(item, "content"))) for item in docs(body, "messages")]
    tools = docs(doc(body, "toolConfig"), "tools")
    return Question(
        messages=(*([Message("system", tuple(system))] if system else []), *messages),
        tools=tuple(tool for spec in tools for tool in _tool(spec)),
    )


def _tool(spec: Doc) -> list[ToolSpec]:
    if inner := doc(spec, "toolSpec"):
        schema = doc(inner, "inputSchema").get("json")
        return [ToolSpec(text(inner, "name"), text(inner, "description"), as_json(schema))]
    if inner := doc(spec, "systemTool"):
        return [ToolSpec(text(inner, "name"), hosted=True)]
    return []


def _parts(blocks: Sequence[Doc]) -> list[Part]:
    return [part for block in blocks for part in _block(block)]


def _block(block: Doc) -> list[Part]:
    """Read one content block, a union with one key."""
    if isinstance(words := block.get("text"), str):
        return [Text(words)] if words else []
    for key, value in block.items():
        inner: Doc = value if isinstance(value, dict) else NOTHING
        if key in _ASIDES:
            return []
        if key in _MEDIA:
            return [media_of_bedrock(key, inner)]
        match key:
            case "toolUse":
                hosted = text(inner, "type") == "server_tool_use"
                return [ToolCall(text(inner, "toolUseId"), text(inner, "name"), as_json(inner.get("input")), hosted)]
            case "toolResult":
                return _result(inner)
            case "reasoningContent":
                return [Thinking(text(doc(inner, "reasoningText"), "text"))]
            case "guardContent":
                return [Text(text(doc(inner, "text"), "text"))]
            case "citationsContent":
                return _parts(docs(inner, "content"))
            case _:
                return [Other(key)]
    return []


def _result(body: Doc) -> list[Part]:
    words: list[str] = []
    media: list[Part] = []
    for block in docs(body, "content"):
        if isinstance(said := block.get("text"), str):
            words.append(said)
        elif "json" in block:
            words.append(as_json(block["json"]))
        else:
            media += [part for part in _block(block) if isinstance(part, Media)]
    failed = text(body, "status") == "error"
    return [ToolResult(text(body, "toolUseId"), None, "\n".join(words), failed), *media]


def reply(body: Doc) -> Reply:
    """Read an answer."""
    message = doc(body, "output", "message")
    return Reply(
        message=Message("assistant", tuple(_parts(docs(message, "content")))) if message else None,
        finish_reason=text(body, "stopReason") or None,
        usage=_usage(doc(body, "usage")),
    )


def _usage(usage: Doc) -> Usage | None:
    if not usage:
        return None
    cached, written = count(usage, "cacheReadInputTokens"), count(usage, "cacheWriteInputTokens")
    return Usage(
        # As with Anthropic, inputTokens counts only what no cache had a part in.
        count(usage, "inputTokens") + cached + written,
        count(usage, "outputTokens"),
        cached_input=cached,
        cache_write=written,
    )


def fold(chunks: Sequence[Chunk]) -> Doc:
    """Put the content blocks together."""
    whole: dict[str, object] = {}
    blocks: dict[int, _Block] = {}
    role: object = None
    for chunk in chunks:
        body = chunk.doc
        slot = count(body, "contentBlockIndex")
        match chunk.name:
            case "messageStart":
                role = body.get("role")
            case "contentBlockStart":
                blocks[slot] = _Block(doc(body, "start"))
            case "contentBlockDelta":
                # Only tools and media announce a block; text begins with its first delta.
                blocks.setdefault(slot, _Block(NOTHING)).add(doc(body, "delta"))
            case "messageStop" | "metadata":
                whole.update(body)
    if role is not None or blocks:
        content = [block.whole() for _, block in sorted(blocks.items())]
        whole["output"] = {"message": {"role": role, "content": content}}
    return whole


class _Block:
    """A content block as it grows."""

    def __init__(self, start: Doc) -> None:
        self.start = start
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.input: list[str] = []
        self.result: list[Doc] = []

    def add(self, delta: Doc) -> None:
        self.text.append(text(delta, "text"))
        if "reasoningContent" in delta:
            self.reasoning.append(text(doc(delta, "reasoningContent"), "text"))
        self.input.append(text(doc(delta, "toolUse"), "input"))
        self.result += docs(delta, "toolResult")

    def whole(self) -> Doc:
        if tool := doc(self.start, "toolUse"):
            return {"toolUse": {**tool, "input": complete_or_raw("".join(self.input), {})}}
        if result := doc(self.start, "toolResult"):
            return {"toolResult": {**result, "content": self.result}}
        if self.reasoning:
            return {"reasoningContent": {"reasoningText": {"text": "".join(self.reasoning)}}}
        return {**self.start, "text": "".join(self.text)}


READER = Reader("bedrock.converse", question, reply, fold)
