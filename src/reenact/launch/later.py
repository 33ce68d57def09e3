"""Edits of steps that a branch comes to when it is live. Whether it does, and asks there as its parent did, shows then.

Steps are counted as `show` counts them: a request to a model begins one, unless it asks again what had failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from urllib.parse import urlsplit

from msgspec.structs import replace

from reenact.edits import Asked, ResultRule, Rule, context_rule, parsed
from reenact.edits import Call as ToolCall
from reenact.edits.asked import MESSAGES
from reenact.engine.call import Call
from reenact.engine.guard import Asking
from reenact.errors import EditError
from reenact.launch import altering
from reenact.launch.hazards import Hazards
from reenact.launch.served import decision_of, with_decision, with_result
from reenact.launch.tail import Later
from reenact.providers.route import place_of
from reenact.tape.event import Giver, Kind, Part
from reenact.tape.recording import Event, Recording
from reenact.trajectory import steps

SLUG = "edit"
"""That of the note of an edit that was not made."""


class Edited:
    """The guard of a branch that has such edits, in front of that for hazards. `tell` is told which are not made."""

    def __init__(
        self, parent: Recording, tape: Recording, later: list[Later], hazards: Hazards, tell: Callable[[str], None]
    ) -> None:
        self._parent = parent
        self._hazards = hazards
        self._tell = tell
        self._left = [*later]
        self._asked: dict[str, tuple[Call, Asking]] = {}
        self._step = 0
        self.rules: list[Rule] = []
        """Those that began with a request that is on tape already."""
        for step in steps(tape) if later else ():
            self._step = step.number
            self._left = [one for one in self._left if one.how != "answer" or one.step != step.number]
            self.rules += self.bind(step.number, altering.asked_of(tape, tape.events[step.attempts[-1]]))

    def __call__(self, call: Call, asking: Asking) -> tuple[Event | OSError, Giver] | None:
        """See `engine.guard`."""
        given = self._given(call, asking) if self._left else None
        return (given, Giver.PERSON) if given is not None else self._hazards(call, asking)

    def bind(self, step: int, asked: Asked) -> list[Rule]:
        """See `launch.rerouting`."""
        return [rule for one in [*self._left] for rule in self._bound(one, step, asked)]

    def end(self) -> None:
        """The branch is over."""
        for one in self._left:
            came = f"it came to {self._step} steps" if one.step > self._step else "it went another way after that"
            self._tell(f"{what(one)}: {came}")

    def _given(self, call: Call, asking: Asking) -> Event | None:
        if call.kind is Kind.HTTP and self._begins(call, asking):
            self._step += 1
            asking.step = self._step
            return self._answer(call)
        return self._value(call) if call.kind is Kind.TOOL else None

    def _begins(self, call: Call, asking: Asking) -> bool:
        """Whether a step begins with a request: to a model, for an answer, that is not tried again."""
        place = place_of(*call.name.split(" ", 1))
        if place is None or place.continues is not None or place.reader.api not in MESSAGES:
            return False
        before, self._asked[asking.lane] = self._asked.get(asking.lane), (call, asking)
        again = before is not None and before[0].body == call.body and before[1].failed
        if again and before is not None:
            asking.step = before[1].step
        return not again and asking.event < 0

    def _answer(self, call: Call) -> Event | None:
        """That of the step that begins now, where it is edited."""
        one = next((one for one in self._left if one.how == "answer" and one.step == self._step), None)
        if one is None:
            return None
        self._left.remove(one)
        event = self._parent.events[one.event]
        try:
            if _shape(altering.asked_of(self._parent, event)) == _shape(_asked(call)):
                return _with(event, answered(self._parent, one))
            self._tell(f"{what(one)}: it asks another API there than its parent did, or for another form of answer")
        except EditError as error:
            self._tell(f"{what(one)}: {error}")
        return None

    def _value(self, call: Call) -> Event | None:
        """What that call of a tool gives, where a step that has begun has another result of it."""
        given, left = None, []
        for one in self._left:
            event = self._parent.events[one.event]
            waits = one.how == "value" and one.step <= self._step and event.name == call.name
            if waits and not one.nth and given is None:
                given = _with(event, with_result(event, one.given))
            else:
                left.append(replace(one, nth=one.nth - 1) if waits and one.nth else one)
        self._left = left
        return given

    def _bound(self, one: Later, step: int, asked: Asked) -> Iterator[Rule]:
        try:
            if one.how == "context" and one.step == step:
                self._left.remove(one)
                yield context_rule(asked, one.given)
            elif one.how == "told" and one.step < step:
                rule = ResultRule(ToolCall(one.name), one.given, one.nth).bound(asked)
                self._left.remove(one)
                yield rule
        except EditError as error:
            if one.how == "context":
                self._tell(f"{what(one)}: {error}")


def answered(parent: Recording, one: Later) -> tuple[Part, ...]:
    """The answer of the parent's step, with what it is to say. Raises EditError where it cannot say that."""
    exchange = altering.exchange_of(parent, parent.events[one.event])
    return with_decision(exchange, parsed(one.given, decision_of(exchange)))


def what(one: Later) -> str:
    """An edit in a few words."""
    way = {"answer": "another answer", "context": "another context"}.get(one.how, f"another result of {one.name}")
    return f"{way} at step {one.step}"


def _with(event: Event, parts: Iterable[Part]) -> Event:
    return replace(event, parts=[(-1, part) for part in parts])


def _shape(asked: Asked) -> tuple[str, bool, str]:
    """The API, and whether the answer is to be a stream: by its key, or by the end of the path."""
    return (
        asked.api,
        bool(asked.document().get("stream")),
        urlsplit(asked.url).path.rpartition("/")[2].rpartition(":")[2],
    )


def _asked(call: Call) -> Asked:
    method, _, url = call.name.partition(" ")
    return Asked(method, url, call.headers, call.body)
