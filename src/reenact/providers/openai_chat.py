"""OpenAI Chat Completions, and whoever speaks it: Groq, Mistral, vLLM, Ollama, gateways."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.providers.call import ToolSpec, Usage
from reenact.providers.loose import Doc, as_json, count, doc, docs, either, items, text
from reenact.providers.media import media_of_openai
from reenact.providers.message import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult, joined
from reenact.providers.reader import Question, Reader, Reply
from reenact.providers.stream import Chunk

_ROLES = {"developer": "system", "function": "tool"}


def question(body: Doc) -> Question:
    """Read a request."""
    functions = [
        ToolSpec(text(f, "name"), text(f, "description"), as_json(f.get("parameters"))) for f in docs(body, "functions")
    ]
    return Question(
        model=text(body, "model"),
        stream=body.get("stream") is True,
        messages=tuple(_message(item) for item in docs(body, "messages")),
        tools=(*map(_tool, docs(body, "tools")), *functions),
    )


def _tool(spec: Doc) -> ToolSpec:
    kind = text(spec, "type")
    inner = doc(spec, kind)
    if kind in ("function", "custom"):
        schema = either(inner, "parameters", "format")
        return ToolSpec(text(inner, "name"), text(inner, "description"), as_json(schema))
    return ToolSpec(kind, hosted=True)


def _message(body: Doc) -> Message:
    role = text(body, "role")
    role = _ROLES.get(role, role)
    if role == "tool":
        parts = _content(body.get("content"))
        words = "\n".join(part.text for part in parts if isinstance(part, Text))
        result = ToolResult(text(body, "tool_call_id"), text(body, "name") or None, words)
        return Message(role, (result, *(part for part in parts if isinstance(part, Media))))
    return Message(role, tuple(_spoken(body)))


def _spoken(body: Doc) -> list[Part]:
    """Read the parts of a message in the order in which a model makes them: reasoning, text, calls."""
    parts: list[Part] = []
    if reasoning := text(body, "reasoning_content", "reasoning"):
        parts.append(Thinking(reasoning))
    parts += [part for tool in docs(body, "executed_tools") for part in _executed(tool)]
    parts += _content(body.get("content"))
    if refusal := text(body, "refusal"):
        parts.append(Text(refusal))
    if audio := doc(body, "audio"):
        parts.append(media_of_openai("audio", audio))
    calls = docs(body, "tool_calls")
    if legacy := doc(body, "function_call"):
        calls.append({"function": legacy})
    return [*parts, *map(_call, calls)]


def _executed(tool: Doc) -> list[Part]:
    """Groq's own tools, which it has carried out itself."""
    name, made = text(tool, "type"), text(tool, "id")
    call = ToolCall(made, name, text(tool, "arguments"), hosted=True)
    output = tool.get("output")
    return [call] if output is None else [call, ToolResult(made, name, as_json(output))]


def _call(body: Doc) -> ToolCall:
    inner = doc(body, "function") or doc(body, "custom")
    return ToolCall(text(body, "id"), text(inner, "name"), as_json(either(inner, "arguments", "input")))


def _content(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    if not isinstance(content, list):
        return []
    return [_part(item) for item in content if isinstance(item, dict)]


def _part(item: Doc) -> Part:
    match kind := text(item, "type"):
        case "text":
            return Text(text(item, "text"))
        case "refusal":
            return Text(text(item, "refusal"))
        case "thinking":
            inner = item.get("thinking")
            return Thinking(
                inner if isinstance(inner, str) else "".join(text(d, "text") for d in docs(item, "thinking"))
            )
        case "image_url" | "input_audio" | "file" | "video_url":
            return media_of_openai(kind, item.get(kind))
        case _:
            return Other(kind)


def reply(body: Doc) -> Reply:
    """Read an answer: its first choice."""
    choice = next(iter(docs(body, "choices")), {})
    message = doc(choice, "message")
    return Reply(
        message=Message("assistant", tuple(joined(_spoken(message)))) if message else None,
        finish_reason=text(choice, "finish_reason") or None,
        usage=_usage(doc(body, "usage")),
        served=text(body, "model") or None,
        id=text(body, "id") or None,
    )


def _usage(usage: Doc) -> Usage | None:
    if not usage:
        return None
    read, written = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    reasoning = count(doc(usage, "completion_tokens_details"), "reasoning_tokens")
    # Gemini and xAI leave the reasoning out of completion_tokens, but not out of the total (or the bill).
    if (hidden := count(usage, "total_tokens") - read - written) > 0:
        written, reasoning = written + hidden, reasoning or hidden
    cached = count(doc(usage, "prompt_tokens_details"), "cached_tokens") or count(usage, "prompt_cache_hit_tokens")
    return Usage(read, written, cached_input=cached, reasoning=reasoning)


def fold(chunks: Sequence[Chunk]) -> Doc:
    """Put the deltas of the first choice together."""
    whole: dict[str, object] = {}
    message = _Deltas()
    finish: object = None
    begun = False
    for chunk in chunks:
        body = chunk.doc
        for key in ("id", "model"):
            whole[key] = whole.get(key) or body.get(key)
        if usage := doc(body, "usage") or doc(body, "x_groq", "usage"):
            whole["usage"] = usage
        for choice in docs(body, "choices"):
            if count(choice, "index") == 0:
                begun = True
                message.add(doc(choice, "delta"))
                finish = finish or choice.get("finish_reason")
    return {**whole, "choices": [{"message": message.whole(), "finish_reason": finish}] if begun else []}


class _Deltas:
    """A message as it grows."""

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = {}
        self.content: list[object] = []
        self.calls: dict[object, tuple[dict[str, object], list[str]]] = {}
        self.executed: dict[int, dict[str, object]] = {}

    def add(self, delta: Doc) -> None:
        for key in ("reasoning_content", "reasoning", "refusal"):
            if piece := text(delta, key):
                self.words.setdefault(key, []).append(piece)
        content = delta.get("content")
        if isinstance(content, str):
            self.content.append({"type": "text", "text": content})
        self.content += items(delta, "content")
        for call in docs(delta, "tool_calls"):
            self._add_call(call)
        if legacy := doc(delta, "function_call"):
            self._add_call({"index": 0, "function": legacy})
        for tool in docs(delta, "executed_tools"):
            self.executed.setdefault(count(tool, "index"), {}).update(tool)

    def _add_call(self, call: Doc) -> None:
        # Some servers leave out the index: then a piece with a new id begins a call, one without goes on with the last.
        slot = either(call, "index", "id")
        if not isinstance(slot, int | str):
            slot = next(reversed(self.calls), 0)
        head, arguments = self.calls.setdefault(slot, ({"id": ""}, []))
        head["id"] = head["id"] or text(call, "id")
        inner = doc(call, "function") or doc(call, "custom")
        head["name"] = head.get("name") or text(inner, "name")
        arguments.append(as_json(either(inner, "arguments", "input")))

    def whole(self) -> Doc:
        calls = [
            {"id": head["id"], "function": {"name": head["name"], "arguments": "".join(arguments)}}
            for head, arguments in self.calls.values()
        ]
        words = {key: "".join(pieces) for key, pieces in self.words.items()}
        content = [item for item in self.content if item != {"type": "text", "text": ""}]
        return {**words, "content": content, "tool_calls": calls, "executed_tools": list(self.executed.values())}


READER = Reader("openai.chat", question, reply, fold)
