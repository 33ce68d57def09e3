"""What the notes on a tape mean to a reader, by their slug."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from reenact.report.figures import counted
from reenact.report.terminal import plain

LISTED: Final = 8  # notes of one sort that are told
MEANING: Final[Mapping[str, str]] = {
    "unseen": "past every seam, so not on tape; replay refuses it",
    "fault": "reenact itself failed, so the tape is incomplete",
    "late": "only later: a crash meanwhile would have lost what is on tape by now",
    "native": "a connection of C code, so not on tape; replay refuses it",
    "thread": "its turns are not on tape, so replay may differ",
    "loop": "its order cannot be kept, so replay may differ",
    "argument": "the function cannot be called again",
    "child": "of child processes, not on tape",
    "process": "of processes that it started, and not on its tape; a replay does not do it",
    "visited": "from outside, and what they sent is not on tape; in a replay nobody comes",
    "boundary": "not a tool, so what it does is part of the run",
    "tool": "what a tool changes but does not give back is not on tape",
    "file": "not on tape whole",
    "mark": "what the program says of itself, and could not be kept as it was given",
    "explored": "made of another run",
    "resumed": "the continuation of another run",
    "import": "imported from another tool",
    "edit": "edits of this branch that were not made",
    "answered": "not from the models and servers themselves",
    "secrets": "what may be on tape and should not be",
}


def side(counts: Mapping[str, int]) -> Iterator[str]:
    """What was left out as side traffic, by host."""
    for host, count in counts.items():
        yield f"{counted(count, 'request')} to {plain(host)}: not kept, and not made in a replay"


def last_line(text: str) -> str:
    """What a note says; of a traceback, its end."""
    return text.rstrip().rpartition("\n")[2]
