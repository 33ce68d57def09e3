"""What of a journal is no event, in the order in which it was: draws, output, and files that were found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from reenact.tape.allowance import Allowance
from reenact.tape.event import Again, AnyRecord, Began, Changed, Draws, LaneBorn, Part, Saw, SiteNamed, Wrote
from reenact.tape.journal import assembled, unfold
from reenact.tape.reader import records
from reenact.tape.recording import Recording
from reenact.tape.whole import every

Found: TypeAlias = Draws | Wrote | Saw | Changed | Again


class Moment(NamedTuple):
    """A record, when it came (ns since the run began, by the event before), its lane, and what sites it may name."""

    at: int
    lane: str
    record: Found
    sites: dict[int, SiteNamed]


def moments(recording: Recording) -> Iterator[Moment]:
    """Those of a run and of the processes that it has started; each process in its own order.

    Raises:
        TapeError: the journal cannot be believed.
    """
    yield from _moments(assembled(records(recording.path)))
    allowance, starts = Allowance(), began(recording)
    waiting = [recording]
    while waiting:
        parent = waiting.pop()
        for process in parent.processes:
            waiting.append(process)
            if process.path != parent.path:
                yield from _moments(assembled(records(process.path)), starts.get(process.main, 0))
            else:
                yield from _moments(assembled(_folded(parent, process, allowance)), starts.get(process.main, 0))


def _folded(parent: Recording, process: Recording, allowance: Allowance) -> Iterator[AnyRecord]:
    for stretch in parent.kin[process.main]:
        allowance.grow(len(stretch.data))
        yield from unfold(stretch, allowance)


def began(recording: Recording) -> dict[str, int]:
    """When the Pythons that a run has started began, by the paths of their main lanes: after the event that did it."""
    return {
        child.lane: part.events[event].at + 1
        for part in every(recording)
        for event, children in part.joined.items()
        for child in children
    }


def _moments(journal: Iterable[AnyRecord], start: int = 0) -> Iterator[Moment]:
    lanes: dict[int, str] = {}
    sites: dict[int, SiteNamed] = {}
    at = before = start  # draws and output go on tape with the event that the lane makes next, and behind its beginning
    lane = ""
    for record in journal:
        match record:
            case Began():
                before, at, lane = at, record.at, lanes.get(record.lane, "")
            case Part():
                before = at = record.at
            case LaneBorn():
                lanes[record.index] = record.path
            case SiteNamed():
                sites[record.index] = record
            case Draws() | Wrote():
                yield Moment(before, lanes.get(record.lane, ""), record, sites)
            case Saw() | Changed() | Again():
                yield Moment(before, lane, record, sites)
