"""What the debug console is told as the run moves: its steps, and what the program writes, as the tape has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from reenact.debugger.commands import brief
from reenact.probe.messages import Call
from reenact.tape.event import Wrote
from reenact.tape.reader import Recording
from reenact.trajectory.decision import Step
from reenact.trajectory.moments import moments

Written = dict[str, dict[int, int]]
"""How many bytes each lane has written, by its path and the number of the stream."""

Fact = tuple[str, str]
"""Something that the tape says: a name, and a text."""


class _Piece(msgspec.Struct, frozen=True):
    """Some output, and where it stands in what its lane wrote to that stream."""

    lane: str
    stream: int
    start: int
    data: bytes


class Console:
    """What a tape says of what passes."""

    def __init__(self, recording: Recording, steps: Iterable[Step]) -> None:
        self._pieces = list(_pieces(recording))
        calls = {event.id: (lane, at) for lane, log in recording.lanes.items() for at, event in enumerate(log.events)}
        self._begin = {calls[step.attempts[0]]: step for step in steps if step.attempts[0] in calls}

    def passed(self, calls: Iterable[Call]) -> Iterator[str]:
        """The steps that begin with any of these calls, each in a line."""
        for call in calls:
            if call in self._begin:
                yield told(self._begin[call])

    def written(self, before: Written, after: Written) -> Iterator[tuple[str, str]]:
        """What was written between two moments: the console's word for the stream, and a text, in the tape's order."""
        for piece in self._pieces:
            start, end = (one.get(piece.lane, {}).get(piece.stream, 0) - piece.start for one in (before, after))
            data = piece.data[max(start, 0) : max(end, 0)]
            if data:
                yield "stdout" if piece.stream == 1 else "stderr", data.decode("utf-8", "replace")

    def all_written(self) -> Written:
        """What has been written at the end."""
        found: Written = {}
        for piece in self._pieces:
            found.setdefault(piece.lane, {})[piece.stream] = piece.start + len(piece.data)
        return found


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


def _pieces(recording: Recording) -> Iterator[_Piece]:
    """All output of the run's own process, in the order of the tape."""
    at: dict[tuple[str, int], int] = {}
    for moment in moments(recording):
        if isinstance(moment.record, Wrote) and moment.lane in recording.lanes:
            lane, stream, data = moment.lane, moment.record.stream, moment.record.data
            start = at.get((lane, stream), 0)
            at[lane, stream] = start + len(data)
            yield _Piece(lane, stream, start, data)
