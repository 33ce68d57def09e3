"""What is told at the end of a recording: where it is, what it may have missed, and what to try next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reenact.launch.ending import became, told
from reenact.report.figures import counted, inside, lasted, seconds, size
from reenact.report.note import LISTED, MEANING, last_line
from reenact.report.terminal import plain
from reenact.tape.event import Branch, Note, SiteNamed
from reenact.tape.recording import Recording
from reenact.tape.whole import whole


def text(recording: Recording, tape_bytes: int, store: str = "", *, quiet: bool = False) -> str:
    """A few lines for stderr; when quiet, only what is wrong. `store` is the option with which to find the tape."""
    lines = [] if quiet else [_summary(recording, tape_bytes)]
    if recording.branch is not None and not quiet:
        lines.append(f"reenact: {branched(recording.branch)}")
    notes = whole(recording).notes
    for slug in dict.fromkeys(note.slug for note, _ in notes):
        lines += _noted(slug, [noted for noted in notes if noted[0].slug == slug])
    if became(recording):
        lines.append(f"reenact: {plain(became(recording))}")
    if not quiet:
        further = "verify" if recording.closed_by_itself else "resume"
        lines.append(f"reenact: try  reenact show last{store}  or  reenact {further} last{store}")
    return "".join(f"{line}\n" for line in lines)


def branched(branch: Branch) -> str:
    """Of what run a branch is one, in a few words."""
    where = f" at step {branch.step}" if branch.step else ""
    return f"a branch of {plain(branch.parent)}{where}: {plain(branch.what)}"


def _summary(recording: Recording, tape_bytes: int) -> str:
    run = recording.summary.get("run_id", recording.path.stem)
    steps, events = recording.summary.get("steps"), counted(len(whole(recording).events), "event")
    held = f"{counted(steps, 'step')}, {events}" if isinstance(steps, int) and steps else events
    end = "" if recording.status == 0 else f", {told(recording.status)}"
    return f"reenact: recorded {plain(str(run))}: {held}, {seconds(lasted(recording))}, {size(tape_bytes)}{end}"


def _noted(slug: str, noted: list[tuple[Note, SiteNamed | None]]) -> Iterator[str]:
    yield f"reenact: {MEANING.get(slug, plain(slug))}:"
    for note, site in noted[:LISTED]:
        yield f"    {plain(last_line(note.text))}{_where(site)}"
    if len(noted) > LISTED:
        yield f"    … and {len(noted) - LISTED:,} more"


def _where(site: SiteNamed | None) -> str:
    if site is None:
        return ""
    return f"  at {plain(inside(site.file, str(Path.cwd())))}:{site.line} in {plain(site.place.partition(':')[2])}"
