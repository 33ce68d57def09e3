"""From one exchange to its meaning: the way that is the same for every provider."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from reenact.providers import failure
from reenact.providers.call import ApiError, ModelCall, NotAModel, Reading, Unreadable, Usage
from reenact.providers.loose import NOTHING, Doc, load_doc
from reenact.providers.message import Message, Part, ToolCall, ToolResult
from reenact.providers.reader import Place, Question, Reply
from reenact.providers.route import place_of
from reenact.providers.stream import Stream, from_array, stream_of
from reenact.providers.wire import Wire, header


def read(wire: Wire) -> Reading:
    """Say what an exchange means. Never raises: what cannot be read is `Unreadable`, or in `ModelCall.unread`."""
    try:
        return _read(wire)
    except RecursionError:
        return Unreadable("nested too deep", wire.response_body or wire.request_body)


def _read(wire: Wire) -> Reading:
    place = place_of(wire.method, wire.url)
    if place is None:
        return NotAModel("no model answers at this method and URL")
    try:
        body = load_doc(wire.request_body) if wire.request_body or wire.method.upper() == "POST" else NOTHING
        fault = None
    except ValueError as problem:
        body, fault = NOTHING, Unreadable(f"request: {problem}", wire.request_body)
    if any(key not in body for key in place.wants):
        return NotAModel("the URL could be a model's, but the request is none")
    question = place.reader.question(body)
    answer = _answer(wire, place, asked=question.stream or place.stream)
    if fault is not None and answer.reply.message is None and answer.error is None:
        return fault
    return _call(place, question, answer, fault)


class _Answer(msgspec.Struct, frozen=True):
    """The second half of a call, and how well it could be read."""

    reply: Reply = Reply()
    streamed: bool = False
    error: ApiError | None = None
    unread: Unreadable | None = None
    complete: bool = False


def _answer(wire: Wire, place: Place, *, asked: bool) -> _Answer:
    """Read the answer; `asked` says that a stream was asked for."""
    if wire.status is None:
        return _Answer()
    if not 200 <= wire.status < 300:
        return _Answer(error=failure.of_answer(wire.status, wire.response_headers, wire.response_body))
    stream = stream_of(header(wire.response_headers, "content-type"), wire.response_body)
    if stream is None and asked and wire.response_body.lstrip().startswith(b"["):
        stream = from_array(wire.response_body)
    if stream is not None:
        return _streamed(stream, place)
    try:
        body = load_doc(wire.response_body)
    except ValueError as problem:
        return _Answer(unread=Unreadable(f"answer: {problem}", wire.response_body))
    reply, error = place.reader.reply(body), failure.of_doc(body)
    reply = _with_counts(reply, wire)
    return _Answer(reply, error=error, complete=error is None and not reply.pending)


def _streamed(stream: Stream, place: Place) -> _Answer:
    error = next((failure.of_chunk(chunk) for chunk in stream.chunks if chunk.failed), None)
    body: Doc = place.reader.fold([chunk for chunk in stream.chunks if not chunk.failed])
    error = error or failure.of_doc(body)
    reply = place.reader.reply(body)
    ended = reply.finish_reason is not None and error is None and stream.fault is None
    return _Answer(reply, streamed=True, error=error, unread=stream.fault, complete=ended)


def _with_counts(reply: Reply, wire: Wire) -> Reply:
    """Bedrock counts the tokens of an InvokeModel in headers, whatever the model's own format says or leaves out."""
    counts = [header(wire.response_headers, f"x-amzn-bedrock-{side}-token-count") for side in ("input", "output")]
    if reply.usage is not None or not any(counts):
        return reply
    read, written = (int(count) if count.isascii() and count.isdigit() and len(count) < 16 else 0 for count in counts)
    return replace(reply, usage=Usage(read, written))


def _call(place: Place, question: Question, answer: _Answer, fault: Unreadable | None) -> ModelCall:
    reply = answer.reply
    return ModelCall(
        provider=place.provider,
        api=place.reader.api,
        model=question.model or place.model or reply.served or "",
        served=reply.served,
        stream=question.stream or place.stream or answer.streamed,
        messages=_named(question.messages),
        tools=question.tools,
        continues=question.continues or place.continues,
        id=reply.id,
        answer=reply.message,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        error=answer.error,
        complete=answer.complete,
        unread=fault or answer.unread,
    )


def _named(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Give tool results the name of the tool that was called, where the provider leaves it out."""
    names = {part.id: part.name for message in messages for part in message.parts if isinstance(part, ToolCall)}

    def name(part: Part) -> Part:
        if isinstance(part, ToolResult) and part.name is None and part.id in names:
            return ToolResult(part.id, names[part.id], part.text, part.is_error)
        return part

    return tuple(Message(message.role, tuple(map(name, message.parts))) for message in messages)
