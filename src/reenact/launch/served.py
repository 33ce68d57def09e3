"""Events of a tape with other answers: the parts that a branch serves in the place of those on tape."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from reenact.edits import Answer, Decision, apply, decided, tool_answer
from reenact.errors import EditError
from reenact.providers import Unreadable
from reenact.tape.event import Kind, Part, PartKind
from reenact.tape.recording import Event
from reenact.trajectory.exchange import Exchange


def decision_of(exchange: Exchange) -> Decision:
    """What the model decided there. Raises EditError where it is no answer that can be edited."""
    return decided(answer_of(exchange))


def with_decision(exchange: Exchange, decision: Decision) -> tuple[Part, ...]:
    """The parts of its answer with another decision; those on tape where it is the same.

    Raises:
        EditError: it is no answer that can be edited, or its API cannot say what is decided.
    """
    answer = answer_of(exchange)
    made = apply(answer, decision)
    parts = [part for _, part in exchange.event.parts]
    return tuple(parts) if made is answer else tuple(_with_answer(parts, made))


def with_result(event: Event, given: str) -> tuple[Part, ...]:
    """The parts of a call of a tool that is a boundary, with another result.

    Raises:
        EditError: it is no such call, failed, or gave back what is given otherwise.
    """
    parts = [part for _, part in event.parts]
    if event.kind is not Kind.TOOL or not parts or parts[-1].kind != PartKind.VALUE:
        raise EditError(f"{event.name} gave back no value that could be another")
    value = tool_answer(event.name, parts[-1].data, given)
    return (*parts[:-1], msgspec.structs.replace(parts[-1], data=value))


def answer_of(exchange: Exchange) -> Answer:
    """The answer as the edits have it. Raises EditError where there is none that can be edited."""
    event, head, question = exchange.event, exchange.head, exchange.question
    if event.kind is not Kind.HTTP:
        raise EditError(f"{event.name} was spoken over a connection of the program's own; its answer cannot be edited")
    if head is None or exchange.failed is not None:
        raise EditError(f"{event.name} got no answer that could be edited")
    if event.left_out:
        raise EditError(f"the answer to {event.name} is too long to be edited")
    return Answer(
        exchange.method,
        exchange.url,
        question if not isinstance(question, Unreadable) else b"",
        head.status,
        head.headers,
        tuple(part.data for part in exchange.chunks),
        chunked=head.framing == "chunked",
        decoded=head.read is not None,
    )


def _with_answer(parts: Sequence[Part], answer: Answer) -> list[Part]:
    """The parts with the head and chunks of that answer. Chunks come when those on tape came, one after another."""
    head = next(part for part in parts if part.kind == PartKind.HEAD)
    times = [part.at for part in parts if part.kind == PartKind.CHUNK] or [head.at]
    count = len(answer.chunks)
    chunks = [
        Part(head.event, PartKind.CHUNK, times[at * len(times) // count], chunk)
        for at, chunk in enumerate(answer.chunks)
    ]
    made: list[Part] = []
    for part in parts:
        if part.kind == PartKind.HEAD:
            made.append(msgspec.structs.replace(part, data=_head(part.data, answer)))
            made += chunks
        elif part.kind != PartKind.CHUNK:
            made.append(part)
    return made


def _head(data: bytes, answer: Answer) -> bytes:
    """The head as the seam wrote it, with the headers of the answer, and how long its body is where that is told."""
    head = {**json.loads(data), "headers": answer.headers}
    if answer.decoded:
        head["read"] = sum(map(len, answer.chunks))
    return msgspec.json.encode(head)
