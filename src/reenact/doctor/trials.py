"""Replays of one tape compared with it and with each other: what differs between them is on no tape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from reenact.doctor.finding import Finding, Severity
from reenact.engine.cause import explain
from reenact.engine.cause.alone import looks_like
from reenact.engine.cause.pattern import LEAKS
from reenact.engine.divergence import Cause, Datum, Divergence, What
from reenact.engine.normalize import Normalizer
from reenact.launch.launcher import Replayed
from reenact.report import divergence as divergences
from reenact.report.findings import findings as findings_of

_Key = tuple[object, ...]
_CHANGING: Final = "What it is made from is not on tape, and was another each time."
_STEADY: Final = "Something that it depends on is not as it was when it was recorded: a file, a setting, the program."
_ONCE: Final = "What it is made from is not on tape, and was as recorded by chance alone."
_UNSHOWN: Final = "Nothing that the program asked or wrote shows it, in this run."
_FOLLOWING: Final = (What.EXTRA, What.MISSING, What.EXIT, What.STUCK)
_FOLLOWS: Final = "it may only follow from what differed before"


def findings(trials: Sequence[Replayed], normalizers: Sequence[Normalizer]) -> list[Finding]:
    """What the replays found, each thing once."""
    found = [{_key(one): one for one in reversed(findings_of(trial, normalizers))} for trial in trials]
    keys = list(dict.fromkeys(key for each in found for key in reversed(each)))
    places = [_Place([each[key] for each in found if key in each], len(trials), normalizers) for key in keys]
    shown = [place for place in places if not place.local]
    told = [place.finding(shown=bool(shown), follows=place in shown[1:]) for place in places]
    return [*told, *_faults(trials), *_drifts(trials), *_marks(trials), *_files(trials)]


def _key(divergence: Divergence) -> _Key:
    """The same place of the program, the same sort of difference, the same cause."""
    site, actual = divergence.site, divergence.actual
    place = (site.file, site.line, site.function) if site is not None else (divergence.lane,)
    name = actual.name if isinstance(actual, Datum) and divergence.what is not What.SOCKET else ""
    return divergence.what, *place, name, divergence.cause.slug if divergence.cause is not None else ""


class _Place:
    """The differences of one sort that replays found at one place, one of each replay that has it."""

    def __init__(self, same: Sequence[Divergence], trials: int, normalizers: Sequence[Normalizer]) -> None:
        self._first = same[0]
        self._times = len(same)
        self._trials = trials
        self._changing = len({_asked(one) for one in same}) > 1
        between = _between(same, normalizers) if self._changing else None
        self._cause = self._first.cause or between or _alone(self._first)
        self.local = self._first.what is What.LOCAL

    def finding(self, *, shown: bool, follows: bool) -> Finding:
        """All of it. `shown`: there is a difference in what is asked or written. `follows`: this is not the first."""
        first, cause = self._first, self._cause
        seen = [self._seen(), *(first.notes[1:] if self.local else ())]
        if follows and first.what in _FOLLOWING:
            seen.append(_FOLLOWS)
        why = _CHANGING if self._changing else _STEADY if self._times == self._trials else _ONCE
        return Finding(
            severity=Severity.MAY if self.local else Severity.BREAKS,
            slug=cause.slug if cause is not None else first.what.value,
            what=f"{self._what()}. {cause.text}" if cause is not None else f"{self._what()}.",
            where=first.site,
            place="" if first.site is not None else f"lane {first.lane}",
            seen="; ".join(seen),
            why=f"{why} {_UNSHOWN}" if self.local and not shown else why,
            do=divergences.advice(msgspec.structs.replace(first, cause=cause)),
        )

    def _what(self) -> str:
        actual, headline = self._first.actual, divergences.headline(self._first)
        if self.local and isinstance(actual, Datum):
            return f"The variable {actual.name} holds something else than when recorded"
        return headline[0].upper() + headline[1:]

    def _seen(self) -> str:
        times = "each" if self._times == self._trials else f"{self._times}"
        how = "" if self._times < 2 else ", each time another" if self._changing else ", the same in each"
        event = f" at event {self._first.event}" if self._first.event is not None else ""
        step = f", step {self._first.step}" if self._first.step is not None else ""
        return f"in {times} of {self._trials} replays{how}{event}{step}"


def _asked(divergence: Divergence) -> object:
    """What the run asked; of a variable its digest, which tells more than what is shown."""
    return divergence.notes if divergence.what is What.LOCAL else divergence.actual


def _between(same: Sequence[Divergence], normalizers: Sequence[Normalizer]) -> Cause | None:
    """The likely cause of what differs between two replays."""
    both = msgspec.structs.replace(same[0], expected=same[0].actual, actual=same[1].actual)
    cause = explain(both, normalizers).cause
    kind = next((leak.what for leak in LEAKS if cause is not None and leak.slug == cause.slug), "")
    return Cause(cause.slug, f"Two replays differ there as a {kind} does.", cause.advice) if cause and kind else None


def _alone(divergence: Divergence) -> Cause | None:
    """What it looks like, of a variable: there the tape has nothing to compare with."""
    actual = divergence.actual
    if divergence.what is not What.LOCAL or not isinstance(actual, Datum):
        return None
    return looks_like(actual.data.decode("utf-8", "replace"))


def _faults(trials: Sequence[Replayed]) -> Iterator[Finding]:
    for fault in dict.fromkeys(fault for trial in trials for fault in trial.report.faults):
        yield Finding(
            severity=Severity.BREAKS,
            slug="fault",
            what=fault.splitlines()[-1],
            seen="in a replay",
            why="reenact itself failed, and may have missed a difference.",
            do="Please report it.",
        )


def _drifts(trials: Sequence[Replayed]) -> Iterator[Finding]:
    for drift in dict.fromkeys(drift for trial in trials for drift in trial.report.drifts):
        what, _, place = drift.partition(" at ")
        yield Finding(
            severity=Severity.NOTE,
            slug="drift",
            what=f"{what[0].upper()}{what[1:]} than when recorded.",
            place=place,
            seen="in a replay",
            why="It was answered so that it fits, and changed nothing that was asked.",
            do="Nothing, unless verify fails too: then look whether a value from here is sent.",
        )


def _marks(trials: Sequence[Replayed]) -> Iterator[Finding]:
    drifts = (drift.rpartition(" at ") for trial in reversed(trials) for drift in trial.report.marks)
    for place, what in {place: what for what, _, place in drifts}.items():
        yield Finding(
            severity=Severity.NOTE,
            slug="mark",
            what=f"{what[0].upper()}{what[1:]}.",
            place=place,
            seen="in a replay",
            why="What a program says of itself is not compared, and changed nothing that was asked.",
            do="Give what is the same step the same name, and tell what differs in its attributes.",
        )


def _files(trials: Sequence[Replayed]) -> Iterator[Finding]:
    for path in dict.fromkeys(path for trial in trials for path in trial.report.unrestored):
        yield Finding(
            severity=Severity.MAY,
            slug="file",
            what=f"{path[0].upper()}{path[1:]}.",
            seen="in a replay, as it began",
            why="The program may find something else there than when it was recorded.",
            do="Put the file back as it was, or record again.",
        )
