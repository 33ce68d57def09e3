"""Where a text came from: the way back, for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from reenact.report import moment
from reenact.report.figures import counted
from reenact.report.run import Run, where
from reenact.report.terminal import Paint, clip, columns, plain, wrapped
from reenact.trajectory.origin import Hop, Origin, Verdict
from reenact.trajectory.passage import Source, Way
from reenact.trajectory.sought import Grade

FORMAT: Final = 1
_LISTED: Final = 6
_NAME: Final = 60
_SHOWN: Final = 60  # letters of what was looked for that are said again
_MODELS: Final = {
    Source.ANSWER: "the model's answer",
    Source.THINKING: "the model's thinking",
    Source.ARGUMENTS: "the model's call of {}",
    Source.PROMPT: "the prompt ({})",
    Source.RESULT: "the tool result of {}, as the model is told",
    Source.OFFERED: "the description of the tool {}",
}
_OTHERS: Final = {
    Source.REQUEST: "the request {}",
    Source.RESPONSE: "the answer to {}",
    Source.GIVEN: "what the tool {} was given",
    Source.GAVE: "what the tool {} gave back",
    Source.COMMAND: "the command `{}`",
    Source.SENT: "what was sent to {}",
    Source.CAME: "what {} answered",
    Source.FILE: "the file {}",
    Source.STDIN: "standard input",
    Source.PROGRAM: "the command line",
    Source.VARIABLE: "the environment variable {}",
    Source.CLOCK: "the clock ({})",
    Source.CHANCE: "chance ({})",
    Source.EXCEPTION: "the exception {}",
    Source.OUTPUT: "{}",
    Source.OUTCOME: "the result of the run",
}
_SAYS: Final = {**_MODELS, **_OTHERS}


class OriginDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact origin --json`. `origin` is the version of this form, `run` the run's id.

    `found` is where the text came from, as `trajectory.origin.Origin`.
    """

    origin: int = FORMAT
    run: str
    found: Origin


def text(run: Run, found: Origin, *, width: int, paint: Paint) -> Iterator[str]:
    """It for a terminal, line by line."""
    page = _Page(run, width, paint)
    yield from (paint.bold(line) for line in wrapped(headline(found), width))
    if found.hops:
        yield ""
        for number, hop in enumerate(found.hops):
            yield from page.hop(hop, origin=number == len(found.hops) - 1 and found.verdict is Verdict.CAME)
        yield f"  {paint.dim(_ENDINGS[found.verdict])}"
    yield from page.listed("Candidates: parts of it, that were there before", found.candidates)
    yield from page.listed("Earlier places hold it, too", found.earlier)
    yield from page.listed("It also appears in" if found.hops else "It appears in", found.also)


_ENDINGS: Final = {
    Verdict.CAME: "nothing before holds it: there it came into the run",
    Verdict.MODEL: "nothing that the model was told before holds it: the model wrote it",
    Verdict.PROGRAM: "nothing that came in before holds it: the program made it",
}


def headline(found: Origin) -> str:
    """What came of it, in a sentence."""
    shown = clip(_line(found.text), _SHOWN)
    if not found.hops:
        there = " there" if found.also else " on the tape"
        return f"“{shown}”: nothing{there} holds it"
    last = found.hops[-1]
    place = f" at step {last.step}" if last.step is not None else ""
    match found.verdict:
        case Verdict.CAME:
            return f"“{shown}” came from {named(last)}{place}"
        case Verdict.MODEL:
            return f"“{shown}” was written by the model, in {named(last)}{place}"
        case _:
            return f"“{shown}” was made by the program, which first put it out in {named(last)}{place}"


def named(hop: Hop) -> str:
    """A place, in a few words."""
    return _SAYS[hop.source].format(clip(plain(hop.name), _NAME))


class _Page:
    """What the blocks have in common."""

    def __init__(self, run: Run, width: int, paint: Paint) -> None:
        self._run = run
        self._width = width
        self._paint = paint

    def hop(self, hop: Hop, *, origin: bool = False) -> Iterator[str]:
        """A place on two lines: what it is, and the text with what is around it."""
        arrow = "←" if hop.way is Way.IN else "→"
        facts = [named(hop), f"step {hop.step}" if hop.step is not None else ""]
        facts += [f"event {hop.event}" if hop.event is not None else "", where(hop.site, self._run.cwd)]
        facts += [moment.offset(hop.at) if hop.at >= 0 else "", plain(hop.match.pointer)]
        name, *rest = facts
        line = clip(name, self._width - 4)
        told = "   ".join(filter(None, rest))
        room = self._width - 7 - columns(line)
        style = self._paint.good if origin else self._paint.bold
        yield f"  {arrow} {style(line)}" + (f"   {self._paint.dim(clip(told, room))}" if told and room > 8 else "")
        how = _how(hop)
        yield f"      {self._excerpt(hop, self._width - 6 - columns(how))}{self._paint.dim(how)}"

    def _excerpt(self, hop: Hop, width: int) -> str:
        """What was found, marked, with as much around it as fits."""
        match = hop.match
        core = clip(_line(match.text), max(width - 8, 8))
        room = max(width - 2 - columns(core), 0)
        after, before = _line(match.after), _line(match.before)
        before = clip(before[::-1], max(room // 2, room - columns(after)))[::-1]
        after = clip(after, room - columns(before))
        marked = self._paint.inverted.warn(core) if self._paint.on else f"[{core}]"
        return f"{before}{marked}{after}"

    def listed(self, title: str, hops: Sequence[Hop]) -> Iterator[str]:
        """Places that are not on the way."""
        if not hops:
            return
        yield from ("", self._paint.bold(title))
        for hop in hops[:_LISTED]:
            yield from self.hop(hop)
        if len(hops) > _LISTED:
            yield self._paint.dim(f"  … and {counted(len(hops) - _LISTED, 'place')} more; --json has them all")


def _how(hop: Hop) -> str:
    """How it was found, if not letter by letter."""
    forms = ", ".join(hop.match.forms)
    match hop.match.grade:
        case Grade.EXACT:
            return ""
        case Grade.NORMALIZED:
            return f"   (written otherwise: {forms})"
        case _:
            return f"   ({forms or 'in part'})"


def _line(text: str) -> str:
    """A text on one line."""
    return plain(re.sub(r"\s+", " ", text))
