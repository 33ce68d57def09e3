"""What was imported from a file, in a line or two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from reenact.launch.entry import IMPORTED
from reenact.report import document
from reenact.report.figures import counted
from reenact.report.terminal import plain
from reenact.tape.event import Kind
from reenact.tape.recording import Recording


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact import --json`, one object a line. `answered` of the `exchanges` can answer a program."""

    run: str
    file: str
    steps: int
    exchanges: int
    answered: int
    notes: list[str]


def imported(recording: Recording, path: Path) -> Imported:
    """What has come of a file."""
    http = [event for event in recording.events if event.kind is Kind.HTTP]
    steps = recording.summary.get("steps")
    return Imported(
        run=recording.path.stem,
        file=str(path),
        steps=steps if isinstance(steps, int) else 0,
        exchanges=len(http),
        answered=sum(event.complete for event in http),
        notes=[note.text for note, _ in recording.notes if note.slug == IMPORTED],
    )


def json(recording: Recording, path: Path) -> bytes:
    """The same as one JSON object."""
    return document.encode(imported(recording, path))


def text(recording: Recording, path: Path) -> Iterator[str]:
    """For a terminal, line by line."""
    found = imported(recording, path)
    held = f"{counted(found.steps, 'step')}, {counted(found.exchanges, 'exchange')}"
    yield f"imported {plain(found.file)} as {plain(found.run)}: {held}"
    yield from (f"    {plain(note)}" for note in found.notes[1:])
