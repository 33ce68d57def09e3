"""What the notes on a tape mean to a reader, by their slug."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LISTED: Final = 8  # notes of one sort that are told
MEANING: Final[Mapping[str, str]] = {
    "unseen": "past every seam, so not on tape; replay refuses it",
    "fault": "reenact itself failed, so the tape is incomplete",
    "loop": "its order cannot be kept, so replay may differ",
    "argument": "the function cannot be called again",
    "child": "of child processes, not on tape",
    "boundary": "not a tool, so what it does is part of the run",
    "tool": "what a tool changes but does not give back is not on tape",
    "file": "not on tape whole",
    "explored": "made of another run",
}


def last_line(text: str) -> str:
    """What a note says; of a traceback, its end."""
    return text.rstrip().rpartition("\n")[2]
