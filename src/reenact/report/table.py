"""The runs of a store as a table, the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from reenact.providers.route import place_of
from reenact.report import moment
from reenact.report.figures import seconds, size, tagged
from reenact.report.terminal import Paint, clip, columns, padded, plain
from reenact.tape.listing import Listed

FORMAT: Final = 1
_GAP: Final = "  "


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the JSON of `reenact runs --json`, a list of these, the newest first.

    `started` is ns since 1970, `duration` ns, `bytes` the size of the tape. `steps` are decisions of a model, as
    counted when the tape was closed; `model_calls` counts the requests to models, failed ones too. `outcome` is
    "ok", "failed", "exit N", "killed…", "recording" or "unreadable", and `reason` says why it is the last. What is
    null is not known before the tape is closed. `tags` without a value have an empty one.
    """

    id: str
    program: str
    path: str
    started: int
    started_at: str
    outcome: str
    exit_status: int | None
    steps: int | None
    model_calls: int | None
    events: int | None
    lanes: int | None
    duration: int | None
    bytes: int
    faults: int
    reason: str
    session: str
    tags: dict[str, str]


def rows(listing: Sequence[Listed]) -> list[RunRow]:
    """The table as data."""
    return [
        RunRow(
            id=run.run,
            program=run.program,
            path=str(run.path),
            started=run.started,
            started_at=moment.iso(run.started),
            outcome=run.outcome,
            exit_status=run.exit_status,
            steps=run.steps,
            model_calls=_calls(run),
            events=run.events,
            lanes=run.lanes,
            duration=run.duration,
            bytes=run.size,
            faults=run.faults,
            reason=run.reason,
            session=run.session,
            tags=dict(run.tags),
        )
        for run in listing
    ]


class _Row(NamedTuple):
    run: str
    started: str
    outcome: str
    steps: str
    events: str
    took: str
    tape: str
    session: str
    tags: str
    program: str


_TITLES: Final = _Row(*(name.upper() for name in _Row._fields))
_RIGHT: Final = ("steps", "events", "took", "tape")
_SPARED: Final = ("tape", "events", "took", "tags")  # left out in this order, so that the program has room
_LABELS: Final = ("session", "tags")  # left out where no run has any
_ROOM: Final = 20  # columns for the program


def text(listing: Sequence[Listed], *, now: int, width: int | None, paint: Paint) -> Iterator[str]:
    """The table line by line, in `width` columns if there is such a limit."""
    told = [_row(run, now) for run in listing]
    widths = {name: max(columns(getattr(row, name)) for row in (_TITLES, *told)) for name in _Row._fields}
    for name in _LABELS:
        if not any(getattr(row, name) for row in told):
            del widths[name]
    if width is not None:
        wanted = min(widths["program"], _ROOM)
        for name in _SPARED:
            if width - _taken(widths) < wanted:
                widths.pop(name, None)
        widths["run"] = min(widths["run"], max(widths["run"] + width - _taken(widths) - wanted, 12))
        widths["program"] = max(width - _taken(widths), 1)
    yield paint.dim(_line(_TITLES, widths, Paint()))
    yield from (_line(row, widths, paint) for row in told)
    left = [run.run for run in listing if run.outcome == "killed" and run.events is None]
    if left:
        yield ""
        yield paint.dim(f"{len(left):,} left open by a killed process; reenact fsck --all  closes and counts them")


def _taken(widths: dict[str, int]) -> int:
    """Columns of all but the program."""
    return sum(widths.values()) - widths["program"] + len(_GAP) * (len(widths) - 1)


def _row(run: Listed, now: int) -> _Row:
    return _Row(
        plain(run.run),
        moment.ago(run.started, now) or moment.local(run.started, seconds=False),
        plain(run.outcome) + ("*" if run.faults else ""),
        _number(run.steps),
        _number(run.events),
        seconds(run.duration) if run.duration is not None else "–",
        size(run.size),
        plain(run.session),
        tagged(run.tags),
        plain(run.program or run.reason),
    )


def _calls(run: Listed) -> int | None:
    """Requests to models; None where it is not known."""
    if run.model_calls is not None or run.events is None:
        return run.model_calls
    return sum(count for name, count in run.asked if place_of(*name.partition(" ")[::2]) is not None)


def _number(number: int | None) -> str:
    return f"{number:,}" if number is not None else "–"


def _line(row: _Row, widths: dict[str, int], paint: Paint) -> str:
    cells = []
    for name, width in widths.items():
        cell = clip(getattr(row, name), width)
        filled = cell.rjust(width) if name in _RIGHT else padded(cell, width) if name != "program" else cell
        if name == "outcome":
            filled = _painted(cell, filled, paint)
        elif name == "run":
            filled = paint.bold(filled)
        elif name == "started":
            filled = paint.dim(filled)
        cells.append(filled)
    return _GAP.join(cells).rstrip()


def _painted(outcome: str, filled: str, paint: Paint) -> str:
    if outcome == "ok":
        return paint.good(filled)
    return paint.warn(filled) if outcome == "recording" else paint.bad(filled)
