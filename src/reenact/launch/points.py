"""Where a branch leaves its parent, and what is other in it from there on, by what is edited of which steps.

The first of these steps is where it leaves. What can be other on the parent's tape is so from the beginning; all else
waits until the run, which is live then, comes to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from reenact.edits import Decision, parsed, result_rule
from reenact.edits.patch import operations
from reenact.errors import UsageError
from reenact.launch import altering, later
from reenact.launch.forking import Point
from reenact.launch.served import decision_of, with_result
from reenact.launch.tail import Later, Tail
from reenact.tape import branching
from reenact.tape.event import Began, Branch, Part
from reenact.tape.reader import records
from reenact.tape.recording import Event, Recording
from reenact.trajectory import Step, trajectory

TWICE = "step {step} is named twice: say all that is other there behind one --step {step}"
ASKED_THEN = "step {step} had been asked when step {first} was answered, so its context cannot be other; its answer can"
NO_EDIT = "nothing is edited at step {step}: a branch from step {first} on asks all that comes later anyway"


class Edits(msgspec.Struct, frozen=True):
    """What is other at a step: its answer, results of its tools by their names, its context. Nothing: asked again."""

    step: int
    answer: str | None = None
    results: Sequence[tuple[str, str]] = ()
    context: str | None = None

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return self.answer is not None or bool(self.results) or self.context is not None


class Planned(msgspec.Struct, frozen=True):
    """A branch to be made. `given` are the parent's events whose answers are given in it."""

    point: Point
    tail: Tail
    given: frozenset[int] = frozenset()


def planned(recording: Recording, edits: Sequence[Edits], tail: Tail) -> Planned:
    """The branch with these edits, and all else as `tail` says.

    Raises:
        UsageError: they do not fit the run, or one another.
    """
    return _Planning(recording).of(sorted(edits, key=lambda one: one.step), tail)


def decided_at(recording: Recording, step: int) -> Decision:
    """What the model answered there."""
    return decision_of(altering.exchange_of(recording, _Planning(recording).asked(step)))


class _Planning:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._steps = trajectory(recording).steps

    def of(self, edits: Sequence[Edits], tail: Tail) -> Planned:
        first, *rest = edits
        point, tail = self._first(first, tail)
        begun = self._begun(point) if rest else 0
        for one in rest:
            if one.step == first.step:
                raise UsageError(TWICE.format(step=one.step))
            if not one.any:
                raise UsageError(NO_EDIT.format(step=one.step, first=first.step))
            point, tail = self._next(one, point, tail, begun)
            first = one
        altering.edits_of(self._recording, tail)  # what does not fit is told before anything is started
        given = {part.event for part in point.edits} | {one.event for one in tail.later if one.how == "answer"}
        what = "; ".join([point.what, *map(later.what, tail.later)])
        return Planned(replace(point, what=what), tail, frozenset(given))

    def asked(self, step: int) -> Event:
        """The request of a step: the last, of several attempts."""
        return self._recording.events[self._step(step).attempts[-1]]

    def _step(self, step: int) -> Step:
        if not 1 <= step <= len(self._steps):
            raise UsageError(f"{self._recording.path.stem} has no step {step}: it has {len(self._steps)}")
        return self._steps[step - 1]

    def _first(self, one: Edits, tail: Tail) -> tuple[Point, Tail]:
        """What is other at the step where the branch leaves."""
        event = self.asked(one.step)
        if one.answer is None and one.context is None and one.results:
            return self._results(one, event, tail)
        tail = replace(tail, later=[*self._later_results(one, event)])
        if one.context is not None:
            tail = replace(tail, patch=one.context, patched=event.id)
        if one.answer is not None:
            parts = altering.answered(self._recording, event, parsed(one.answer, self._decided(event)))
            what = "another answer and another context" if one.context is not None else "another answer"
            return Point(event.id, parts, one.step, what), tail
        asked = f"asked of {tail.model}" if tail.model else "asked again"
        return Point(event.id, (), one.step, "another context" if one.context is not None else asked), tail

    def _next(self, one: Edits, point: Point, tail: Tail, begun: int) -> tuple[Point, Tail]:
        """What is other at a step after that, of whose requests so many had `begun` then."""
        event = self.asked(one.step)
        found: list[Later] = []
        if one.context is not None:
            if event.id < begun and event.id != point.event:
                raise UsageError(ASKED_THEN.format(step=one.step, first=point.step))
            operations(one.context)
            found.append(Later(one.step, "context", event.id, one.context))
        if one.answer is not None:
            answer = Later(one.step, "answer", event.id, one.answer)
            parts = later.answered(self._recording, answer)
            if event.id < begun:
                what = f"{point.what}; {later.what(answer)}"
                point = replace(point, edits=[*point.edits, *parts], what=what)
            else:
                found.append(answer)
        return point, replace(tail, later=[*tail.later, *found, *self._later_results(one, event)])

    def _results(self, one: Edits, event: Event, tail: Tail) -> tuple[Point, Tail]:
        """Tools that are boundaries give another result themselves; of others, the model is told another one."""
        requests = [self._recording.events[step.attempts[-1]] for step in self._steps[one.step :]]
        edits: list[Part] = []
        results, told, last = [], [], -1
        for name, given in one.results:
            call = self._boundary(one.step, name)
            if call is not None:
                edits += with_result(call, given)
                last = max(last, call.id)
            else:
                where, result = altering.results_of(self._recording, event, requests, name, given)
                results.append(result)
                told.append(where.id)
        what = "another result of " + ", ".join(name for name, _ in one.results)
        return Point(last if edits else min(told), edits, one.step, what), replace(tail, results=results)

    def _boundary(self, step: int, name: str) -> Event | None:
        """The call of that tool at a step, where the tool is a boundary."""
        tool, number = _numbered(name)
        own = altering.tools_of(self._recording, [entry.event for entry in self._step(step).entries], tool)
        if not own:
            return None
        if len(own) > 1 and number is None:
            raise UsageError(f"the step calls {name!r} {len(own)} times; say which: {name}#1 to {name}#{len(own)}")
        if not 1 <= (number or 1) <= len(own):
            raise UsageError(f"the step does not call {tool!r} {number} times, but {len(own)}")
        return own[(number or 1) - 1]

    def _later_results(self, one: Edits, event: Event) -> Iterator[Later]:
        """Other results of calls that are made when the branch is live."""
        for name, given in one.results:
            tool, number = _numbered(name)
            alike = altering.tools_of(self._recording, [*range(len(self._recording.events))], tool)
            if alike:
                with_result(alike[-1], given)
                yield Later(one.step, "value", alike[-1].id, given, tool, (number or 1) - 1)
                continue
            decision = self._decided(event) if one.answer is None else parsed(one.answer, self._decided(event))
            call = result_rule(decision, name, given).call
            nth = [other for other in decision.calls if other.name == call.name].index(call)
            yield Later(one.step, "told", event.id, given, call.name, nth)

    def _decided(self, event: Event) -> Decision:
        return decision_of(altering.exchange_of(self._recording, event))

    def _begun(self, point: Point) -> int:
        """How many events had begun where the branch leaves."""
        branch = Branch("", b"", point.event, [*point.edits])
        own = branching.forked(records(self._recording.path), branch)
        return sum(isinstance(record, Began) for record in own)


def _numbered(name: str) -> tuple[str, int | None]:
    """A tool's name, and which of its calls, as in `lookup#2`."""
    tool, _, number = name.rpartition("#")
    return (tool, int(number)) if tool and number.isdecimal() else (name, None)
