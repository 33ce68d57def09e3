"""What is other in a branch, in terms of the API that is spoken: in an answer on its parent's tape, and in requests.

An answer is changed where it stands, so that the program itself gets it. A request is changed on its way: the program's
own state keeps what it has, and sends it again, so what is changed of one request is a rule for all that follow.
"""

from __future__ import annotations

import msgspec

from reenact.edits import (
    Answer,
    Asked,
    BaseUrlRule,
    Decision,
    ModelRule,
    Rule,
    apply,
    context_rule,
    decided,
    result_rule,
    tool_answer,
)
from reenact.engine.call import headers_of
from reenact.errors import EditError
from reenact.launch.tail import Result, Tail
from reenact.seams.http.head import Head, decode_head, encode_head
from reenact.tape.event import Kind, Part, PartKind
from reenact.tape.reader import Event, Recording


def asked_of(recording: Recording, event: Event) -> Asked:
    """The request of an event."""
    method, _, url = event.name.partition(" ")
    return Asked(method, url, headers_of(event.head), recording.body(event))


def answer_of(recording: Recording, event: Event) -> Answer:
    """What came back, as `edits` wants it.

    Raises:
        EditError: no response did.
    """
    head = _head(event)
    asked = asked_of(recording, event)
    chunks = tuple(part.data for _, part in event.parts if part.kind == PartKind.CHUNK)
    return Answer(
        asked.method,
        asked.url,
        asked.body,
        head.status,
        tuple(head.headers),
        chunks,
        chunked=head.framing == "chunked",
        decoded=head.read is not None,
    )


def decision_of(recording: Recording, event: Event) -> Decision:
    """What the model decided there.

    Raises:
        EditError: it cannot be read.
    """
    return decided(answer_of(recording, event))


def answered(recording: Recording, event: Event, decision: Decision) -> list[Part]:
    """The parts of the answer with that decision.

    Raises:
        EditError: the API cannot say it.
    """
    before, head = answer_of(recording, event), _head(event)
    after = apply(before, decision)
    if after is before:
        raise EditError(f"that is what the model answered at event {event.id}: there is nothing to fork")
    if head.read is not None:
        head = msgspec.structs.replace(head, read=sum(map(len, after.chunks)))
    told = encode_head(msgspec.structs.replace(head, headers=list(after.headers)))
    parts: list[Part] = []
    pieces = iter([Part(event.id, PartKind.CHUNK, 0, chunk) for chunk in after.chunks])
    for _, part in event.parts:
        if part.kind == PartKind.HEAD:
            parts += [Part(event.id, PartKind.HEAD, 0, told), *pieces]
        elif part.kind != PartKind.CHUNK:
            parts.append(part)
    return parts


def _head(event: Event) -> Head:
    found = next((part.data for _, part in event.parts if part.kind == PartKind.HEAD), None)
    if found is None:
        raise EditError(f"event {event.id} got no response that could be edited")
    return decode_head(found)


def given_back(event: Event, given: str) -> list[Part]:
    """The parts of a tool's event with another result.

    Raises:
        EditError: it is no result of that tool.
    """
    value = next((part.data for _, part in event.parts if part.kind == PartKind.VALUE), b"null")
    return [Part(event.id, PartKind.VALUE, 0, tool_answer(event.name, value, given))]


def results_of(recording: Recording, step: Event, later: list[Event], name: str, given: str) -> tuple[Event, Result]:
    """Where the model is told of a tool's result, of one that its answer at `step` called; and the other result.

    `later` are the requests to models that follow.

    Raises:
        EditError: it called no such tool, or nobody told it.
    """
    rule = result_rule(decision_of(recording, step), name, given)
    for event in later:
        try:
            rule.bound(asked_of(recording, event))
        except EditError:
            continue
        return event, Result(step.id, event.id, name, given)
    raise EditError(f"no later request brings the result of {name!r}")


def rules_of(parent: Recording, tail: Tail) -> list[Rule]:
    """What is done to each request of a branch.

    Raises:
        EditError: something of it does not fit.
    """
    rules: list[Rule] = []
    for result in tail.results:
        rule = result_rule(decision_of(parent, parent.events[result.step]), result.name, result.given)
        rules.append(rule.bound(asked_of(parent, parent.events[result.told])))
    if tail.patch:
        rules.append(context_rule(asked_of(parent, parent.events[tail.patched]), tail.patch))
    if tail.model:
        rules.append(ModelRule(tail.model))
    if tail.endpoint:
        rules.append(BaseUrlRule(tail.endpoint, tail.key))
    return rules


def tools_of(recording: Recording, events: list[int], name: str) -> list[Event]:
    """The events that are calls of a tool that is a boundary, by its name or its dotted path."""
    found = [recording.events[event] for event in events]
    return [
        event
        for event in found
        if event.kind is Kind.TOOL and name in (event.name, event.name.rpartition(":")[2].rpartition(".")[2])
    ]
