"""OpenAI Responses: conversations may be kept by the server and continued by id.

https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

from collections.abc import Iterator

from reenact.testing.reply import Answer, Fail
from reenact.testing.request import Request
from reenact.testing.response import Response
from reenact.testing.turn import Message, Provider, Role, Turn
from reenact.testing.wire import sse
from reenact.testing.wire.completion import Completion, complete, pieces
from reenact.testing.wire.dialect import Json, UnreadableError, body_object
from reenact.testing.wire.openai_failure import openai_error, openai_headers
from reenact.testing.wire.stamp import Stamp
from reenact.testing.wire.transcript import Transcript, json_text, parsed_call, text_of

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "assistant": Role.ASSISTANT}
_ECHOED: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}


class ResponsesDialect:
    """`POST .../responses`; keeps each conversation that it answered, for `previous_response_id`."""

    def __init__(self) -> None:
        # Written once per id and never changed: a plain dict is safe between threads.
        self._kept: dict[str, tuple[Message, ...]] = {}

    def read(self, request: Request, index: int) -> Turn:
        """See Dialect."""
        body = body_object(request)
        transcript = Transcript(self._before(body.get("previous_response_id")))
        items = body.get("input", ())
        for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
            _read_item(transcript, item)
        instructions = body.get("instructions")
        system = (Message(Role.SYSTEM, text_of(instructions)),) if instructions else ()
        tools = tuple(str(tool.get("name", tool.get("type", ""))) for tool in body.get("tools") or ())
        model, stream = str(body.get("model", "")), bool(body.get("stream"))
        return Turn(Provider.OPENAI_RESPONSES, model, system + transcript.messages, tools, stream, index, request)

    def write(self, turn: Turn, answer: Answer, stamp: Stamp) -> Response:
        """See Dialect."""
        completion = complete(answer, turn, stamp, "call_", 24)
        body = body_object(turn.request)
        if body.get("store", True):
            self._keep(turn, completion, has_instructions=bool(body.get("instructions")))
        if turn.stream:
            return sse.stream(_Events(body, turn, completion).all(), openai_headers(stamp))
        return sse.document(_ended(body, turn, completion), openai_headers(stamp))

    def error(self, fail: Fail, stamp: Stamp) -> Response:
        """See Dialect."""
        return openai_error(fail, stamp)

    def _before(self, previous: object) -> tuple[Message, ...]:
        if previous is None:
            return ()
        try:
            return self._kept[str(previous)]
        except KeyError:
            message = f"Previous response with id '{previous}' not found."
            raise UnreadableError(message) from None

    def _keep(self, turn: Turn, completion: Completion, *, has_instructions: bool) -> None:
        # Instructions hold for one response only; they are not carried over to the next.
        transcript = Transcript(turn.messages[1:] if has_instructions else turn.messages)
        transcript.say(Role.ASSISTANT, completion.text)
        for call in completion.calls:
            transcript.call(call)
        self._kept[_response_id(completion)] = transcript.messages


def _read_item(transcript: Transcript, item: Json) -> None:
    match item.get("type", "message"):
        case "message":
            transcript.say(_ROLES.get(str(item.get("role")), Role.USER), text_of(item.get("content")))
        case "function_call":
            arguments = str(item.get("arguments", ""))
            transcript.call(parsed_call(str(item.get("name", "")), arguments, str(item.get("call_id", ""))))
        case "function_call_output":
            output = item.get("output")
            text = text_of(output) if isinstance(output, str | list) else json_text(output)
            transcript.result(str(item.get("call_id", "")), text)
        case _:
            pass  # Reasoning and the like: nothing that was said.


def _response_id(completion: Completion) -> str:
    return completion.stamp.hex("resp_", 50)


def _resource(body: Json, turn: Turn, completion: Completion) -> Json:
    return {
        "id": _response_id(completion),
        "object": "response",
        "created_at": completion.stamp.created,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": turn.model,
        "output": [],
        "service_tier": "default",
        "usage": None,
        "user": None,
        **{name: body.get(name, default) for name, default in _ECHOED.items()},
    }


def _ended(body: Json, turn: Turn, completion: Completion) -> Json:
    usage = completion.usage
    resource = _resource(body, turn, completion) | {
        "status": "completed",
        "output": _items(completion),
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        },
    }
    if completion.truncated:
        resource |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return resource


def _part(text: str) -> Json:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _items(completion: Completion) -> list[Json]:
    status = "incomplete" if completion.truncated else "completed"
    items: list[Json] = []
    if completion.text or not completion.calls:
        ident = completion.stamp.hex("msg_", 50)
        content = [_part(completion.text)]
        items.append({"id": ident, "type": "message", "status": status, "role": "assistant", "content": content})
    for slot, call in enumerate(completion.calls):
        ident = completion.stamp.hex("fc_", 50, slot)
        items.append(
            {
                "id": ident,
                "type": "function_call",
                "status": "completed",
                "arguments": call.arguments_text,
                "call_id": call.id,
                "name": call.name,
            }
        )
    return items


class _Events:
    """The events of one streamed response, numbered."""

    def __init__(self, body: Json, turn: Turn, completion: Completion) -> None:
        self._open = _resource(body, turn, completion)
        self._ended = _ended(body, turn, completion)
        self._completion = completion
        self._number = 0

    def all(self) -> Iterator[bytes]:
        """Every event, from `response.created` to the end."""
        yield self._event("response.created", response=self._open)
        yield self._event("response.in_progress", response=self._open)
        for index, item in enumerate(self._ended["output"]):
            yield from self._item(index, item)
        yield self._event(f"response.{self._ended['status']}", response=self._ended)

    def _event(self, kind: str, **fields: object) -> bytes:
        event = {"type": kind, **fields, "sequence_number": self._number}
        self._number += 1
        return sse.named(kind, event)

    def _item(self, index: int, item: Json) -> Iterator[bytes]:
        is_message = item["type"] == "message"
        empty: Json = {"content": []} if is_message else {"arguments": ""}
        bare = item | {"status": "in_progress"} | empty
        yield self._event("response.output_item.added", item=bare, output_index=index)
        yield from self._message(index, item) if is_message else self._call(index, item)
        yield self._event("response.output_item.done", item=item, output_index=index)

    def _message(self, index: int, item: Json) -> Iterator[bytes]:
        place: Json = {"content_index": 0, "item_id": item["id"], "output_index": index}
        yield self._event("response.content_part.added", **place, part=_part(""))
        for word in self._completion.words:
            yield self._event("response.output_text.delta", **place, delta=word, logprobs=[])
        yield self._event("response.output_text.done", **place, logprobs=[], text=self._completion.text)
        yield self._event("response.content_part.done", **place, part=item["content"][0])

    def _call(self, index: int, item: Json) -> Iterator[bytes]:
        place: Json = {"item_id": item["id"], "output_index": index}
        for piece in pieces(item["arguments"]):
            yield self._event("response.function_call_arguments.delta", **place, delta=piece)
        yield self._event("response.function_call_arguments.done", **place, arguments=item["arguments"])
