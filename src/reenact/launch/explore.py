"""Explores a run: replays it with its outcomes in other orders, and tells which of them change what it does."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from reenact import _real
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.schedule import RECORDED, Choice, Schedule, schedules
from reenact.errors import UsageError
from reenact.launch import closing, launcher
from reenact.launch import manifest as manifests
from reenact.launch.ending import difference
from reenact.launch.launcher import Other, Replayed
from reenact.launch.settings import Settings
from reenact.tape.event import Expired, Note, Part, Signal, Start
from reenact.tape.reader import read, records
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.tape.writer import TapeWriter

NO_NEWS = 20  # orders by chance, one after the other, that had all been there before: there are hardly others


class Changes(StrEnum):
    """In what an order differs from the recorded one."""

    ASKS = "asks"  # a call that the tape does not hold, or one fewer
    ENDS = "ends"  # another exit status or exception
    OUTPUT = "output"  # other lines on stdout or stderr, in whatever order
    FILES = "files"  # other files left behind
    HANGS = "hangs"  # everything waits for something else, or the run does not come to an end


_CHANGES = {
    What.MISMATCH: Changes.ASKS,
    What.EXTRA: Changes.ASKS,
    What.MISSING: Changes.ASKS,
    What.EXIT: Changes.ENDS,
    What.OUTPUT: Changes.OUTPUT,
    What.FILE: Changes.FILES,
    What.STUCK: Changes.HANGS,
}


@dataclass(frozen=True, slots=True)
class Tried:
    """One order. `signature` is the same for the same order; `lost`: it led to answers that the tape does not hold."""

    schedule: Schedule
    choices: tuple[Choice, ...]
    signature: bytes
    changes: tuple[Changes, ...]
    divergences: tuple[Divergence, ...]
    lost: bool = False

    @property
    def departures(self) -> int:
        """How often another outcome came than the next on tape."""
        return sum(not choice.kept_order for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Finding:
    """The first order of those that change the same: what came early in it, before what, and its tape."""

    order: Tried
    number: int  # of the try, from 1
    run: str
    swapped: Choice
    tape: Path


@dataclass(slots=True)
class Explored:
    """What was tried. `choices` is at how many moments of the recorded order something else could have come.

    `interrupted`: by the user, with Ctrl-C, before all was tried.
    """

    recording: Recording
    seed: int
    choices: int = 0
    tried: list[Tried] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    interrupted: bool = False

    @property
    def distinct(self) -> int:
        """How many orders there were among those tried."""
        return len({order.signature for order in self.tried})

    @property
    def counts(self) -> Counter[tuple[Changes, ...]]:
        """How many tries changed what."""
        return Counter(order.changes for order in self.tried if not order.lost)


def explore(
    recording: Recording,
    store: Store,
    settings: Settings,
    *,
    seed: int,
    runs: int,
    after: Callable[[Explored], None] = lambda _: None,
) -> Explored:
    """Tries up to `runs` orders, and keeps a tape of the first of each sort that changes something.

    `after` is called after each try.

    Raises:
        UsageError: this run cannot be explored.
    """
    _check(recording)
    found = Explored(recording, seed)
    own = _Try(recording, settings)
    base = own.run(RECORDED)
    _check_same(base, recording)
    found.choices = len(base.choices)
    seen, repeated = {base.signature}, 0
    for schedule in schedules(base.choices, seed, runs):
        try:
            order = own.run(schedule)
        except KeyboardInterrupt:
            found.interrupted = True
            break
        if not order.departures:
            _check_same(order, recording)
        found.tried.append(order)
        known = {each.order.changes for each in found.findings}
        if order.changes and order.changes not in known:
            found.findings.append(_keep(own, order, len(found.tried), store))
        repeated = repeated + 1 if order.signature in seen else 0
        seen.add(order.signature)
        after(found)
        if schedule.seed is not None and repeated >= NO_NEWS:
            break
    return found


_NOT_ITSELF = (
    "{run} cannot be explored: in the recorded order too it does not do the same ({what}). "
    "See what reenact verify says of it."
)
_REFUSED = "{run} cannot be explored: {why}"


def _check(recording: Recording) -> None:
    why = ""
    manifest = manifests.decode(recording.manifest)
    launcher.check_program(manifest)
    if manifest.entry:
        why = "it is a run in code. Record the program that calls it with: reenact record"
    elif not recording.closed_by_itself:
        why = "its recording was cut, and the tape does not hold how it ends"
    elif recording.asides:
        why = (
            "some of its requests are side traffic, which is not on tape. Take them off the list "
            "(docs/side-traffic.md) and record it again"
        )
    elif recording.signals or any(isinstance(tick, Signal) for tick in recording.ticks):
        why = "a signal came to it from outside, and what else could have come when is not known"
    if why:
        raise UsageError(_REFUSED.format(run=recording.path.stem, why=why))


def _check_same(order: Tried, recording: Recording) -> None:
    """An order that is the recorded one has to do the same, or nothing could be said of others."""
    if order.changes or order.lost:
        raise UsageError(_NOT_ITSELF.format(run=recording.path.stem, what=", ".join(order.changes) or "waits"))


class _Try:
    """Runs orders of one recording, one after the other."""

    def __init__(self, recording: Recording, settings: Settings) -> None:
        self.recording = recording
        self._settings = settings
        self.journal: list[msgspec.Struct] = []
        self.status = 0

    def run(self, schedule: Schedule) -> Tried:
        """One order, in a process of its own. Its journal is there until the next."""
        tapes: list[Recording] = []

        def taken(path: Path) -> None:
            tapes.append(read(path))
            self.journal = list(records(path))

        done = launcher.reorder(self.recording, Other(schedule, taken), self._settings)
        self.status = done.status
        differences = _differences(self.recording, tapes[0], done)
        return Tried(
            schedule,
            tuple(done.report.choices),
            _signature(tapes[0]),
            tuple(dict.fromkeys(_CHANGES[one.what] for one in differences)),
            differences,
            lost=What.STUCK in {one.what for one in done.report.divergences} and done.report.lost,
        )


def _differences(recording: Recording, other: Recording, done: Replayed) -> tuple[Divergence, ...]:
    """Where this order differs, without what only follows from another difference."""
    found = done.report.divergences
    if found and found[0].what in (What.MISMATCH, What.EXTRA, What.STUCK):
        return () if done.report.lost else tuple(found[:1])  # it was ended there
    files = [one for one in found if one.what is What.FILE]
    ending = difference(recording, done.report, done.status, done.stderr)
    if ending is not None:
        return (ending, *files)
    return (*(one for one in found if one.what is What.MISSING), *_other_lines(recording, other), *files)


def _other_lines(recording: Recording, other: Recording) -> Iterator[Divergence]:
    """The lines that only one of the two wrote. Their order follows from that of outcomes, and is no bug by itself."""
    for stream, name in ((1, "stdout"), (2, "stderr")):
        before, now = (Counter(bytes(tape.wrote.get(stream, b"")).splitlines()) for tape in (recording, other))
        if before != now:
            expected, actual = (b"\n".join(lines.elements()) for lines in (before - now, now - before))
            yield Divergence(What.OUTPUT, "0", expected=Datum(name, name, expected), actual=Datum(name, name, actual))


def _signature(recording: Recording) -> bytes:
    """What tells two orders apart: who went on, one after the other."""
    digest = hashlib.sha256()
    for tick in recording.ticks:
        who = (
            recording.events[tick.event].lane
            if isinstance(tick, Part)
            else tick.lane
            if isinstance(tick, Expired)
            else ""
        )
        digest.update(f"{type(tick).__name__} {who}\n".encode())
    return digest.digest()


def _keep(own: _Try, order: Tried, number: int, store: Store) -> Finding:
    """The tape of an order in the store, as a run of its own."""
    manifest = manifests.decode(own.recording.manifest)
    run, path = store.new(f"{manifest.name}-order")
    started = _real.time_ns()
    source = manifest.run_id
    told = f"this run is {source} with its outcomes in another order, by reenact explore"
    manifest = msgspec.structs.replace(
        manifest, run_id=run, started=started, tags={**manifest.tags, "explored": source}
    )
    first = (Start(manifests.encode(manifest)), Note("explored", told, -1))
    writer = TapeWriter.create(path, run, manifest.name, started, first=first)
    for record in own.journal:
        writer.add(record)  # type: ignore[arg-type]  # that is what they are
    writer.close()
    closing.close(path, own.status)
    swapped = next(choice for choice in order.choices if not choice.kept_order)
    return Finding(order, number, run, swapped, path)
