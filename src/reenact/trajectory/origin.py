"""Where a text came from: the way back from where it is met to where it first came into the run.

A program puts out what it took in before; a model says what it was told in that conversation; anybody else may give
back what the program gave to him. So the way goes back from crossing to crossing, until nothing before holds the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from reenact.trajectory.decision import Step
from reenact.trajectory.entry import Place
from reenact.trajectory.passage import SAID, TOLD, Passage, Source, Way
from reenact.trajectory.sought import Grade, Match, Sought

_CANDIDATES: Final = 5
_BLIND: Final = frozenset({Source.CLOCK, Source.CHANCE})  # of which a part says nothing
_LEAST: Final = 8  # letters of a piece of a drawn value that say anything: the groups of four of an id do not
_BETWEEN: Final = frozenset({Source.OUTPUT, Source.SENT, Source.COMMAND, Source.CAME, Source.STDIN, Source.PROGRAM})
_ENDS: Final = frozenset({Source.OUTPUT, Source.OUTCOME})


class Verdict(StrEnum):
    """What came of looking for the origin."""

    CAME = "came in"  # it came into the run there, from outside
    MODEL = "model"  # a model wrote it, and nothing that it was told holds it
    PROGRAM = "program"  # the program put it out, and nothing that came in before holds it
    NOWHERE = "nowhere"  # no text on the tape holds it


class Hop(msgspec.Struct, frozen=True):
    """A place where the text crossed the boundary of the run, into it ("in") or out of it ("out").

    `source` is what carried it and `name` whose that is: a tool, a path, a URL. `at` is ns since the run began, -1 for
    what it began with. `step` and `event` are numbers as `reenact show` has them; `site` is the line of source.
    `process` is the path of the main lane of the process where it was, empty for the run's own, and `other` who is on
    the other side: a host, a path, a child process by its command line.
    """

    way: Way
    source: Source
    name: str
    at: int
    step: int | None
    event: int | None
    site: Place | None
    match: Match
    process: str = ""
    other: str = ""


class Origin(msgspec.Struct, frozen=True):
    """Where a text came from.

    `hops` is the way back: first where it was met, last its origin. `earlier` are places before the origin that hold
    it, too, though the way does not lead there; `also` all other places. `candidates` hold a part of it, or a number
    that is close to it, and came before the origin, where that is a model or the program.
    """

    text: str
    verdict: Verdict
    hops: tuple[Hop, ...] = ()
    earlier: tuple[Hop, ...] = ()
    also: tuple[Hop, ...] = ()
    candidates: tuple[Hop, ...] = ()


class Start(msgspec.Struct, frozen=True):
    """Where the way begins: at a step or an event, and there at what went one way; at the end of the run for none."""

    step: int | None = None
    event: int | None = None
    way: Way | None = None


def origin(text: str, passages: Sequence[Passage], steps: Sequence[Step], start: Start) -> Origin:
    """Where a text came from."""
    sought = Sought(text)
    hits = sorted((hit for passage in passages for hit in _hits(sought, passage)), key=_when)
    ways = _Ways(hits, {step.number: step for step in steps})
    met = ways.met(start)
    if met is None:
        return Origin(
            text, Verdict.NOWHERE, also=tuple(hits), candidates=() if hits else _parts(sought, passages, None, hits)
        )
    way = ways.back(met)
    last = way[-1]
    places = {_place(hop) for hop in way}
    rest = list({_place(hit): hit for hit in reversed(hits) if _place(hit) not in places}.values())[::-1]
    verdict = Verdict.PROGRAM if last.way is Way.OUT else Verdict.MODEL if last.source in SAID else Verdict.CAME
    return Origin(
        text,
        verdict,
        tuple(way),
        tuple(hit for hit in rest if _when(hit) < _when(last)),
        tuple(hit for hit in rest if _when(hit) >= _when(last)),
        _parts(sought, passages, last, hits) if verdict is not Verdict.CAME else (),
    )


def _hits(sought: Sought, passage: Passage) -> Iterator[Hop]:
    for match in sought.find(passage.text):
        if passage.source is not Source.CHANCE or len(match.text) >= _LEAST or _is_line(match):
            yield _hop(passage, match)


def _is_line(match: Match) -> bool:
    """Whether it is a whole value: they stand one on a line."""
    return match.before[-1:] in ("", "\n") and match.after[:1] in ("", "\n")


def _hop(passage: Passage, match: Match) -> Hop:
    at, event = passage.at, passage.event
    if passage.starts:
        place = bisect_right(passage.starts, match.at + len(match.text) - 1, key=lambda start: start[0]) - 1
        _, at, event = passage.starts[max(place, 0)]
    return Hop(
        passage.way,
        passage.source,
        passage.name,
        at,
        passage.step,
        event,
        passage.site,
        match,
        passage.process,
        passage.other,
    )


def _when(hop: Hop) -> tuple[int, bool]:
    """What is asked at a moment comes before what is answered."""
    return hop.at, hop.source in _ENDS


class _Ways:
    """How a text can have gone from one place to another."""

    def __init__(self, hits: Sequence[Hop], steps: dict[int, Step]) -> None:
        self._hits = hits
        self._steps = steps

    def met(self, start: Start) -> Hop | None:
        """Where the text is met: the last place there, or what the request there holds of what was said before."""
        hits = [hit for hit in self._hits if start.way is None or hit.way is start.way]
        if start.event is not None:
            there = [hit for hit in hits if hit.event == start.event]
        elif start.step is not None:
            there = [hit for hit in hits if hit.step == start.step]
        else:
            there = [hit for hit in hits if hit.source in _ENDS] or hits
        if not there and start.step is not None and start.way is not Way.IN:
            known = self._conversation(start.step)
            there = [hit for hit in self._hits if hit.step in known and hit.source in TOLD | SAID]
        return max(there, key=_when, default=None)

    def back(self, met: Hop) -> list[Hop]:
        """From there to its origin."""
        found = [met]
        while (before := self._source(found[-1])) is not None:
            found.append(before)
        return found

    def _source(self, hop: Hop) -> Hop | None:
        """Where the text came from there: of all places the one that has most in common around it, else the last."""
        before = [hit for hit in self._hits if _when(hit) < _when(hop)]
        if hop.way is Way.OUT:
            possible: Iterable[Hop] = (
                hit for hit in before if hit.way is Way.IN and _is_within(hop.process, hit.process)
            )
        elif hop.source in SAID:
            known = self._conversation(hop.step)
            possible = (hit for hit in before if hit.step in known and hit.source in TOLD | SAID)
        else:
            possible = (hit for hit in before if hit.way is Way.OUT and _is_of(hit, hop))
        return max(possible, key=lambda hit: (_around(hit, hop), hit.match.grade is Grade.EXACT, hit.at), default=None)

    def _conversation(self, step: int | None) -> set[int | None]:
        """The steps that a step's request holds what was said in, itself among them."""
        found: set[int | None] = set()
        while step is not None and step not in found:
            found.add(step)
            step = self._steps[step].follows
        return found


def _is_within(process: str, other: str) -> bool:
    """Whether a process is another one or was started by it, and so may know what that took in before."""
    return not other or process == other or process.startswith(f"{other}.")


def _is_of(put_out: Hop, taken_in: Hop) -> bool:
    """Whether the one was given to whom the other came from: asked of him, or put out by another process of the run."""
    if put_out.process != taken_in.process:
        return put_out.source in _BETWEEN and taken_in.source in _BETWEEN
    same = put_out.other == taken_in.other != ""
    return put_out.event is not None and (put_out.event == taken_in.event or same)


def _around(one: Hop, other: Hop) -> int:
    """How many letters the two have in common around what was found."""
    ends = (
        zip(one.match.after, other.match.after, strict=False),
        zip(reversed(one.match.before), reversed(other.match.before), strict=False),
    )
    return sum(_equal(pairs) for pairs in ends)


def _equal(pairs: Iterable[tuple[str, str]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _place(hop: Hop) -> tuple[object, ...]:
    """What two places have in common that are one and the same text."""
    return hop.way, hop.source, hop.name, hop.event, hop.step, hop.process


def _parts(sought: Sought, passages: Iterable[Passage], before: Hop | None, whole: Iterable[Hop]) -> tuple[Hop, ...]:
    """The places before that hold most of it, the earliest of those that hold the same."""
    found: dict[str, Hop] = {}
    known_whole = {_place(hop) for hop in whole}
    for passage in passages:
        match = sought.part(passage.text) if passage.source not in _BLIND else None
        if match is None:
            continue
        hop = _hop(passage, match)
        if _place(hop) in known_whole:
            continue
        if before is not None and (_when(hop) >= _when(before) or (hop.event, hop.way) == (before.event, before.way)):
            continue
        known = found.get(match.text.casefold())
        if known is None or _when(hop) < _when(known):
            found[match.text.casefold()] = hop
    return tuple(sorted(found.values(), key=lambda hop: (-hop.match.score, _when(hop)))[:_CANDIDATES])
