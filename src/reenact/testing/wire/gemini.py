"""Gemini's generateContent and streamGenerateContent.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, unquote

from reenact.testing.reply import Answer, Call, Fail
from reenact.testing.request import Request
from reenact.testing.response import Headers, Response
from reenact.testing.turn import Provider, Role, Turn
from reenact.testing.wire import sse
from reenact.testing.wire.completion import Completion, complete
from reenact.testing.wire.dialect import Json, body_object
from reenact.testing.wire.failure import retry_headers
from reenact.testing.wire.stamp import Stamp
from reenact.testing.wire.transcript import Transcript, json_text, text_of

_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_MESSAGES = {
    429: "Resource has been exhausted (e.g. check quota).",
    500: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    503: "The model is overloaded. Please try again later.",
}


class GeminiDialect:
    """`POST .../models/M:generateContent` and `.../models/M:streamGenerateContent`."""

    def read(self, request: Request, index: int) -> Turn:
        """See Dialect."""
        body = body_object(request)
        transcript = Transcript()
        system = body.get("systemInstruction", body.get("system_instruction"))
        if system:
            transcript.say(Role.SYSTEM, text_of(system.get("parts")))
        for content in body.get("contents", ()):
            _read_content(transcript, content)
        tools = tuple(
            str(function.get("name", ""))
            for tool in body.get("tools") or ()
            for function in tool.get("functionDeclarations", tool.get("function_declarations", ()))
        )
        model, _, verb = unquote(request.path).rpartition("/")[2].partition(":")
        stream = verb == "streamGenerateContent"
        return Turn(Provider.GEMINI, model, transcript.messages, tools, stream, index, request)

    def write(self, turn: Turn, answer: Answer, stamp: Stamp) -> Response:
        """See Dialect."""
        completion = complete(answer, turn, stamp, "", 0)
        if not turn.stream:
            parts = [{"text": completion.text}] if completion.text or not completion.calls else []
            return sse.document(_document(turn, completion, [*parts, *_calls(completion)], last=True), _headers(stamp))
        documents = list(_documents(turn, completion))
        if parse_qs(turn.request.query).get("alt") == ["sse"]:
            return sse.stream([sse.data(document, "\r\n\r\n") for document in documents], _headers(stamp))
        return _array(documents, _headers(stamp))

    def error(self, fail: Fail, stamp: Stamp) -> Response:
        """See Dialect."""
        message = fail.message or _MESSAGES.get(fail.status, f"The request failed with status {fail.status}.")
        error: Json = {"code": fail.status, "message": message, "status": _STATES.get(fail.status, "UNKNOWN")}
        if fail.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": kind, "retryDelay": f"{fail.retry_after:g}s"}]
        return sse.document({"error": error}, (*_headers(stamp), *retry_headers(fail)), fail.status)


def _read_content(transcript: Transcript, content: Json) -> None:
    role = Role.ASSISTANT if content.get("role") == "model" else Role.USER
    text = ""
    is_said = False
    for part in content.get("parts", ()):
        match part:
            case {"functionResponse": result}:
                output = result.get("response", {})
                failed = isinstance(output, dict) and "error" in output
                name, call_id = str(result.get("name", "")), str(result.get("id") or "")
                transcript.result(call_id, json_text(output), name=name, is_error=failed)
                continue
            case {"functionCall": call}:
                transcript.call(Call(str(call.get("name", "")), call.get("args") or {}, str(call.get("id") or "")))
            case _:
                text += text_of(part)
        is_said = True
    if is_said:
        transcript.say(role, text)


def _headers(stamp: Stamp) -> Headers:
    return (
        ("date", stamp.date),
        ("server-timing", "gfet4t7; dur=12"),
        ("vary", "Origin"),
        ("server", "scaffolding on HTTPServer2"),
    )


def _calls(completion: Completion) -> list[Json]:
    return [
        {"functionCall": {"name": call.name, "args": call.arguments_object} | ({"id": call.id} if call.id else {})}
        for call in completion.calls
    ]


def _document(turn: Turn, completion: Completion, parts: list[Json], *, last: bool) -> Json:
    usage = completion.usage
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    counts: Json = {"promptTokenCount": usage.input, "totalTokenCount": usage.input}
    if usage.cached:
        counts["cachedContentTokenCount"] = usage.cached
    if last:
        candidate["finishReason"] = "MAX_TOKENS" if completion.truncated else "STOP"
        counts |= {"candidatesTokenCount": usage.output, "totalTokenCount": usage.input + usage.output}
    return {
        "candidates": [candidate],
        "usageMetadata": counts | {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}]},
        "modelVersion": turn.model,
        "responseId": completion.stamp.base62("", 23),
    }


def _documents(turn: Turn, completion: Completion) -> Iterator[Json]:
    parts: list[list[Json]] = [[{"text": word}] for word in completion.words]
    if completion.calls:
        parts.append(_calls(completion))
    parts = parts or [[{"text": ""}]]
    for number, some in enumerate(parts, 1):
        yield _document(turn, completion, some, last=number == len(parts))


def _array(documents: list[Json], headers: Headers) -> Response:
    """Without `alt=sse` the stream is one JSON array, written element by element."""
    chunks = [b"[" + json_text(documents[0]).encode()]
    chunks += [b"\n,\r\n" + json_text(document).encode() for document in documents[1:]]
    return Response(200, (("content-type", "application/json; charset=UTF-8"), *headers), (*chunks, b"\n]\n"))
