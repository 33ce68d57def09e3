"""Gemini generateContent and streamGenerateContent, at Google AI and at Vertex.

The API takes camelCase and snake_case names alike, so both are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reenact.providers.call import ToolSpec, Usage
from reenact.providers.loose import NOTHING, Doc, as_json, count, doc, docs, either, text
from reenact.providers.media import media_of_gemini
from reenact.providers.message import Message, Other, Part, Text, Thinking, ToolCall, ToolResult, joined, of_role
from reenact.providers.reader import Question, Reader, Reply
from reenact.providers.stream import Chunk

_ROLES = {"model": "assistant", "function": "user", "": "user"}


def question(body: Doc) -> Question:
    """Read a request. The model stands in the URL."""
    system: list[Part] = []
    if either(body, "cachedContent", "cached_content"):
        system.append(Other("cachedContent"))
    system += _parts(either(body, "systemInstruction", "system_instruction"))
    contents = body.get("contents")
    if isinstance(contents, dict | str):
        contents = [contents]
    given = contents if isinstance(contents, list) else []
    return Question(
        model=text(body, "model"),
        messages=(*([Message("system", tuple(system))] if system else []), *map(_message, given)),
        tools=tuple(tool for entry in docs(body, "tools") for tool in _tools(entry)),
    )


def _message(content: object) -> Message:
    role = text(content, "role") if isinstance(content, dict) else ""
    parts = _parts(content)
    return of_role(_ROLES.get(role, role), joined(parts) if role == "model" else parts)


def _tools(entry: Doc) -> list[ToolSpec]:
    """Read one entry: functions declared by the agent, and Google's own tools, one to a key."""
    found: list[ToolSpec] = []
    for key in entry:
        if key in ("functionDeclarations", "function_declarations"):
            found += map(_declared, docs(entry, key))
        else:
            found.append(ToolSpec(key, hosted=True))
    return found


def _declared(spec: Doc) -> ToolSpec:
    schema = either(spec, "parametersJsonSchema", "parameters_json_schema", "parameters")
    return ToolSpec(text(spec, "name"), text(spec, "description"), as_json(schema))


def _parts(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    if not isinstance(content, dict):
        return []
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else [parts]
    return [part for item in given for part in _part(item)]


def _part(item: object) -> list[Part]:  # noqa: C901  one case per kind of part
    """Read one part. An empty text only carries a signature, and stands for nothing."""
    if isinstance(item, str):
        return [Text(item)]
    if not isinstance(item, dict):
        return []
    if isinstance(words := item.get("text"), str):
        return [Thinking(words) if item.get("thought") is True else Text(words)] if words else []
    for key, value in item.items():
        inner: Doc = value if isinstance(value, Mapping) else NOTHING
        match key:
            case "functionCall" | "function_call":
                return [ToolCall(text(inner, "id"), text(inner, "name"), as_json(inner.get("args") or {}))]
            case "functionResponse" | "function_response":
                answer = doc(inner, "response")
                return [ToolResult(text(inner, "id"), text(inner, "name") or None, as_json(answer), "error" in answer)]
            case "inlineData" | "inline_data" | "fileData" | "file_data":
                return [media_of_gemini(inner)]
            case "executableCode" | "executable_code":
                return [ToolCall(text(inner, "id"), "code_execution", text(inner, "code"), hosted=True)]
            case "codeExecutionResult" | "code_execution_result":
                failed = text(inner, "outcome") not in ("OUTCOME_OK", "")
                return [ToolResult(text(inner, "id"), "code_execution", text(inner, "output"), failed)]
            case "toolCall" | "tool_call":
                name = text(inner, "toolType", "tool_type")
                return [ToolCall(text(inner, "id"), name, as_json(inner.get("args") or {}), hosted=True)]
            case "toolResponse" | "tool_response":
                return [
                    ToolResult(text(inner, "id"), text(inner, "toolType", "tool_type"), as_json(inner.get("response")))
                ]
    unknown = next((key for key in item if key not in _ASIDES), None)
    return [Other(unknown)] if unknown is not None else []


_ASIDES = {"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "partMetadata"}


def reply(body: Doc) -> Reply:
    """Read an answer: its first candidate. A prompt that was refused has none, and its finish reason is why."""
    candidate = next(iter(docs(body, "candidates")), NOTHING)
    parts = joined(_parts(candidate.get("content")))
    blocked = text(doc(body, "promptFeedback"), "blockReason")
    return Reply(
        message=Message("assistant", tuple(parts)) if candidate else None,
        finish_reason=text(candidate, "finishReason") or blocked or None,
        usage=_usage(doc(body, "usageMetadata")),
        served=text(body, "modelVersion") or None,
        id=text(body, "responseId") or None,
    )


def _usage(usage: Doc) -> Usage | None:
    if not usage:
        return None
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount"),
        # Google counts the thoughts apart from the answer.
        count(usage, "candidatesTokenCount") + thoughts,
        cached_input=count(usage, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


def fold(chunks: Sequence[Chunk]) -> Doc:
    """Append the parts of the first candidate; of all else the last word counts."""
    whole: dict[str, object] = {}
    candidate: dict[str, object] = {}
    parts: list[object] = []
    for chunk in chunks:
        whole.update(chunk.doc)
        for piece in docs(chunk.doc, "candidates"):
            if count(piece, "index") == 0:
                candidate.update(piece)
                content = doc(piece, "content")
                parts += docs(content, "parts")
    if candidate:
        whole["candidates"] = [{**candidate, "content": {"parts": parts}}]
    return whole


READER = Reader("google.gemini", question, reply, fold)
