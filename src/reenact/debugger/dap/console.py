"""What the debug console is told as the run moves: its steps, as the tape has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reenact.debugger.commands import brief
from reenact.probe.messages import Call
from reenact.tape.recording import Recording
from reenact.trajectory.decision import Step

Fact = tuple[str, str]
"""Something that the tape says: a name, and a text."""


class Console:
    """What a tape says of what passes."""

    def __init__(self, recording: Recording, steps: Iterable[Step]) -> None:
        calls = {event.id: (lane, at) for lane, log in recording.lanes.items() for at, event in enumerate(log.events)}
        self._begin = {calls[step.attempts[0]]: step for step in steps if step.attempts[0] in calls}

    def passed(self, calls: Iterable[Call]) -> Iterator[str]:
        """The steps that begin with any of these calls, each in a line."""
        for call in calls:
            if call in self._begin:
                yield told(self._begin[call])


def told(step: Step) -> str:
    """A step in a line: which model, and what it decided."""
    short = brief(step)
    return f"step {short.number}: {short.model} {short.decision}"


def facts(step: Step) -> list[Fact]:
    """What a person wants to know of a step."""
    usage = step.usage
    tokens = f"{usage.input:,} in, {usage.output:,} out" if usage is not None else ""
    found = [
        ("step", str(step.number)),
        ("model", f"{step.model} of {step.provider} ({step.api})"),
        ("decided", brief(step).decision),
        ("finish", step.finish_reason or ""),
        ("tokens", tokens),
        ("messages", f"{step.news.kept} told before, {len(step.news.messages)} new"),
        ("tools", ", ".join(step.tools)),
        ("agent", step.agent),
        ("lane", step.lane),
        ("trouble", "; ".join(f"{one.type}: {one.message}" for one in step.troubles)),
    ]
    return [(name, text) for name, text in found if text]
