"""What `reenact scan` and `reenact scrub` tell."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.report.figures import counted
from reenact.report.terminal import plain
from reenact.tape.scan import Finding


def text(tapes: int, found: Sequence[Finding]) -> str:
    """A line for each thing that was found, and what to do about it."""
    looked = f"looked through {counted(tapes, 'tape')}"
    if not found:
        return f"{looked}: nothing looks like a secret\n"
    lines = [f"{plain(one.run)}: {one.what} in {plain(one.where)}: {plain(one.shown)}" for one in found]
    runs = sorted({one.run for one in found})
    lines.append(f"{looked}: {counted(len(found), 'value')} in {counted(len(runs), 'tape')} may be secrets")
    lines.append(f"make a clean copy with:  reenact scrub {plain(runs[0])}")
    return "".join(f"{line}\n" for line in lines)
