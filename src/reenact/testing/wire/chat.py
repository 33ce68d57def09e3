"""OpenAI Chat Completions, which Groq and many others speak as well.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import Iterator

from reenact.testing.reply import Answer, Call, Fail
from reenact.testing.request import Request
from reenact.testing.response import Response
from reenact.testing.turn import Provider, Role, Turn
from reenact.testing.wire import sse
from reenact.testing.wire.completion import Completion, complete, pieces
from reenact.testing.wire.dialect import Json, body_object
from reenact.testing.wire.openai_failure import openai_error, openai_headers
from reenact.testing.wire.stamp import Stamp
from reenact.testing.wire.transcript import Transcript, parsed_call, text_of

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}


class ChatDialect:
    """`POST .../chat/completions`."""

    def __init__(self, provider: Provider = Provider.OPENAI_CHAT) -> None:
        self._provider = provider

    def read(self, request: Request, index: int) -> Turn:
        """See Dialect."""
        body = body_object(request)
        transcript = Transcript()
        for message in body.get("messages", ()):
            _read_message(transcript, message)
        tools = tuple(
            str((tool.get("function") or tool.get("custom") or {}).get("name", "")) for tool in body.get("tools") or ()
        )
        model, stream = str(body.get("model", "")), bool(body.get("stream"))
        return Turn(self._provider, model, transcript.messages, tools, stream, index, request)

    def write(self, turn: Turn, answer: Answer, stamp: Stamp) -> Response:
        """See Dialect."""
        completion = complete(answer, turn, stamp, "call_", 24)
        headers = openai_headers(stamp)
        if not turn.stream:
            return sse.document(self._document(turn, completion), headers)
        options = body_object(turn.request).get("stream_options") or {}
        return sse.stream(self._events(turn, completion, usage=bool(options.get("include_usage"))), headers)

    def error(self, fail: Fail, stamp: Stamp) -> Response:
        """See Dialect."""
        return openai_error(fail, stamp)

    def _head(self, turn: Turn, completion: Completion, kind: str) -> Json:
        stamp = completion.stamp
        ident = f"chatcmpl-{stamp.uuid()}" if self._is_groq else stamp.base62("chatcmpl-", 29)
        head: Json = {"id": ident, "object": kind, "created": stamp.created, "model": turn.model}
        if not self._is_groq:
            head["service_tier"] = "default"
        return head | {"system_fingerprint": stamp.hex("fp_", 10)}

    @property
    def _is_groq(self) -> bool:
        return self._provider is Provider.GROQ

    def _document(self, turn: Turn, completion: Completion) -> Json:
        message: Json = {
            "role": "assistant",
            "content": completion.text or (None if completion.calls else ""),
        }
        if not self._is_groq:
            message |= {"refusal": None, "annotations": []}
        if completion.calls:
            message["tool_calls"] = [_tool_call(call) for call in completion.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(completion)}
        document = self._head(turn, completion, "chat.completion")
        document |= {"choices": [choice], "usage": self._usage(completion)}
        if self._is_groq:
            document["x_groq"] = {"id": completion.stamp.base62("req_", 26)}
        return document

    def _events(self, turn: Turn, completion: Completion, *, usage: bool) -> Iterator[bytes]:
        head = self._head(turn, completion, "chat.completion.chunk")
        tail: Json = {"usage": None} if usage and not self._is_groq else {}
        for number, (delta, finish) in enumerate(_deltas(completion)):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            event = head | {"choices": [choice]} | tail
            if self._is_groq and (number == 0 or finish):
                event["x_groq"] = {"id": completion.stamp.base62("req_", 26)}
                event["x_groq"] |= {"usage": self._usage(completion)} if finish else {}
            yield sse.data(event)
        if usage:
            yield sse.data(head | {"choices": [], "usage": self._usage(completion)})
        yield sse.DONE

    def _usage(self, completion: Completion) -> Json:
        usage = completion.usage
        counts: Json = {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        }
        if self._is_groq:
            times = {"queue_time": 0.02, "prompt_time": 0.005, "completion_time": 0.02, "total_time": 0.025}
            return times | counts
        return counts | {
            "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def _read_message(transcript: Transcript, message: Json) -> None:
    role = message.get("role")
    text = text_of(message.get("content"))
    if role == "tool":
        transcript.result(str(message.get("tool_call_id", "")), text)
        return
    transcript.say(_ROLES.get(str(role), Role.USER), text)
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        transcript.call(parsed_call(function.get("name", ""), function.get("arguments", ""), call.get("id", "")))


def _tool_call(call: Call) -> Json:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_text},
    }


def _finish(completion: Completion) -> str:
    if completion.calls:
        return "tool_calls"
    return "length" if completion.truncated else "stop"


def _deltas(completion: Completion) -> Iterator[tuple[Json, str | None]]:
    content = None if completion.calls and not completion.text else ""
    yield {"role": "assistant", "content": content, "refusal": None}, None
    for word in completion.words:
        yield {"content": word}, None
    for index, call in enumerate(completion.calls):
        opening = _tool_call(call)
        opening["function"]["arguments"] = ""
        yield {"tool_calls": [{"index": index, **opening}]}, None
        for piece in pieces(call.arguments_text):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
    yield {}, _finish(completion)
