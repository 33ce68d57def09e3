"""What of a journal is no event, in the order in which it was: draws, output, and files that were found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from reenact.tape.allowance import Allowance
from reenact.tape.event import Again, AnyRecord, Began, Changed, Draws, LaneBorn, Part, Saw, SiteNamed, Wrote
from reenact.tape.journal import assembled, unfold
from reenact.tape.reader import Recording, records

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
    allowance = Allowance()
    waiting = [recording]
    while waiting:
        parent = waiting.pop()
        for process in parent.processes:
            waiting.append(process)
            if process.path != parent.path:
                yield from _moments(assembled(records(process.path)))
            else:
                yield from _moments(assembled(_folded(parent, process, allowance)))


def _folded(parent: Recording, process: Recording, allowance: Allowance) -> Iterator[AnyRecord]:
    for stretch in parent.kin[process.main]:
        allowance.grow(len(stretch.data))
        yield from unfold(stretch, allowance)


def _moments(journal: Iterable[AnyRecord]) -> Iterator[Moment]:
    lanes: dict[int, str] = {}
    sites: dict[int, SiteNamed] = {}
    at = before = 0  # draws and output go on tape with the event that the lane makes next, and behind its beginning
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
