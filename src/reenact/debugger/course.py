"""A run as people count it, from its tape: its steps and events, and which calls of the process they are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from reenact.errors import UsageError
from reenact.launch import manifest as manifests
from reenact.launch.manifest import describe
from reenact.probe.messages import Call
from reenact.tape.event import Kind
from reenact.tape.recording import Recording
from reenact.tape.whole import whole
from reenact.trajectory import Step, trajectory
from reenact.trajectory.passage import TOLD, of_models
from reenact.trajectory.sought import Grade, Match, Sought


class Told(msgspec.Struct, frozen=True):
    """Where a model was first told a text: the step, by what (a prompt, the result of a tool), whose, and how."""

    step: int
    source: str
    name: str
    match: Match


class Course:
    """The steps and events of a run. Those of other processes of the run are known, and cannot be gone to."""

    def __init__(self, recording: Recording) -> None:
        self.manifest = manifests.decode(recording.manifest)
        self.found = trajectory(recording)
        self.names = {lane.path: lane.name for lane in recording.lanes.values()}
        self.error = describe(recording.ended.error) if recording.ended is not None and recording.ended.error else ""
        events = whole(recording).events
        self.events = len(events)
        self._tools = {event.id: event.name.rpartition(":")[2] for event in events if event.kind is Kind.TOOL}
        self._calls = {
            event.id: (lane.path, at) for lane in recording.lanes.values() for at, event in enumerate(lane.events)
        }
        self.calls = len(self._calls)
        self._numbers = {call: event for event, call in self._calls.items()}
        self._steps = {entry.event: step.number for step in self.steps for entry in step.entries}

    @property
    def steps(self) -> tuple[Step, ...]:
        """Those of `reenact show`."""
        return self.found.steps

    def call_of_step(self, number: int) -> Call:
        """The call by which a step begins.

        Raises:
            UsageError: there is no such step, or it is another process's.
        """
        if not self.steps:
            raise UsageError("the run has no steps: it asked no model")
        if not 1 <= number <= len(self.steps):
            raise UsageError(f"there is no step {number}: the run has steps 1 to {len(self.steps)}")
        return self.call_of_event(self.steps[number - 1].attempts[0])

    def call_of_event(self, number: int) -> Call:
        """The call that is an event of the tape.

        Raises:
            UsageError: there is no such event, or it is another process's.
        """
        if number in self._calls:
            return self._calls[number]
        if not self.events:
            raise UsageError("the run has no events")
        if not 0 <= number < self.events:
            raise UsageError(f"there is no event {number}: the run has events 0 to {self.events - 1}")
        raise UsageError(f"event {number} is of a process that the run has started: only the run's own can be debugged")

    def event_of(self, call: Call) -> int | None:
        """The number of an event, as `reenact show --event` counts."""
        return self._numbers.get(call)

    def step_after(self, past: Sequence[Call], lane: str) -> int:
        """The step that a lane is in when these calls have begun: by its last call, or else by anybody's; 0: none."""
        own = (call for call in reversed(past) if call[0] == lane)
        for calls in (own, reversed(past)):
            for call in calls:
                if step := self._steps.get(self._numbers.get(call, -1)):
                    return step
        return 0

    def calls_of_tool(self, name: str) -> list[Call]:
        """Where a tool is asked for: the requests whose answers call it, and the calls of a function that is a tool."""
        events = [step.attempts[-1] for step in self.steps if any(call.name == name for call in step.calls)]
        events += [event for event, tool in self._tools.items() if name in (tool, tool.rpartition(".")[2])]
        return [self._calls[event] for event in events if event in self._calls]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were called."""
        asked = (call.name for step in self.steps for call in step.calls)
        return list(dict.fromkeys([*asked, *self._tools.values()]))

    def first_told(self, text: str) -> Told | None:
        """Where a model was first told a text: letter by letter, or else in another form."""
        sought, found = Sought(text), None
        for passage in of_models(self.found, {}):
            if passage.source not in TOLD or passage.step is None:
                continue
            for match in sought.find(passage.text):
                told = Told(passage.step, passage.source, passage.name, match)
                if found is None or _rank(told) < _rank(found):
                    found = told
        return found


def _rank(told: Told) -> tuple[bool, int]:
    return told.match.grade is not Grade.EXACT, told.step
