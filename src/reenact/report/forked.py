"""What is told of a fork: what it may do when it is live, what came of it, and why it did not come to that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import floor, log10

from reenact.launch.forking import Point
from reenact.launch.resuming import Resumed
from reenact.launch.spec import Report
from reenact.providers.prices import SEEN
from reenact.report import divergence, written
from reenact.report.figures import counted
from reenact.report.terminal import clip, plain
from reenact.tape.recording import Recording
from reenact.trajectory.estimate import Estimate

_WIDTH = 100


def plan_text(run: str, point: Point, count: int, expected: Estimate, hazards: Iterable[tuple[str, str]]) -> str:
    """What is about to happen: what it may cost, and which hazards there are, each with what becomes of it."""
    branches = "a branch" if count == 1 else f"{count} branches"
    where = f"step {point.step}" if point.step else "there"
    lines = [f"reenact: {branches} of {plain(run)} from {where} on: up to there from its tape, then live."]
    lines.append(f"    models    {_calls(expected)}")
    what = Counter(hazards)
    for (label, fate), times in what.items():
        lines.append(f"    {fate:9} {plain(clip(label, 80))}{f' ({times} times)' if times > 1 else ''}")
    if not what:
        lines.append("    hazards   the recorded run did nothing to the world from there on; what comes is refused")
    return "".join(f"{line}\n" for line in lines)


def _calls(expected: Estimate) -> str:
    if not expected.calls:
        return "the recorded run asked none from there on"
    tokens = f"{expected.input:,} tokens in, {expected.output:,} out"
    told = f"about {counted(expected.calls, 'call')} as recorded, {tokens}: "
    if not expected.unpriced:
        return f"{told}about ${cents(expected.dollars)} at list prices of {SEEN}"
    unknown = ", ".join(plain(name) for name in expected.unpriced)
    least = f"more than ${cents(expected.dollars)}, as " if expected.dollars else ""
    return f"{told}{least}the price of {unknown} is not known ([tool.reenact.prices] says it)"


def cents(dollars: float) -> str:
    """Dollars with as many places as it takes to see something."""
    if dollars >= 0.1 or not dollars:
        return f"{dollars:.2f}"
    return f"{dollars:.{max(1 - floor(log10(dollars)), 4)}f}"


def text(done: Resumed, folder: str = "") -> str:
    """What came of a branch, besides what is told of any recording. `folder` is where its files are kept, if at all."""
    lines = (*_lines(done.report), *written.text(done, folder))
    return "".join(f"{line}\n" if line.startswith(" ") else f"reenact: {line}\n" for line in lines)


def _lines(report: Report) -> Iterator[str]:
    yield f"{counted(report.asked, 'call')} as on the tape of its parent, the others live"
    yield from (done_to(label, *counts) for label, counts in report.hazards.items())
    for host, count in report.withheld.items():
        told = f"{counted(count, 'request')} of side traffic to {plain(host)} answered here, and not sent"
        yield f"{told}  (--allow 'telemetry:{plain(host)}')"
    kept = [label for label, counts in report.hazards.items() if counts[2]]
    if kept:
        yield f"what was refused can be let through, as by  --allow '{plain(kept[0])}'"
    yield from (plain(line) for line in report.unrestored)


def done_to(label: str, done: int, given: int, refused: int) -> str:
    """What became of a hazard, in a line."""
    told = [(done, "done"), (given, "answered from tape"), (refused, "refused")]
    ways = ", ".join(f"{word} {count} times" if count > 1 else word for count, word in told if count)
    return f"{plain(label)}: {ways}"


def failed_text(recording: Recording, report: Report) -> str:
    """Why a run was not forked."""
    lines = [
        f"reenact: {plain(recording.path.stem)} was not forked: it did not come there as it was recorded.",
        "Nothing live was done.",
    ]
    if report.divergences:
        lines.append(divergence.text(report.divergences[0], width=_WIDTH).rstrip("\n"))
    elif report.error:
        lines.append(f"    it ended by {plain(report.error)}")
    lines += [f"    {plain(line)}" for line in (*report.unrestored, *report.faults)]
    return "".join(f"{line}\n" for line in lines)
