"""Anthropic Messages.

https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

from collections.abc import Iterator

from reenact.testing.reply import Answer, Call, Fail
from reenact.testing.request import Request
from reenact.testing.response import Headers, Response
from reenact.testing.turn import Provider, Role, Turn
from reenact.testing.wire import sse
from reenact.testing.wire.completion import Completion, complete, pieces
from reenact.testing.wire.dialect import Json, body_object
from reenact.testing.wire.failure import retry_headers
from reenact.testing.wire.stamp import Stamp
from reenact.testing.wire.transcript import Transcript, text_of

_RATE = 4_000
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_MESSAGES = {
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}


class MessagesDialect:
    """`POST .../messages`."""

    def read(self, request: Request, index: int) -> Turn:
        """See Dialect."""
        body = body_object(request)
        transcript = Transcript()
        if body.get("system"):
            transcript.say(Role.SYSTEM, text_of(body["system"]))
        for message in body.get("messages", ()):
            _read_message(transcript, message)
        tools = tuple(str(tool.get("name", "")) for tool in body.get("tools") or ())
        model, stream = str(body.get("model", "")), bool(body.get("stream"))
        return Turn(Provider.ANTHROPIC, model, transcript.messages, tools, stream, index, request)

    def write(self, turn: Turn, answer: Answer, stamp: Stamp) -> Response:
        """See Dialect."""
        completion = complete(answer, turn, stamp, "toolu_01", 22)
        if turn.stream:
            return sse.stream(_events(turn, completion), _headers(stamp))
        ended = {"content": _blocks(completion), "stop_reason": _stop(completion)}
        return sse.document(_message(turn, completion) | ended, _headers(stamp))

    def error(self, fail: Fail, stamp: Stamp) -> Response:
        """See Dialect."""
        kind = _KINDS.get(fail.status, "api_error")
        message = fail.message or _MESSAGES.get(fail.status, f"The request failed with status {fail.status}.")
        error = {"type": kind, "message": message}
        document = {"type": "error", "error": error, "request_id": _request_id(stamp)}
        return sse.document(document, (*_headers(stamp), *retry_headers(fail)), fail.status)


def _read_message(transcript: Transcript, message: Json) -> None:
    role = Role.ASSISTANT if message.get("role") == "assistant" else Role.USER
    content = message.get("content")
    if isinstance(content, str):
        transcript.say(role, content)
        return
    results_only = True
    text = ""
    for block in content or ():
        match block:
            case {"type": "tool_result", "tool_use_id": call_id}:
                transcript.result(call_id, text_of(block.get("content")), is_error=bool(block.get("is_error")))
                continue
            case {"type": "tool_use", "name": name, "input": arguments, "id": call_id}:
                transcript.call(Call(name, arguments, call_id))
            case _:
                text += text_of(block)
        results_only = False
    if text or not results_only:
        transcript.say(role, text)


def _request_id(stamp: Stamp) -> str:
    return stamp.base62("req_011C", 20)


def _headers(stamp: Stamp) -> Headers:
    return (
        ("date", stamp.date),
        ("request-id", _request_id(stamp)),
        ("anthropic-organization-id", Stamp(stamp.seed, 0).uuid()),
        ("anthropic-ratelimit-requests-limit", str(_RATE)),
        ("anthropic-ratelimit-requests-remaining", str(max(0, _RATE - 1 - stamp.index))),
    )


def _usage(completion: Completion) -> Json:
    usage = completion.usage
    return {
        # Anthropic counts what came from the cache apart from the input.
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def _message(turn: Turn, completion: Completion) -> Json:
    return {
        "model": turn.model,
        "id": completion.stamp.base62("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(completion),
    }


def _blocks(completion: Completion) -> list[Json]:
    text: list[Json] = [{"type": "text", "text": completion.text}] if completion.text else []
    return text + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments_object}
        for call in completion.calls
    ]


def _stop(completion: Completion) -> str:
    if completion.calls:
        return "tool_use"
    return "max_tokens" if completion.truncated else "end_turn"


def _events(turn: Turn, completion: Completion) -> Iterator[bytes]:
    message = _message(turn, completion)
    message["usage"] |= {"output_tokens": 1}
    yield _event("message_start", message=message)
    text_blocks = 1 if completion.text else 0
    if text_blocks:
        deltas = [{"type": "text_delta", "text": word} for word in completion.words]
        yield from _block(0, {"type": "text", "text": ""}, deltas)
    for index, call in enumerate(completion.calls, text_blocks):
        opening: Json = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        parts = ["", *pieces(call.arguments_text)]
        yield from _block(index, opening, [{"type": "input_json_delta", "partial_json": part} for part in parts])
    delta = {"stop_reason": _stop(completion), "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": completion.usage.output})
    yield _event("message_stop")


def _block(index: int, opening: Json, deltas: list[Json]) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=opening)
    if index == 0:
        yield _event("ping")
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: object) -> bytes:
    return sse.named(kind, {"type": kind, **fields})
