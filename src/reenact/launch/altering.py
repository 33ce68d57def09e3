"""What is other in a branch, in terms of the API that is spoken: in an answer on its parent's tape, and in requests.

An answer is changed where it stands, so that the program itself gets it. A request is changed on its way: the program's
own state keeps what it has, and sends it again, so what is changed of one request is a rule for all that follow.
"""

from __future__ import annotations

from reenact.edits import Asked, BaseUrlRule, Decision, ModelRule, Rule, context_rule, result_rule
from reenact.engine.call import headers_of
from reenact.errors import EditError
from reenact.launch.served import decision_of, with_decision
from reenact.launch.tail import Result, Tail
from reenact.tape.event import Kind, Part
from reenact.tape.recording import Event, Recording
from reenact.trajectory.exchange import Exchange


def asked_of(recording: Recording, event: Event) -> Asked:
    """The request of an event."""
    method, _, url = event.name.partition(" ")
    return Asked(method, url, headers_of(event.head), recording.body(event))


def exchange_of(recording: Recording, event: Event) -> Exchange:
    """An event with the bytes of both directions."""
    return Exchange(event, recording.body(event))


def answered(recording: Recording, event: Event, decision: Decision) -> tuple[Part, ...]:
    """The parts of the answer with that decision.

    Raises:
        EditError: the API cannot say it, or it is no other.
    """
    parts = with_decision(exchange_of(recording, event), decision)
    if parts == tuple(part for _, part in event.parts):
        raise EditError(f"that is what the model answered at event {event.id}: there is nothing to fork")
    return parts


def results_of(recording: Recording, step: Event, later: list[Event], name: str, given: str) -> tuple[Event, Result]:
    """Where the model is told of a tool's result, of one that its answer at `step` called; and the other result.

    `later` are the requests to models that follow.

    Raises:
        EditError: it called no such tool, or nobody told it.
    """
    rule = result_rule(decision_of(exchange_of(recording, step)), name, given)
    for event in later:
        try:
            rule.bound(asked_of(recording, event))
        except EditError:
            continue
        return event, Result(step.id, event.id, name, given)
    raise EditError(f"no later request brings the result of {name!r}")


def edits_of(parent: Recording, tail: Tail) -> list[Rule]:
    """What is other of what the requests of a branch say, from the first that is live on.

    Raises:
        EditError: something of it does not fit.
    """
    rules: list[Rule] = []
    for result in tail.results:
        rule = result_rule(decision_of(exchange_of(parent, parent.events[result.step])), result.name, result.given)
        rules.append(rule.bound(asked_of(parent, parent.events[result.told])))
    if tail.patch:
        rules.append(context_rule(asked_of(parent, parent.events[tail.patched]), tail.patch))
    return rules


def policy_of(tail: Tail, key: str) -> list[Rule]:
    """Which model the requests of a branch ask, and where, with that key.

    Raises:
        EditError: that is no place.
    """
    rules: list[Rule] = [ModelRule(tail.model)] if tail.model else []
    return [*rules, BaseUrlRule(tail.endpoint, key)] if tail.endpoint else rules


def tools_of(recording: Recording, events: list[int], name: str) -> list[Event]:
    """The events that are calls of a tool that is a boundary, by its name or its dotted path."""
    found = [recording.events[event] for event in events]
    return [
        event
        for event in found
        if event.kind is Kind.TOOL and name in (event.name, event.name.rpartition(":")[2].rpartition(".")[2])
    ]
