"""A run as a timeline: every step with what was new in the request, what the model said, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import msgspec

from reenact.diff.change import Change
from reenact.diff.text import elide
from reenact.report import moment
from reenact.report import run as runs
from reenact.report.figures import counted, seconds, size
from reenact.report.marks import Marks
from reenact.report.run import Run, tokens, where
from reenact.report.speech import Said, said
from reenact.report.terminal import Paint, clip, columns, plain, preview
from reenact.trajectory import Entry, Mark, Step, Trajectory, Trouble

FORMAT: Final = 1
_LABEL: Final = 9
_GUTTER: Final = 4 + _LABEL
_FIRST, _LAST = 3, 5  # of many new messages, those that are shown
GIVEN: Final = {
    "person": "answered by hand",
    "parent": "answered from the tape of its parent",
    "refusal": "refused in the branch",
}
"""Who answered in a branch in the place of the world."""
_CHANGES: Final = 3  # of what was sent, those that are shown
_SIDE: Final = 30  # columns of what was, and of what is
_HOUSEKEEPING: Final = ("close", "connect", "wait")
_USUAL_ENDS: Final = frozenset(
    {"stop", "end_turn", "tool_use", "tool_calls", "function_call", "completed", "STOP", "stop_sequence", "COMPLETE"}
)
_STYLES: Final = {"call": "name", "hosted": "name", "thinking": "dim", "system": "dim"}


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact show RUN --json`: the run, its steps, the events that belong to no step, and its marks.

    `timeline` is the version of this form. Times are ns since the run began unless a field says otherwise.
    """

    timeline: int = FORMAT
    run: Run
    steps: tuple[Step, ...]
    outside: tuple[Entry, ...]
    marks: tuple[Mark, ...] = ()


def text(run: Run, trajectory: Trajectory, *, now: int, width: int, paint: Paint, agent: str = "") -> Iterator[str]:
    """The timeline for a terminal, line by line. `agent` is the one whose trajectory it is, if not of the whole run."""
    yield from runs.text(run, now=now, width=width, paint=paint)
    lanes = runs.named(run) if len(run.lanes) > 1 else {}
    marks = Marks(trajectory.marks, paint)
    view = _View(run, lanes, marks, width, paint)
    for row, line in enumerate(marks.tree(trajectory.steps, width - 12, agent)):
        yield f"  {paint.dim(('' if row else 'marks').ljust(10))}{line}"
    items: list[Step | Entry] = [*trajectory.steps, *trajectory.outside]
    items.sort(key=lambda item: (item.began, item.attempts[0] if isinstance(item, Step) else item.event))
    own = _first_own(items, run)
    yield from view.told(items[:own])
    if run.parent:
        yield from ("", paint.bold(clip(f"── here it leaves {runs.branched(run)}", width)))
    yield from view.told(items[own:])
    if not items:
        yield from ("", "  It asked nobody: no HTTP, no sleep, no standard input.")
    elif trajectory.steps:
        number = trajectory.steps[-1].number
        yield from ("", paint.dim(clip(f"reenact show {plain(run.id)}@{number}  shows step {number} in full", width)))


def _first_own(items: Sequence[Step | Entry], run: Run) -> int:
    """Where in a timeline a branch leaves its parent; behind all of it for a run that is none."""
    for at, item in enumerate(items):
        if isinstance(item, Step) and run.parent_step:
            if item.number == run.parent_step:
                return at
        elif (item.attempts[-1] if isinstance(item, Step) else item.event) >= run.inherited and run.parent:
            return at
    return len(items)


def _heading(step: Step, run: Run, width: int, paint: Paint, lanes: Mapping[str, str]) -> str:
    """The first line of a step; its lane is told where `lanes` has it."""
    begin = f"Step {step.number}"
    took = seconds(step.answered - step.began) if step.answered is not None else "no answer"
    facts = [took, plain(step.served or step.model or step.api), tokens(step.usage), where(step.site, run.cwd)]
    facts.append(_lane(step.lane, lanes))
    rest = clip("   ".join([moment.offset(step.began), *(fact for fact in facts if fact)]), width - len(begin) - 2)
    return f"{paint.bold(begin)}  {rest}"


class _View:
    """What the lines of one timeline have in common."""

    def __init__(self, run: Run, lanes: dict[str, str], marks: Marks, width: int, paint: Paint) -> None:
        self._run = run
        self._lanes = lanes
        self._marks = marks
        self._width = width
        self._paint = paint
        self._place = ""

    def told(self, items: Iterable[Step | Entry]) -> Iterator[str]:
        """Steps and events with an empty line before each; where that is another, with the place that they are in."""
        for place, group in groupby(items, key=lambda item: self._marks.place(item.mark)):
            for block in self._blocks(group):
                yield ""
                if place != self._place:
                    yield self._marks.painted(place, self._width)
                    self._place = place
                yield from block

    def _blocks(self, items: Iterable[Step | Entry]) -> Iterator[list[str]]:
        """Lines that belong together: each step, and the events between steps."""
        for outside, group in groupby(items, key=lambda item: isinstance(item, Entry)):
            if outside:
                lines = list(self.others(item for item in group if isinstance(item, Entry)))
                yield from [lines] if lines else []
            else:
                yield from (list(self.step(item)) for item in group if isinstance(item, Step))

    def step(self, step: Step) -> Iterator[str]:
        yield _heading(step, self._run, self._width, self._paint, self._lanes)
        yield from self._question(step)
        shown = set(step.attempts)
        yield from self._sent(step)
        yield from self._attempts(step, shown)
        given = next((entry.given for entry in step.entries if entry.event == step.attempts[-1]), "")
        if given:
            yield self._remark(f"{GIVEN[given]}, and not by the model")
        if step.answer is not None:
            for part in said([step.answer]):
                yield from self._said("←", part)
        if step.finish_reason and step.complete and step.finish_reason not in _USUAL_ENDS:
            yield self._remark(f"the model stopped because of: {plain(step.finish_reason)}", bad=True)
        entries = [entry for entry in step.entries if entry.event not in shown]
        yield from self._entries(entries, self._marks.place(step.mark))

    def others(self, entries: Iterable[Entry]) -> Iterator[str]:
        """Events outside the steps."""
        for entry, count in _folded(_told(entries)):
            facts = [moment.offset(entry.began), _what(entry, count, self._width - 36)]
            facts += [where(entry.site, self._run.cwd), _lane(entry.lane, self._lanes)]
            yield clip(f"  · {'   '.join(fact for fact in facts if fact)}", self._width)
            yield from self._wrong(entry)

    def _question(self, step: Step) -> Iterator[str]:
        news = step.news
        parts = list(said(news.messages))
        if news.rewritten and news.lost:
            gone = counted(len(news.lost), "earlier message")
            how = "rewritten" if parts else "cut back"
            yield self._remark(f"the history was {how}: {gone} gone or changed", bad=True)
        elif not parts:
            yield self._remark("says nothing new" if not step.begins else "says nothing that can be read")
        skipped = len(parts) - _FIRST - _LAST
        if skipped > 1:
            yield from (line for part in parts[:_FIRST] for line in self._said("→", part))
            yield self._remark(f"… {skipped} more")
            parts = parts[-_LAST:]
        yield from (line for part in parts for line in self._said("→", part))

    def _sent(self, step: Step) -> Iterator[str]:
        """What was sent in the place of the last request of a step."""
        for entry in step.entries:
            if entry.event == step.attempts[-1] and entry.sent_as is not None:
                changes = entry.sent_as.changes
                if entry.sent_as.name != entry.name:
                    yield self._remark(f"sent as    {plain(entry.sent_as.name)}")
                yield from (self._remark(f"sent with  {_changed(change)}") for change in changes[:_CHANGES])
                if len(changes) > _CHANGES:
                    yield self._remark(f"… and with {counted(len(changes) - _CHANGES, 'other change')}")

    def _attempts(self, step: Step, shown: set[int]) -> Iterator[str]:
        """What went wrong in each attempt; backoffs before the next one are `shown` so."""
        attempts = [entry for entry in step.entries if entry.event in step.attempts]
        for number, entry in enumerate(attempts):
            following = attempts[number + 1] if number + 1 < len(attempts) else None
            after = ""
            if following is not None:
                waited = following.began - (entry.ended if entry.ended is not None else entry.began)
                shown.update(e.event for e in step.entries if entry.event < e.event < following.event and _slept(e))
                after = f"{'tried' if entry.trouble else 'asked'} again after {seconds(waited)}"
            if entry.trouble is not None:
                yield from self._trouble(entry.trouble, after)
            elif after:
                yield self._remark(f"the answer was not there yet; {after}")

    def _entries(self, entries: Sequence[Entry], place: str) -> Iterator[str]:
        """What the tools of a step at that place did across boundaries; that of another agent or step says so."""
        for entry, count in _folded(_told(entries)):
            other = self._marks.place(entry.mark)
            told = [_what(entry, count, self._width - 36), other if other != place else ""]
            yield self._remark("   ".join(filter(None, told)))
            yield from self._wrong(entry)

    def _wrong(self, entry: Entry) -> Iterator[str]:
        # an HTTP status that is an error stands in the line of the entry
        if entry.trouble is not None and (not refused(entry.trouble) or entry.trouble.message):
            yield from self._trouble(entry.trouble)

    def _trouble(self, trouble: Trouble, after: str = "") -> Iterator[str]:
        words = f"{trouble.status if refused(trouble) else ''} {trouble.type}".strip() or "failed"
        said_ = f"{words}: {trouble.message}" if trouble.message else words
        for row, line in enumerate(preview(said_, self._width - _GUTTER, 2)):
            yield f"  {self._paint.bad(('' if row else '! error').ljust(_LABEL + 2))}{self._paint.bad(line)}"
        if after:
            yield self._remark(after)

    def _said(self, arrow: str, part: Said) -> Iterator[str]:
        style = _STYLES.get(part.label, "")
        for row, line in enumerate(preview(part.short, self._width - _GUTTER, 2)):
            label = (" " * (_LABEL + 2)) if row else f"{arrow} {plain(part.label)[: _LABEL - 1].ljust(_LABEL)}"
            painted = self._paint.bad(line) if part.bad else getattr(self._paint, style)(line) if style else line
            yield f"  {self._paint.dim(label)}{painted}"

    def _remark(self, words: str, *, bad: bool = False) -> str:
        line = clip(words, self._width - 4)
        return f"  {self._paint.warn(f'! {line}') if bad else self._paint.dim(f'· {line}')}"


def _changed(change: Change) -> str:
    """A change on one line."""
    was, now = ("nothing" if side is None else elide(plain(side), _SIDE) for side in (change.before, change.after))
    return f"{plain(change.pointer) or 'the body'}: {change.note or f'{was} became {now}'}"


def _lane(path: str, lanes: Mapping[str, str]) -> str:
    if path not in lanes:
        return ""
    name = plain(lanes[path])
    return f"lane {plain(path)}{f' ({name})' if name and columns(name) <= 16 else ''}"


def refused(trouble: Trouble) -> bool:
    """Whether the answer itself is what went wrong."""
    return trouble.status is not None and trouble.status >= 400


def _slept(entry: Entry) -> bool:
    return entry.kind == "sleep"


def _told(entries: Iterable[Entry]) -> list[Entry]:
    """Those that say something of their own."""
    own = (entry for entry in entries if entry.within is None)
    return [entry for entry in own if entry.kind not in _HOUSEKEEPING or entry.trouble is not None]


def _folded(entries: Sequence[Entry]) -> Iterator[tuple[Entry, int]]:
    """Neighbours that say the same are one, with how many they are."""
    for _, group in groupby(entries, key=_alike):
        first, *rest = group
        yield first, 1 + len(rest)


def _alike(entry: Entry) -> tuple[object, ...]:
    return (
        entry.kind,
        entry.name,
        entry.status,
        entry.lane,
        entry.value,
        entry.trouble and entry.event,
        entry.mark,
        entry.given,
    )


def _what(entry: Entry, count: int, width: int) -> str:
    times = f" ×{count}" if count > 1 else ""
    facts = [clip(plain(entry.name), width) + times]
    if entry.kind == "stdin":
        facts = [f"standard input{times}", clip(plain(entry.value.rstrip("\n")), width) or "(its end)"]
    if entry.kind == "http":
        facts.append(str(entry.status) if entry.status is not None else "")
        facts.append(plain(entry.model))
        facts.append(tokens(entry.usage))
        facts.append(size(entry.received) if entry.received else "")
        facts.append(seconds(entry.ended - entry.began) if entry.ended is not None else "")
    facts.append(GIVEN.get(entry.given, ""))
    return "   ".join(fact for fact in facts if fact)
