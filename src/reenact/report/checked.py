"""What a check of a tape found, one line for each tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from reenact.report import document
from reenact.report.figures import counted, size
from reenact.report.terminal import Paint, plain, wrapped
from reenact.tape import signatures
from reenact.tape.check import Checked, State
from reenact.tape.whole import whole

_WORDS: Final = {
    State.SOUND: "",
    State.CLOSED: "it was left open by a process that is gone, and is closed now",
    State.OPEN: "a process has it open, so it may still grow",
}
_INDENT: Final = 9


class Tape(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact fsck --json`, one object a line. `state` is "sound", "closed", "open" or "damaged".

    `closed`: it was left open by a process that is gone, and is closed now. `damage` says where, in words. `digest` is
    the head of the hash chain, empty where the tape cannot be read. `signed_by` are the keys that have signed it.
    """

    run: str
    path: str
    state: State
    damage: tuple[str, ...]
    pieces: int
    events: int
    bytes: int
    digest: str
    signed_by: tuple[str, ...] = ()


def text(checked: Checked, *, width: int, paint: Paint) -> Iterator[str]:
    """A sound tape in a line or two; a damaged one with every place that is damaged."""
    run = plain(checked.path.stem)
    if checked.state is State.DAMAGED:
        first, *rest = (row for place in checked.damage for row in wrapped(place, width - _INDENT))
        if len(run) + len(first) + _INDENT + 2 > width:
            first, rest = "", [first, *rest]
        yield f"{paint.bad('damaged')}  {paint.bold(run)}: {paint.bad(first)}".rstrip()
        yield from (f"{' ' * _INDENT}{paint.bad(row)}" for row in rest)
        return
    tape = _tape(checked)
    held = f"{counted(tape.events, 'event')} in {counted(tape.pieces, 'piece')}, {size(tape.bytes)}"
    yield f"{paint.good('sound')}    {paint.bold(run)}: {held}, digest {tape.digest[:16]}"
    more = (_WORDS[checked.state], _signed(tape.signed_by))
    yield from (f"{' ' * _INDENT}{row}" for told in more for row in wrapped(told, width - _INDENT) if row)


def _signed(keys: tuple[str, ...]) -> str:
    if not keys:
        return ""
    checked = "" if signatures.can_check() else " (not checked: install reenact[sign])"
    return f"signed by {', '.join(keys)}{checked}"


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
        events=len(whole(recording).events) if recording is not None else 0,
        bytes=checked.path.stat().st_size,
        digest=recording.digest.hex() if recording is not None else "",
        signed_by=signatures.signers(recording.seal) if recording is not None else (),
    )
