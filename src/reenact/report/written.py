"""The files that a branch has written: copies of its own, each with what it did there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reenact.launch import manifest as manifests
from reenact.launch.resuming import Resumed
from reenact.report.figures import counted, inside, size
from reenact.report.terminal import plain
from reenact.tape.event import Left, Sight
from reenact.tape.recording import Recording

_SHOWN = 12


class Written(msgspec.Struct, frozen=True):
    """A file that a run made ("new"), changed or deleted, with the SHA-256 of what it holds, as far as that is known.

    `kept` is where it is now; empty where it is gone.
    """

    path: str
    what: str
    bytes: int = 0
    sha256: str = ""
    kept: str = ""


def written(done: Resumed) -> tuple[Written, ...]:
    """Those of a branch."""
    tape = done.recording
    if tape is None:
        return ()
    found = ((left, _what(tape, left)) for left in tape.left.values())
    return tuple(
        Written(left.path, what, left.size, left.digest.hex(), done.kept.get(left.path, ""))
        for left, what in found
        if what
    )


def _what(tape: Recording, left: Left) -> str:
    saw = tape.saw.get(left.path)
    was = Sight.NOTHING if saw is None else Sight(saw.kind)
    if left.kind == Sight.NOTHING:
        return "deleted" if was is not Sight.NOTHING else ""
    if left.kind != Sight.FILE:
        return ""
    if was is not Sight.FILE or saw is None:
        return "new"
    return "" if saw.digest and saw.digest == left.digest else "changed"


def text(done: Resumed, folder: str) -> Iterator[str]:
    """They in a line each; `folder` is where they are kept, empty for nowhere."""
    files = written(done)
    if not files or done.recording is None:
        return
    cwd = manifests.decode(done.recording.manifest).cwd
    where = f"in {plain(folder)}" if folder else "copies, which are gone now (--keep-files DIR keeps them)"
    yield f"{counted(len(files), 'file')} written, {where}:"
    for one in files[:_SHOWN]:
        held = f", {size(one.bytes)}, SHA-256 {one.sha256[:16]}" if one.sha256 else ""
        yield f"    {one.what:8} {plain(inside(one.path, cwd))}{held}"
    if len(files) > _SHOWN:
        yield f"    … and {len(files) - _SHOWN:,} more"
