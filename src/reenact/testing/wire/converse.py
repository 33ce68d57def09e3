"""Amazon Bedrock's Converse and ConverseStream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from urllib.parse import unquote

from reenact.testing.reply import Answer, Call, Fail
from reenact.testing.request import Request
from reenact.testing.response import Headers, Response
from reenact.testing.turn import Provider, Role, Turn
from reenact.testing.wire import eventstream, sse
from reenact.testing.wire.completion import Completion, complete, pieces
from reenact.testing.wire.dialect import Json, body_object
from reenact.testing.wire.failure import retry_headers
from reenact.testing.wire.stamp import Stamp
from reenact.testing.wire.transcript import Transcript, json_text, text_of

_KINDS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_MESSAGES = {
    429: "Too many requests, please wait before trying again.",
    500: "The system encountered an unexpected error during processing. Try your request again.",
    503: "Bedrock is unable to process your request.",
}
_PADDING = string.ascii_letters + string.digits


class ConverseDialect:
    """`POST /model/M/converse` and `/model/M/converse-stream`."""

    def read(self, request: Request, index: int) -> Turn:
        """See Dialect."""
        body = body_object(request)
        transcript = Transcript()
        if body.get("system"):
            transcript.say(Role.SYSTEM, text_of(body["system"]))
        for message in body.get("messages", ()):
            _read_message(transcript, message)
        specs = (tool.get("toolSpec", {}) for tool in (body.get("toolConfig") or {}).get("tools", ()))
        tools = tuple(str(spec["name"]) for spec in specs if "name" in spec)
        model, _, verb = unquote(request.path).partition("/model/")[2].rpartition("/")
        return Turn(Provider.BEDROCK, model, transcript.messages, tools, verb == "converse-stream", index, request)

    def write(self, turn: Turn, answer: Answer, stamp: Stamp) -> Response:
        """See Dialect."""
        completion = complete(answer, turn, stamp, "tooluse_", 22)
        if turn.stream:
            kind = ("content-type", "application/vnd.amazon.eventstream")
            return Response(200, (kind, *_headers(stamp)), tuple(_events(completion)))
        message = {"role": "assistant", "content": _blocks(completion)}
        document = {"output": {"message": message}, "stopReason": _stop(completion), **_counts(completion)}
        return sse.document(document, _headers(stamp))

    def error(self, fail: Fail, stamp: Stamp) -> Response:
        """See Dialect."""
        default = "InternalServerException" if fail.status >= 500 else "ValidationException"
        kind = _KINDS.get(fail.status, default)
        message = fail.message or _MESSAGES.get(fail.status, f"The request failed with status {fail.status}.")
        headers = (*_headers(stamp), ("x-amzn-errortype", kind), *retry_headers(fail))
        return sse.document({"message": message}, headers, fail.status)


def _read_message(transcript: Transcript, message: Json) -> None:
    role = Role.ASSISTANT if message.get("role") == "assistant" else Role.USER
    text = ""
    is_said = False
    for block in message.get("content", ()):
        match block:
            case {"toolResult": result}:
                output = "".join(
                    json_text(part["json"]) if "json" in part else text_of(part) for part in result.get("content", ())
                )
                failed = result.get("status") == "error"
                transcript.result(str(result.get("toolUseId", "")), output, is_error=failed)
                continue
            case {"toolUse": use}:
                transcript.call(Call(str(use.get("name", "")), use.get("input") or {}, str(use.get("toolUseId", ""))))
            case _:
                text += text_of(block)
        is_said = True
    if is_said:
        transcript.say(role, text)


def _headers(stamp: Stamp) -> Headers:
    return (("date", stamp.date), ("x-amzn-requestid", stamp.uuid()))


def _counts(completion: Completion) -> Json:
    usage = completion.usage
    counts = {
        # As with Anthropic, what came from the cache is counted apart from the input.
        "inputTokens": usage.input - usage.cached,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
    }
    if usage.cached:
        counts |= {"cacheReadInputTokens": usage.cached, "cacheWriteInputTokens": 0}
    return {"usage": counts, "metrics": {"latencyMs": 12}}


def _blocks(completion: Completion) -> list[Json]:
    blocks: list[Json] = [{"text": completion.text}] if completion.text or not completion.calls else []
    for call in completion.calls:
        use = {"toolUseId": call.id, "name": call.name, "input": call.arguments_object}
        blocks.append({"toolUse": use})
    return blocks


def _stop(completion: Completion) -> str:
    if completion.calls:
        return "tool_use"
    return "max_tokens" if completion.truncated else "end_turn"


def _events(completion: Completion) -> Iterator[bytes]:
    for number, (kind, payload) in enumerate(_payloads(completion)):
        # Bedrock pads each event to hide the length of a token.
        padded = payload | {"p": _PADDING[: 1 + number * 7 % 52]}
        yield eventstream.event(kind, json_text(padded).encode())


def _payloads(completion: Completion) -> Iterator[tuple[str, Json]]:
    yield "messageStart", {"role": "assistant"}
    index = 0
    if completion.text or not completion.calls:
        # A block of text is opened by its first delta.
        for word in completion.words or [""]:
            yield "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}}
        yield "contentBlockStop", {"contentBlockIndex": 0}
        index = 1
    for at, call in enumerate(completion.calls, index):
        start = {"toolUse": {"name": call.name, "toolUseId": call.id}}
        yield "contentBlockStart", {"contentBlockIndex": at, "start": start}
        for piece in pieces(call.arguments_text):
            yield "contentBlockDelta", {"contentBlockIndex": at, "delta": {"toolUse": {"input": piece}}}
        yield "contentBlockStop", {"contentBlockIndex": at}
    yield "messageStop", {"stopReason": _stop(completion)}
    yield "metadata", _counts(completion)
