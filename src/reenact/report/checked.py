"""What a check of a tape found, one line for each tape."""

from __future__ import annotations

from typing import Final

import msgspec

from reenact.report import document
from reenact.report.divergence import plain
from reenact.report.figures import counted, size
from reenact.report.terminal import Paint
from reenact.tape.check import Checked, State

_WORDS: Final = {
    State.SOUND: "",
    State.CLOSED: "; it was left open by a process that is gone, and is closed now",
    State.OPEN: "; a process has it open, so it may still grow",
}


class Tape(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact fsck --json`, one object a line. `state` is "sound", "closed", "open" or "damaged".

    `closed`: it was left open by a process that is gone, and is closed now. `damage` says where, in words. `digest` is
    the head of the hash chain, empty where the tape cannot be read.
    """

    run: str
    path: str
    state: State
    damage: tuple[str, ...]
    pieces: int
    events: int
    bytes: int
    digest: str


def text(checked: Checked, paint: Paint) -> str:
    """A line for a sound tape; a damaged one has a line for each place that is damaged."""
    run = plain(checked.path.stem)
    if checked.state is State.DAMAGED:
        first, *rest = map(plain, checked.damage)
        more = "".join(f"\n  {paint.bad(line)}" for line in rest)
        return f"{paint.bad('damaged')}  {paint.bold(run)}: {paint.bad(first)}{more}"
    tape = _tape(checked)
    held = f"{counted(tape.events, 'event')} in {counted(tape.pieces, 'piece')}, {size(tape.bytes)}"
    return f"{paint.good('sound')}    {paint.bold(run)}: {held}, digest {tape.digest[:16]}{_WORDS[checked.state]}"


def json(checked: Checked) -> bytes:
    """The same as one JSON object."""
    return document.encode(_tape(checked))


def _tape(checked: Checked) -> Tape:
    recording = checked.recording
    return Tape(
        run=checked.path.stem,
        path=str(checked.path),
        state=checked.state,
        damage=checked.damage,
        pieces=recording.pieces if recording is not None else 0,
        events=len(recording.events) if recording is not None else 0,
        bytes=checked.path.stat().st_size,
        digest=recording.digest.hex() if recording is not None else "",
    )
