"""What a replay found: every difference from its tape, with its changes, its likely cause and its step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reenact.engine.divergence import Datum, Divergence, Marked, What
from reenact.engine.normalize import SHIPPED, Normalizer
from reenact.launch.ending import difference, on_the_way
from reenact.launch.launcher import Replayed
from reenact.tape.recording import Recording
from reenact.tape.whole import every, firsts, whole

UNKNOWN_SEED = "sets of texts had an order of that process alone: start it with PYTHONHASHSEED=0 to have it again"
SWALLOWED = "the program caught this and went on, to end as it did when recorded"


def findings(replayed: Replayed, normalizers: Sequence[Normalizer] = SHIPPED) -> tuple[Divergence, ...]:
    """The differences in the order in which they were met; empty when there are none. Those of processes come after.

    Another end of the run comes last, but before what only follows from an exception: a traceback, calls not made.
    `normalizers` are those that the replay compared with.
    """
    recording = replayed.recording
    first = firsts(recording)
    found = _findings(replayed, normalizers)
    for process in replayed.processes:
        if process.why:
            continue
        of = process.recording
        own = [one for one in _findings(process, normalizers) if contested(one, of, recording) is None]
        found += [_of_process(one, process.name, first[of.main]) for one in own]
    return _numbered(found or list(_unstarted(replayed)), recording)


def contested(divergence: Divergence, process: Recording, run: Recording) -> str | None:
    """The file that a process left otherwise, if others wrote to it as well: who was last is not its own doing."""
    path = divergence.expected.name if isinstance(divergence.expected, Datum) else ""
    if divergence.what is not What.FILE or not any(path in each.left for each in every(run) if each is not process):
        return None
    return path


def _of_process(divergence: Divergence, name: str, first: int) -> Divergence:
    """As one of the whole run, where its events have numbers from `first` on."""
    event, after = (number if number is None else first + number for number in (divergence.event, divergence.after))
    return msgspec.structs.replace(divergence, process=name, event=event, after=after)


def _unstarted(replayed: Replayed) -> Iterator[Divergence]:
    """Processes that the tape holds, and that were not started again, though all else was the same."""
    started = {process.recording.main for process in replayed.processes}
    for process in every(replayed.recording):
        if process is not replayed.recording and process.main not in started:
            expected = Datum("process", f"start {process.name}")
            yield Divergence(What.MISSING, process.main, expected=expected, process=process.name)


def _findings(replayed: Replayed, normalizers: Sequence[Normalizer]) -> list[Divergence]:
    """The differences of one process."""
    report, recording = replayed.report, replayed.recording
    found = [one for one in report.divergences if recording.closed_by_itself or not _beyond_the_cut(one)]
    if found and swallowed(replayed):
        found[0] = msgspec.structs.replace(found[0], notes=(*found[0].notes, SWALLOWED))
    ending = difference(recording, report, replayed.status, replayed.stderr)
    if ending is not None:
        found.insert(_place(found, replayed), ending)
    if not found:
        return []
    from reenact.engine.cause import explain  # noqa: PLC0415  a replay without differences has no cause to look for

    draws = [Datum("draw", text) for text in report.drifts]
    return [_seeded(explain(divergence, normalizers, draws), replayed) for divergence in found]


def _seeded(divergence: Divergence, replayed: Replayed) -> Divergence:
    """With a word on the hash seed, where sets may be in another order because nobody knows the recorded one."""
    unordered = divergence.cause is not None and divergence.cause.slug == "unordered"
    if not unordered or not replayed.manifest.entry or replayed.manifest.hash_seed_set:
        return divergence
    return msgspec.structs.replace(divergence, notes=(*divergence.notes, UNKNOWN_SEED))


def _beyond_the_cut(divergence: Divergence) -> bool:
    """Whether the run wrote more than a recording that was cut could still keep."""
    match divergence:
        case Divergence(what=What.OUTPUT, expected=Datum() as expected, actual=Datum() as actual):
            return actual.data.startswith(expected.data)
    return False


def _place(found: Sequence[Divergence], replayed: Replayed) -> int:
    """Before a traceback or a call that the exception kept from being made, which only follow from it."""
    if not replayed.report.error:
        return len(found)
    follow = [_follows(divergence) for divergence in found]
    return follow.index(True) if True in follow else len(found)


def _follows(divergence: Divergence) -> bool:
    actual = divergence.actual
    traceback = divergence.what is What.OUTPUT and isinstance(actual, Datum) and actual.name == "stderr"
    return traceback or not on_the_way(divergence)


def _raised(divergence: Divergence) -> bool:
    return on_the_way(divergence) and divergence.what is not What.OUTPUT


def swallowed(replayed: Replayed) -> bool:
    """Whether the program left its tape, was told so by an exception, and went on to end as it did when recorded."""
    told_so = any(map(_raised, replayed.report.divergences)) and not replayed.observed
    return told_so and replayed.report.complete and replayed.status == replayed.recording.status != 1


def _numbered(found: list[Divergence], recording: Recording) -> tuple[Divergence, ...]:
    if not found:
        return ()
    from reenact.trajectory import step_of_event  # noqa: PLC0415  a replay without differences needs no steps

    steps, together = step_of_event(recording), whole(recording)
    return tuple(_placed(divergence, together, steps) for divergence in found)


def _marks(recording: Recording, number: int) -> tuple[Marked, ...]:
    found = []
    while number >= 0:
        mark = recording.marks[number]
        found.append(Marked(mark.kind.name.lower(), mark.name))
        number = mark.within
    return tuple(reversed(found))


def _placed(divergence: Divergence, recording: Recording, steps: Mapping[int, int]) -> Divergence:
    event = divergence.event if divergence.event is not None else divergence.after
    if event is not None:
        marks = divergence.marks or _marks(recording, recording.events[event].mark)
        return msgspec.structs.replace(divergence, step=divergence.step or steps.get(event), marks=marks)
    lane = recording.lanes.get(divergence.lane)
    if divergence.what is What.EXTRA and lane is not None and lane.events and lane.events[-1].id in steps:
        last = f"it comes after step {steps[lane.events[-1].id]}, the last that this lane has on tape"
        return msgspec.structs.replace(divergence, notes=(*divergence.notes, last))
    return divergence
