"""Two runs compared: the first thing that differs, then step by step, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from reenact.diff.change import Change, Kind
from reenact.launch import manifest as manifests
from reenact.launch.manifest import Manifest
from reenact.report import moment
from reenact.report import run as runs
from reenact.report.changes import Changes
from reenact.report.figures import counted
from reenact.report.run import Run, told, where
from reenact.report.speech import said
from reenact.report.terminal import Paint, clip, columns, padded, plain, preview, wrapped
from reenact.tape.reader import outline
from reenact.tape.redact import is_secret_name
from reenact.trajectory import Step, trajectory
from reenact.trajectory.compare import Side, compared
from reenact.trajectory.difference import SETTINGS, Comparison, Difference, First, Pair, Sort
from reenact.trajectory.own import own

FORMAT: Final = 1
_LABEL: Final = 10
_CHANGES: Final = 4  # of one difference that are shown with the others
_SIGNS: Final = {"a": "-", "b": "+"}
_OF: Final = frozenset({Sort.RESULT, Sort.ARGUMENTS})
_PLAIN: Final = frozenset({Sort.CALL, Sort.EVENT})  # which tell their name themselves


class Counts(msgspec.Struct, frozen=True):
    """How many steps are the same, differ in what matters, or are there on one side only."""

    same: int
    differ: int
    only_a: int
    only_b: int


class DiffDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact diff A B --json`. `diff` is the version of this form; `a` and `b` are as in `show --json`.

    `same` says that nothing differs that matters. `first` is the first difference that does, `first_said` the first
    that is no mere setting (model, provider, parameter, offered tool). `given` is what differs in how the two were
    started. `steps` are in the order of the first run. What a run sets otherwise from some step on is told there only.
    """

    diff: int = FORMAT
    a: Run
    b: Run
    same: bool
    first: First | None
    first_said: First | None
    counts: Counts
    given: dict[str, tuple[str, str]]
    steps: tuple[Pair, ...]
    beside: tuple[Difference, ...]
    end: tuple[Difference, ...]


def document(a: Run, b: Run, found: Comparison, given: dict[str, tuple[str, str]]) -> DiffDocument:
    """What the JSON holds."""
    matters = found.matters()
    return DiffDocument(
        a=a,
        b=b,
        same=not matters,
        first=next(iter(matters), None),
        first_said=next((one for one in matters if one.difference.sort not in SETTINGS), None),
        counts=_counts(found.steps),
        given=given,
        steps=found.steps,
        beside=found.beside,
        end=found.end,
    )


class Compared(NamedTuple):
    """A run as it is compared, and as it is told."""

    side: Side
    run: Run


def side(path: Path) -> Compared:
    """The run on a tape.

    Raises:
        TapeError: it cannot be read.
    """
    recording = outline(path)
    found = trajectory(recording)
    told_ = runs.run(recording, found)
    return Compared(
        Side(recording, found, own(recording, found.steps, told_.started, told_.duration, told_.cwd)), told_
    )


def between(a: Compared, b: Compared) -> DiffDocument:
    """Two runs compared."""
    return document(a.run, b.run, compared(a.side, b.side), given(a.side, b.side))


def _counts(pairs: Sequence[Pair]) -> Counts:
    both = [pair for pair in pairs if pair.a is not None and pair.b is not None]
    differ = sum(pair.differs for pair in both)
    only_a, only_b = sum(pair.b is None for pair in pairs), sum(pair.a is None for pair in pairs)
    return Counts(len(both) - differ, differ, only_a, only_b)


def given(a: Side, b: Side) -> dict[str, tuple[str, str]]:
    """What differs in how two runs were started, by what it is."""
    facts = [_facts(manifests.decode(side.recording.manifest)) for side in (a, b)]
    names = dict.fromkeys((*facts[0], *facts[1]))
    both = {name: (facts[0].get(name, ""), facts[1].get(name, "")) for name in names}
    return {name: (old, new) for name, (old, new) in both.items() if a.own.without(old) != b.own.without(new)}


def _facts(manifest: Manifest) -> dict[str, str]:
    facts = {
        "program": manifest.entry or manifest.command,
        "arguments": manifest.arguments,
        "folder": manifest.cwd,
        "python": manifest.python,
        "reenact": manifest.reenact,
        "platform": manifest.platform,
        "git commit": manifest.git_commit,
        **{f"package {name}": version for name, version in manifest.packages.items()},
        **{f"variable {name}": value for name, value in manifest.environment.items() if not is_secret_name(name)},
    }
    return {name: value for name, value in facts.items() if value}


# For a terminal


def text(
    document: DiffDocument, steps: tuple[Sequence[Step], Sequence[Step]], *, width: int, paint: Paint, step: int | None
) -> Iterator[str]:
    """The comparison for a terminal, line by line. With a `step` of the first run, that one in full, and no others."""
    page = _Page(document, steps, width, paint, in_full=step is not None)
    if step is not None:
        yield from page.pairs([pair for pair in document.steps if pair.a == step])
        return
    yield from page.head()
    yield from page.beside([one for one in document.beside if one.sort is Sort.INPUT], "Standard input")
    yield from page.pairs(document.steps)
    yield from page.beside([one for one in document.beside if one.sort is not Sort.INPUT], "Outside the steps")
    yield from page.beside(document.end, "The end")


def headline(document: DiffDocument) -> str:
    """What came of it, in a line."""
    runs = f"{plain(document.a.id)} and {plain(document.b.id)}"
    first = document.first_said or document.first
    if first is None:
        return f"{runs} are the same"
    if first.difference.sort is Sort.STEP:
        has, lacks = (document.a, document.b) if first.b is None else (document.b, document.a)
        return f"{runs} differ, first by step {first.a or first.b} of {plain(has.id)}, which {plain(lacks.id)} has not"
    at = _at(first)
    return f"{runs} differ, first {at + ': ' if at else 'in '}{named(first.difference)}"


def parted(document: DiffDocument) -> str:
    """Where the second run first does other than the first, in a few words; empty where it does not."""
    first = document.first_said or document.first
    if first is None:
        return ""
    if first.difference.sort is Sort.STEP:
        return f"step {first.b}: a further one" if first.a is None else f"step {first.a}: it has none"
    at = f"step {first.b}: " if first.b is not None else ""
    change = f", {_shortly(first.difference)}" if first.difference.changes else ""
    return f"{at}{named(first.difference)}{change}"


def _at(first: First) -> str:
    """At which step that is; empty where it is in none, or there is none on one side."""
    if first.a is None or first.b is None:
        return ""
    return f"at step {first.a}" if first.a == first.b else f"at step {first.a} of the first, {first.b} of the second"


def named(difference: Difference) -> str:
    """What differs, in a few words."""
    sort, name = difference.sort, plain(difference.name)
    if sort is Sort.CALL:
        return _CALLS[difference.changes[0].kind]
    if not name:
        return sort.value
    return f"{sort.value} of {name}" if sort in _OF else f"{sort.value} ({name})"


_CALLS: Final = {
    Kind.CHANGED: "another tool is called",
    Kind.ADDED: "a further tool is called",
    Kind.REMOVED: "a tool is not called",
}


class _Page:
    """What the blocks have in common."""

    def __init__(
        self,
        document: DiffDocument,
        steps: tuple[Sequence[Step], Sequence[Step]],
        width: int,
        paint: Paint,
        *,
        in_full: bool,
    ) -> None:
        self._document = document
        self._steps = steps
        self._width = width
        self._paint = paint
        self._in_full = in_full
        self._changes = Changes(width, paint, indent=6)

    def head(self) -> Iterator[str]:
        document, paint = self._document, self._paint
        style = paint.good if document.same else paint.bold
        yield from (style(line) for line in wrapped(headline(document), self._width))
        yield ""
        longest = max(columns(plain(run.id)) for run in (document.a, document.b))
        for sign, run in (("-", document.a), ("+", document.b)):
            facts = [padded(plain(run.id), longest), told(run.outcome), counted(run.steps, "step")]
            facts += [moment.local(run.started), plain(" ".join(run.program))]
            line = clip(f"{sign} {'   '.join(facts)}", self._width - 2)
            yield f"  {self._side(sign, line)}"
        yield ""
        yield self._fact("steps", _counted(document.counts))
        if document.first is not None and document.first is not document.first_said:
            first = document.first
            yield self._fact("set", f"{named(first.difference)}: {_shortly(first.difference)}, {_at(first)}")
        yield from self._given()

    def _given(self) -> Iterator[str]:
        given = {name: pair for name, pair in self._document.given.items() if name != "program"}
        few = [name for name in given if " " not in name or name.startswith("git")]
        rows = [f"{name}: {plain(given[name][0]) or 'none'} → {plain(given[name][1]) or 'none'}" for name in few]
        for what in ("package", "variable"):
            names = [name.partition(" ")[2] for name in given if name.startswith(f"{what} ")]
            if names:
                rows.append(f"{counted(len(names), what)}: {plain(', '.join(names))}")
        for number, row in enumerate(rows):
            yield self._fact("" if number else "given", row)

    def _fact(self, label: str, value: str) -> str:
        return f"  {self._paint.dim(label.ljust(_LABEL))}{clip(value, self._width - _LABEL - 2)}"

    # Steps

    def pairs(self, pairs: Sequence[Pair]) -> Iterator[str]:
        for sort, group in groupby(pairs, key=self._sort):
            found = list(group)
            if sort == "same":
                yield from ("", self._paint.dim(self._folded(found)))
            else:
                for pair in found:
                    yield from ("", *(self._pair(pair) if sort == "differs" else self._only(pair)))

    def _sort(self, pair: Pair) -> str:
        if pair.a is None or pair.b is None:
            return "only"
        return "differs" if pair.differs or self._in_full else "same"

    def _folded(self, pairs: Sequence[Pair]) -> str:
        olds, news = ([getattr(pair, side) for pair in pairs] for side in ("a", "b"))
        other = "" if olds == news else f" as {_numbers(news)} of the second"
        minor = sum(bool(pair.differences) for pair in pairs)
        but = f", but for what does not matter in {minor}" if minor else ""
        return clip(
            f"{_numbers(olds).capitalize()} {'is' if len(pairs) == 1 else 'are'} the same{other}{but}", self._width
        )

    def _pair(self, pair: Pair) -> Iterator[str]:
        assert pair.a is not None and pair.b is not None  # noqa: S101, PT018
        step, other = self._steps[0][pair.a - 1], self._steps[1][pair.b - 1]
        name = f"Step {pair.a}" if pair.a == pair.b else f"Step {pair.a} and {pair.b}"
        facts = [plain(step.agent), plain(step.model), where(step.site, self._document.a.cwd)]
        facts += [where(other.site, self._document.b.cwd)] if _moved(step, other) else []
        rest = "   ".join(filter(None, facts))
        yield f"{self._paint.bold(name)}  {clip(rest, self._width - len(name) - 2)}"
        yield from self._differences(pair.differences)

    def _only(self, pair: Pair) -> Iterator[str]:
        side, number = (0, pair.a) if pair.a is not None else (1, pair.b)
        assert number is not None  # noqa: S101
        sign, step = "-+"[side], self._steps[side][number - 1]
        head = f"Step {number} of the {'second' if side else 'first'} only"
        cwd = (self._document.b if side else self._document.a).cwd
        facts = "   ".join(filter(None, [plain(step.agent), plain(step.model), where(step.site, cwd)]))
        yield f"{self._side(sign, head)}  {clip(facts, self._width - len(head) - 2)}"
        for arrow, messages in (("→", step.news.messages), ("←", [step.answer] if step.answer is not None else [])):
            for part in said(messages):
                label = f"{arrow} {plain(part.label)[:8].ljust(9)}"
                for row, line in enumerate(preview(part.short, self._width - 15, 2)):
                    yield f"  {self._side(sign, sign)} {self._paint.dim(label if not row else ' ' * 11)}{line}"

    def beside(self, differences: Sequence[Difference], title: str) -> Iterator[str]:
        """Differences that are in no step."""
        if differences:
            yield from ("", self._paint.bold(title), *self._differences(differences))

    def _differences(self, differences: Sequence[Difference]) -> Iterator[str]:
        for one in differences:
            if one.matters or self._in_full:
                yield from self._difference(one)
        rest = [] if self._in_full else [named(one) for one in differences if not one.matters]
        if rest:
            yield self._paint.dim(
                clip(f"  · and, which does not matter: {', '.join(dict.fromkeys(rest))}", self._width)
            )

    def _difference(self, one: Difference) -> Iterator[str]:
        note = f"  ({one.note})" if one.note else ""
        sign = "≠" if one.matters else "·"
        style = self._paint.warn if one.matters else self._paint.dim
        yield f"  {style(sign)} {style(clip(named(one) + note, self._width - 4))}"
        shown = one.changes if self._in_full else one.changes[:_CHANGES]
        for change in shown:
            if change.pointer or change.note:
                about = "  ".join(filter(None, [plain(change.pointer), plain(change.note)]))
                yield self._paint.dim(f"    {clip(about, self._width - 4)}")
            yield from self._changes.lines(change)
        if len(shown) < len(one.changes):
            yield self._paint.dim(f"    … and {len(one.changes) - len(shown)} more; --step shows all of a step")

    def _side(self, sign: str, line: str) -> str:
        return self._paint.bad(line) if sign == "-" else self._paint.good(line)


def _moved(step: Step, other: Step) -> bool:
    """Whether another line of source asked."""
    return (step.site and step.site.function) != (other.site and other.site.function)


def _numbers(numbers: Sequence[int]) -> str:
    """`steps 1–11`, `step 3`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    told_ = [f"{first}–{last}" if first != last else str(first) for first, last in ranges]
    return f"step{'s' if len(numbers) > 1 else ''} {', '.join(told_)}"


def _counted(counts: Counts) -> str:
    found = [f"{counts.same:,} the same"] if counts.same else []
    found += [f"{counts.differ:,} differ"] if counts.differ else []
    found += [f"{counts.only_a:,} only in the first"] if counts.only_a else []
    found += [f"{counts.only_b:,} only in the second"] if counts.only_b else []
    return ", ".join(found) or "none"


def _shortly(difference: Difference) -> str:
    change: Change = difference.changes[0]
    return f"{plain(change.before or 'none')} → {plain(change.after or 'none')}"
