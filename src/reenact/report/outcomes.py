"""What came of branches of a run: how each ended, where it parted from its parent, what it cost, and what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from reenact.launch.later import SLUG
from reenact.launch.resuming import Resumed
from reenact.launch.spec import Report
from reenact.providers.prices import SEEN, Price
from reenact.report import differences, forked
from reenact.report.differences import Compared
from reenact.report.figures import counted
from reenact.report.run import told
from reenact.report.terminal import Paint, clip, columns, padded, plain
from reenact.report.written import Written, written
from reenact.tape.event import Stream
from reenact.trajectory.difference import First
from reenact.trajectory.estimate import Estimate, spent

FORMAT: Final = 1
_TITLES: Final = ("RUN", "OUTCOME", "STEPS", "TOKENS", "DOLLARS", "FIRST OTHER THAN IN ITS PARENT")
_RIGHT: Final = (2, 3, 4)
_LEAST: Final = 30  # columns for the last of them
NOT_STARTED: Final = "not started"


class Met(msgspec.Struct, frozen=True):
    """How often something that changes the world was done, answered from the parent's tape, and refused."""

    done: int
    from_tape: int
    refused: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A branch in the JSON of `reenact fork --json`, a list of these.

    Where none came of it, `run` is empty, and `reason` says why. `first` is the first difference from its parent that
    is no mere setting, and `parted` says it in words. `asked` is what was asked of models when it was live, at list
    prices. `hazards` are what it came to that changes the world, `unmade` the edits that it did not come to, `files`
    what it wrote, and `last` is the last line that it printed. `alone` says why the steps before were not served once
    for it and those beside it.
    """

    outcomes: int = FORMAT
    run: str = ""
    outcome: str
    exit_status: int | None = None
    steps: int = 0
    parted: str = ""
    first: First | None = None
    asked: Estimate = Estimate(0, 0, 0, 0.0, ())
    hazards: dict[str, Met] = {}
    unmade: tuple[str, ...] = ()
    files: tuple[Written, ...] = ()
    last: str = ""
    reason: str = ""
    alone: str = ""


def outcome(parent: Compared, done: Resumed | None, prices: Mapping[str, Price], model: str) -> Outcome:
    """That of one branch, which asked that model where it was told to; None was not started any more."""
    if done is None:
        return Outcome(outcome=NOT_STARTED)
    if done.recording is None:
        return Outcome(outcome="not forked", reason=_why(done.report), alone=done.alone)
    branch = differences.side(done.recording.path)
    found = differences.between(parent, branch)
    tape, run = branch.side.recording, branch.run
    return Outcome(
        run=run.id,
        outcome=run.outcome,
        exit_status=run.exit_status,
        steps=run.steps,
        parted=differences.parted(found),
        first=found.first_said or found.first,
        asked=spent(tape, branch.side.trajectory, prices, model),
        hazards={label: Met(*counts) for label, counts in done.report.hazards.items()},
        files=written(done),
        unmade=tuple(note.text for note, _ in tape.notes if note.slug == SLUG),
        last=bytes(tape.wrote.get(Stream.STDOUT, b"")).decode("utf-8", "replace").strip().rpartition("\n")[2],
        alone=done.alone,
    )


def _why(report: Report) -> str:
    if report.divergences:
        return f"it left its parent's tape before: {report.divergences[0].what}"
    return report.error or next(iter(report.faults), "")


def text(outcomes: Sequence[Outcome], *, width: int, paint: Paint) -> Iterator[str]:
    """A line each, with what it met below it, and what they come to together."""
    rows = [_row(one) for one in outcomes]
    widths = [max(columns(row[at]) for row in (_TITLES, *rows)) for at in range(len(_TITLES) - 1)]
    yield paint.dim(_line(_TITLES, widths, width))
    for one, row in zip(outcomes, rows, strict=True):
        line = _line(row, widths, width)
        yield line if one.outcome == "ok" else paint.bad(line)
        for label, met in one.hazards.items():
            yield f"    {clip(forked.done_to(label, met.done, met.from_tape, met.refused), width - 4)}"
        yield from (f"    {paint.warn(clip(plain(f'not made: {edit}'), width - 4))}" for edit in one.unmade)
    yield ""
    for why, count in Counter(one.alone for one in outcomes if one.alone).items():
        yield clip(plain(f"the steps before were served {count:,} times, each branch by itself: {why}"), width)
    yield together(outcomes)


def together(outcomes: Sequence[Outcome]) -> str:
    """All of them in a line."""
    ends = Counter(told(one.outcome) for one in outcomes)
    ways = ", ".join(f"{count:,} {plain(end)}" for end, count in ends.items())
    cost = sum(one.asked.dollars for one in outcomes)
    unknown = sorted({name for one in outcomes for name in one.asked.unpriced})
    price = f"about ${forked.cents(cost)} at list prices of {SEEN}"
    if unknown:
        price += f", and what {', '.join(map(plain, unknown))} costs, which is not known"
    return f"{counted(len(outcomes), 'branch')}: {ways}; {price}"


def _row(one: Outcome) -> tuple[str, ...]:
    asked = one.asked
    price = f"${forked.cents(asked.dollars)}" if asked.dollars or not asked.unpriced else ""
    return (
        plain(one.run) or "–",
        plain(one.outcome),
        f"{one.steps:,}" if one.run else "",
        f"{asked.input:,} + {asked.output:,}" if one.run else "",
        f"{price}{' + ?' if asked.unpriced else ''}".removeprefix(" + ") if one.run else "",
        (plain(one.parted) or "nothing") if one.run else plain(one.reason),
    )


def _line(row: Sequence[str], widths: Sequence[int], width: int) -> str:
    *cells, last = row
    filled = [
        cell.rjust(width_) if at in _RIGHT else padded(cell, width_)
        for at, (cell, width_) in enumerate(zip(cells, widths, strict=True))
    ]
    begin = "  ".join(filled) + "  "
    return (begin + clip(last, max(width - columns(begin), _LEAST))).rstrip()
