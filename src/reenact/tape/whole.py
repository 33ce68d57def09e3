"""A run and the processes that it has started, seen as one: their events, lanes and notes side by side.

Each process numbers its events from 0. Seen as one, the numbers go on from process to process: first those of the run
itself, then those of each process and what that has started.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator

from msgspec import field
from msgspec.structs import replace

from reenact.tape.recording import Event, LaneLog, Recording


def every(recording: Recording) -> Iterator[Recording]:
    """The run itself, then each of its processes and what that has started."""
    yield recording
    for process in recording.processes:
        yield from every(process)


def process(recording: Recording, lane: str) -> Recording:
    """The process of a run whose main lane that is.

    Raises:
        KeyError: it has none.
    """
    return {one.main: one for one in every(recording)}[lane]


def firsts(recording: Recording) -> dict[str, int]:
    """By the path of each process's main lane, the number that its first event has in the whole."""
    found: dict[str, int] = {}
    count = 0
    for part in every(recording):
        found[part.main] = count
        count += len(part.events)
    return found


def whole(recording: Recording, without: Container[str] = ()) -> Recording:
    """The run as one recording. What belongs to one process only (its end, its ticks, its files) is the run's own.

    Processes that are left out, by the paths of their main lanes, are not in it.
    """
    parts = [part for part in every(recording) if part.main not in without]
    if len(parts) == 1:
        return recording
    found = _Whole(**{name: getattr(recording, name) for name in Recording.__struct_fields__})
    found.lanes, found.events, found.notes, found.asides, found.marks = {}, [], [], [], []
    found.kin, found._processes = {}, ()  # noqa: SLF001  they are in it
    for part in parts:
        first, marks = len(found.events), len(found.marks)
        found.parts.append(part)
        found.firsts.append(first)
        numbered = [replace(event, id=first + event.id, mark=_from(marks, event.mark)) for event in part.events]
        for path, lane in part.lanes.items():
            found.lanes[path] = replace(lane, events=_of(lane, numbered))
        found.events += numbered
        found.notes += part.notes
        found.asides += part.asides
        found.marks += [replace(mark, within=_from(marks, mark.within)) for mark in part.marks]
        found.session = found.session or part.session
        found.tags = part.tags | found.tags
    return found


def _from(first: int, mark: int) -> int:
    """The number of a mark in the whole; -1 for none."""
    return first + mark if mark >= 0 else -1


def _of(lane: LaneLog, numbered: list[Event]) -> list[Event]:
    return [numbered[event.id] for event in lane.events]


class _Whole(Recording):
    """`parts` are the processes, and `firsts` the numbers of their first events."""

    parts: list[Recording] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)

    def first(self, event: Event) -> int:
        return self.firsts[self._part(event)]

    def body(self, event: Event) -> bytes:
        at = self._part(event)
        part = self.parts[at]
        return part.body(part.events[event.id - self.firsts[at]])

    def _part(self, event: Event) -> int:
        return bisect_right(self.firsts, event.id) - 1
