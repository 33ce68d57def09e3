"""What has changed in a program between two moments, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reenact.probe.compare import Difference, What
from reenact.report.changes import Changes
from reenact.report.state import FORMAT, at, short
from reenact.report.terminal import Paint, clip, columns, plain


class StateChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact state RUN --step N --diff M --json`: what is other at `event` than at `since`."""

    state: int = FORMAT
    run: str
    step: int | None = None
    event: int
    since_step: int | None = None
    since: int
    differences: tuple[Difference, ...]


def text(document: StateChanges, *, width: int, paint: Paint) -> Iterator[str]:
    """Lane by lane and function by function, from the outermost in."""
    before, now = at(document.since_step, document.since), at(document.step, document.event)
    yield paint.bold(f"{plain(document.run)} from {before} to {now}")
    if not document.differences:
        yield from ("", "  nothing that the program's own functions hold is other than it was")
    shown, where = Changes(width, paint, indent=6), None
    for one in document.differences:
        if (one.lane, one.function) != where:
            where = one.lane, one.function
            yield from ("", _place(one, paint))
        if one.change is not None:
            yield from _change(one, shown, width, paint)


def _place(one: Difference, paint: Paint) -> str:
    lane = plain(f"lane {one.lane} ({one.lane_name})")
    if not one.lane:
        return paint.bold(f"Globals of {plain(one.function.partition(':')[0])}")
    if not one.function:
        return f"{paint.bold(lane)}  {paint.dim('begun since' if one.what is What.NEW else 'ended since')}"
    told = "" if one.change is not None else "  entered since" if one.what is What.NEW else "  left since"
    return f"{paint.bold(plain(short(one.function)))}{paint.dim(told)}  {paint.dim(lane)}"


def _change(one: Difference, shown: Changes, width: int, paint: Paint) -> Iterator[str]:
    assert one.change is not None  # noqa: S101  callers have asked
    name = plain(one.path)
    if one.what is What.CHANGED:
        note = f"  {paint.dim(plain(one.change.note))}" if one.change.note else ""
        yield f"  {paint.warn('~')} {paint.name(name)}{note}"
        yield from shown.lines(one.change)
    else:
        sign = paint.good("+") if one.what is What.NEW else paint.bad("-")
        held = plain(one.change.before or one.change.after or "")
        yield f"  {sign} {paint.name(name)}  {clip(held, width - 6 - columns(name))}"
