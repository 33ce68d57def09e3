"""The items of the OpenAI Responses API, which stand in its requests and its answers alike."""

from __future__ import annotations

from collections.abc import Iterable

from reenact.providers.loose import Doc, as_json, docs, either, text
from reenact.providers.media import media_of_openai, size_of_base64
from reenact.providers.message import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult

_ROLES = {"developer": "system"}
# Calls that the agent carries out, and in which field of the item their arguments stand.
_OWN_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
# Calls that OpenAI carries out: the fields of their arguments, of which the first present counts, and of their results.
_HOSTED_CALLS = {
    "web_search_call": (("action",), ()),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": (("revised_prompt",), ()),
    "mcp_call": (("arguments",), ("output", "error")),
}


def messages_of(items: Iterable[Doc]) -> tuple[Message, ...]:
    """Make messages of items; neighbouring items of the assistant are one message, and so are those of tools."""
    found: list[tuple[str, list[Part]]] = []
    for item in items:
        role, parts = _read(item)
        if found and found[-1][0] == role and role in ("assistant", "tool"):
            found[-1][1].extend(parts)
        else:
            found.append((role, parts))
    return tuple(Message(role, tuple(parts)) for role, parts in found)


def parts_of_answer(output: Iterable[Doc]) -> list[Part]:
    """Read the parts of an answer. A compaction hands messages of the user back: these are named, not read."""
    parts: list[Part] = []
    for item in output:
        role, read = _read(item)
        parts += read if role in ("assistant", "tool") else [Other(f"{role} message")]
    return parts


def _read(item: Doc) -> tuple[str, list[Part]]:
    """Role and parts of one item."""
    kind = text(item, "type") or "message"
    if kind == "message":
        role = text(item, "role")
        return _ROLES.get(role, role), content(item.get("content"))
    if kind == "reasoning":
        words = [text(piece, "text") for piece in docs(item, "summary") + docs(item, "content")]
        return "assistant", [Thinking("\n".join(words))]
    if kind in _OWN_CALLS:
        name = text(item, "name") or kind.removesuffix("_call")
        return "assistant", [ToolCall(text(item, "call_id", "id"), name, as_json(item.get(_OWN_CALLS[kind])))]
    if kind in _HOSTED_CALLS:
        return "assistant", _hosted(kind, item)
    if kind.endswith("_call_output"):
        return "tool", _result(item)
    if kind.startswith("tool_search_"):
        return _tool_search(kind, item)
    role = text(item, "role") or "assistant"
    return _ROLES.get(role, role), [Other(kind)]


def _hosted(kind: str, item: Doc) -> list[Part]:
    made = text(item, "id")
    name = text(item, "name") or kind.removesuffix("_call")
    arguments, results = _HOSTED_CALLS[kind]
    parts: list[Part] = [ToolCall(made, name, as_json(either(item, *arguments)), hosted=True)]
    if (output := either(item, *results)) is not None:
        failed = item.get("error") is not None
        parts.append(ToolResult(made, name, as_json(output), failed))
    if isinstance(picture := item.get("result"), str):
        parts.append(Media(f"image/{text(item, 'output_format') or 'png'}", size_of_base64(picture)))
    return parts


def _result(item: Doc) -> list[Part]:
    output = item.get("output")
    parts = content(output) if isinstance(output, list) else []
    if any(not isinstance(part, Other) for part in parts):
        words = "\n".join(part.text for part in parts if isinstance(part, Text))
    else:
        words = as_json(output)
    media = [part for part in parts if isinstance(part, Media)]
    return [ToolResult(text(item, "call_id"), None, words), *media]


def _tool_search(kind: str, item: Doc) -> tuple[str, list[Part]]:
    """Read the search for further tools, which either side may carry out."""
    hosted = text(item, "execution") == "server"
    made = text(item, "call_id", "id")
    if kind == "tool_search_call":
        return "assistant", [ToolCall(made, "tool_search", as_json(item.get("arguments")), hosted)]
    role = "assistant" if hosted else "tool"
    return role, [ToolResult(made, "tool_search", as_json(item.get("tools")))]


def content(value: object) -> list[Part]:
    """Read the content of a message: text or typed parts."""
    if isinstance(value, str):
        return [Text(value)] if value else []
    if not isinstance(value, list):
        return []
    return [_part(piece) for piece in value if isinstance(piece, dict)]


def _part(piece: Doc) -> Part:
    match kind := text(piece, "type"):
        case "input_text" | "output_text" | "text" | "summary_text":
            return Text(text(piece, "text"))
        case "refusal":
            return Text(text(piece, "refusal"))
        case "reasoning_text":
            return Thinking(text(piece, "text"))
        case "input_image" | "input_file" | "input_audio" | "computer_screenshot":
            return media_of_openai(kind, either(piece, "image_url", "file_data", "input_audio"))
        case _:
            return Other(kind)
