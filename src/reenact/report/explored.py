"""What exploring a run has shown, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from reenact.engine.cause import explain
from reenact.engine.divergence import Divergence
from reenact.engine.normalize import SHIPPED, Normalizer
from reenact.engine.schedule import DEADLINE, Option
from reenact.launch import manifest
from reenact.launch.explore import Changes, Explored, Finding
from reenact.report import divergence as divergences
from reenact.report import document
from reenact.report.figures import counted, inside
from reenact.report.terminal import WIDTH, Paint, labelled, plain, wrapped
from reenact.trajectory import step_of_event

FORMAT: Final = 1
_GUTTER: Final = 16
_TOLD: Final = {
    Changes.ASKS: "asks otherwise",
    Changes.ENDS: "ends otherwise",
    Changes.OUTPUT: "writes otherwise",
    Changes.FILES: "leaves other files",
    Changes.HANGS: "does not come to its end",
}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One of two outcomes that changed places. `step` is the recorded run's; `event` is None for a deadline."""

    what: str
    event: int | None
    step: int | None
    lane: str
    file: str
    line: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """An order that changes something: in it `early` came before `late`, and `run` is the tape of it.

    `departures` is how often another outcome came than the next on tape.
    """

    run: str
    path: str
    order: int
    changes: list[str]
    early: Outcome
    late: Outcome
    departures: int
    divergences: list[dict[str, object]]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One that was tried. The same `order` is the same one; `changes` is empty where the run does as recorded."""

    order: str
    changes: list[str]
    lost: bool
    departures: int


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """`reenact explore --json`. `choices`: moments of the recorded order at which something else could have come.

    `tried` are orders, of which `distinct` were different ones; `lost` are those that led to answers that the tape does
    not hold. `changed` counts by what they change: "asks", "ends", "output", "files", "hangs", joined by "+".
    """

    format: int = FORMAT
    run: str
    seed: int
    choices: int
    tried: int
    distinct: int
    same: int
    lost: int
    changed: dict[str, int]
    findings: list[Found]
    orders: list[Order]


def json(explored: Explored, normalizers: Sequence[Normalizer] = SHIPPED) -> bytes:
    """The outcome as one JSON object."""
    return document.encode(_document(explored, normalizers))


def _document(explored: Explored, normalizers: Sequence[Normalizer]) -> Document:
    steps = step_of_event(explored.recording) if explored.findings else {}
    counts = explored.counts
    return Document(
        run=explored.recording.path.stem,
        seed=explored.seed,
        choices=explored.choices,
        tried=len(explored.tried),
        distinct=explored.distinct,
        same=counts[()],
        lost=sum(order.lost for order in explored.tried),
        changed={"+".join(changes): count for changes, count in counts.items() if changes},
        findings=[_found(one, steps, normalizers) for one in explored.findings],
        orders=[
            Order(
                order=order.signature.hex()[:16], changes=[*order.changes], lost=order.lost, departures=order.departures
            )
            for order in explored.tried
        ],
    )


def _found(finding: Finding, steps: Mapping[int, int], normalizers: Sequence[Normalizer]) -> Found:
    late, early = finding.swapped.options[0], finding.swapped.options[finding.swapped.taken]
    return Found(
        run=finding.run,
        path=str(finding.tape),
        order=finding.number,
        changes=[*finding.order.changes],
        early=_outcome(early, steps),
        late=_outcome(late, steps),
        departures=finding.order.departures,
        divergences=[divergences.fields(_explained(one, steps, normalizers)) for one in finding.order.divergences],
    )


def _outcome(option: Option, steps: Mapping[int, int]) -> Outcome:
    event = option.event if option.event != DEADLINE else None
    step = steps.get(option.event)
    return Outcome(what=option.what, event=event, step=step, lane=option.lane, file=option.file, line=option.line)


def _explained(one: Divergence, steps: Mapping[int, int], normalizers: Sequence[Normalizer]) -> Divergence:
    explained = explain(one, normalizers)
    return msgspec.structs.replace(explained, step=steps.get(one.event)) if one.event is not None else explained


# Text


def text(
    explored: Explored,
    normalizers: Sequence[Normalizer] = SHIPPED,
    *,
    width: int = WIDTH,
    paint: Paint | None = None,
    store: str = "",
) -> str:
    """The outcome for a terminal, ending in a line break. `store` is the option with which to find the tapes."""
    page = _Page(explored, _document(explored, normalizers), width, paint or Paint(), store)
    blocks = [page.headline(), page.counts()]
    for finding, found in zip(explored.findings, page.document.findings, strict=True):
        blocks += page.finding(finding, found, normalizers)
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


class _Page:
    def __init__(self, explored: Explored, found: Document, width: int, paint: Paint, store: str) -> None:
        self._explored = explored
        self.document = found
        self._width = width
        self._paint = paint
        self._store = store
        self._cwd = manifest.decode(explored.recording.manifest).cwd

    def headline(self) -> list[str]:
        found = self.document
        changed = sum(found.changed.values())
        if changed:
            word, told = "ORDER MATTERS", f"{changed:,} of {counted(found.tried, 'order')} change what it does"
        elif found.tried:
            word, told = "NO DIFFERENCE", f"{counted(found.tried, 'order')} of its outcomes, and it does the same"
        else:
            word, told = "ONE ORDER", "at no moment could anything else have come next"
        first, *rest = wrapped(f"{word}  {plain(found.run)}: {told}", self._width)
        strong = self._paint.strong
        painted = strong.bad(word) if changed else strong.good(word)
        return [painted + first.removeprefix(word), *(f"  {line}" for line in rest)]

    def counts(self) -> list[str]:
        found = self.document
        rows = [
            ("tried", f"{counted(found.tried, 'order')}, {found.distinct:,} of them different, with seed {found.seed}"),
            ("choices", f"{counted(found.choices, 'moment')} of the recorded order at which more than one could come"),
            ("same", f"{found.same:,}"),
        ]
        for changes, count in found.changed.items():
            rows.append((_told(changes.split("+")), f"{count:,}"))
        if found.lost:
            rows.append(("lost", f"{found.lost:,}, which came to wait for an answer that the tape does not hold"))
        return [line for label, told in rows for line in self._labelled(label, told, wide=True)]

    def finding(self, finding: Finding, found: Found, normalizers: Sequence[Normalizer]) -> Iterator[list[str]]:
        yield [self._paint.bold(f"Order {found.order}: the run {_told(found.changes)}")]
        more = found.departures - 1
        lines = [*self._outcome("came early", found.early), *self._outcome("before", found.late)]
        if more:
            lines += self._labelled("", f"and so at {counted(more, 'further moment')}")
        yield lines
        steps = step_of_event(self._explored.recording)
        one = _explained(finding.order.divergences[0], steps, normalizers)
        told = divergences.text(one, width=self._width, paint=self._paint, cwd=self._cwd, headed=False, advised=False)
        yield told.rstrip("\n").split("\n")
        end = "" if Changes.ASKS not in finding.order.changes or _whole(finding) else ", up to where it leaves the tape"
        yield [
            *self._labelled("kept", f"{plain(found.run)}{end}"),
            *self._labelled("again", f"reenact replay {plain(found.run)}{self._store}"),
            *self._labelled("compare", f"reenact show {plain(found.run)}{self._store}"),
        ]

    def _outcome(self, label: str, outcome: Outcome) -> list[str]:
        where = f"{plain(inside(outcome.file, self._cwd))}:{outcome.line}" if outcome.file else ""
        step = f"step {outcome.step}" if outcome.step is not None else ""
        event = f"event {outcome.event}" if outcome.event is not None else ""
        facts = ", ".join(filter(None, (step, event, f"lane {outcome.lane}", where)))
        return self._labelled(label, f"{plain(outcome.what)}  ({facts})")

    def _labelled(self, label: str, told: str, *, wide: bool = False) -> list[str]:
        gutter = _GUTTER + 10 if wide else _GUTTER
        return list(labelled(label, wrapped(told, self._width - gutter - 2), gutter, self._paint.bold))


def _told(changes: Sequence[str]) -> str:
    return " and ".join(_TOLD[Changes(one)] for one in changes)


def _whole(finding: Finding) -> bool:
    return all(one.actual is None for one in finding.order.divergences)
