"""What the program says of itself, as a person reads it: agents, and steps of its own. Part of `show --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from reenact.tape.event import MarkKind
from reenact.tape.recording import Marked, Recording
from reenact.trajectory.entry import Place

AGENT: Final = "agent"


class Mark(msgspec.Struct, frozen=True):
    """An agent or a step that the program has marked, as often as it began. `kind` is "agent" or "step".

    `within` is the number of the mark around it. `ended` is None where the tape does not hold its end, `error` is the
    class of the exception that it ended by. Times are ns since the run began.
    """

    number: int
    kind: str
    name: str
    attributes: dict[str, str | int | float | bool | None]
    within: int | None
    lane: str
    site: Place | None
    began: int
    ended: int | None
    error: str


def marks_of(recording: Recording) -> tuple[Mark, ...]:
    """The agents and steps that the program has marked, in the order in which they began."""
    return tuple(_mark(number, marked) for number, marked in enumerate(recording.marks))


def _mark(number: int, marked: Marked) -> Mark:
    site = marked.site
    return Mark(
        number,
        AGENT if marked.kind is MarkKind.AGENT else "step",
        marked.name,
        marked.attributes,
        marked.within if marked.within >= 0 else None,
        marked.lane,
        Place(site.place, site.file, site.line) if site is not None else None,
        marked.began,
        marked.ended,
        marked.error,
    )


def way(marks: Sequence[Mark], number: int | None) -> list[Mark]:
    """The mark of that number and those around it, outermost first; empty for none."""
    found: list[Mark] = []
    while number is not None:
        found.append(marks[number])
        number = marks[number].within
    return found[::-1]


def agent_of(marks: Sequence[Mark], number: int | None) -> str:
    """The name of the innermost agent there; empty for none."""
    return next((mark.name for mark in reversed(way(marks, number)) if mark.kind == AGENT), "")
