"""Closes the tape of a run that is over, with the numbers of its steps among the rows that one queries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reenact.tape import close as tapes
from reenact.tape.event import Kind, Note
from reenact.tape.reader import Recording


def close(path: Path, status: int | None, notes: Iterable[Note] = ()) -> Recording:
    """As `tape.close.close`."""
    return tapes.close(path, status, _counts, notes)


def _counts(recording: Recording) -> dict[str, int]:
    if not any(event.kind in (Kind.HTTP, Kind.SOCKET) for event in recording.events):
        return {"steps": 0, "model_calls": 0}
    try:
        from reenact.trajectory import trajectory  # noqa: PLC0415  a run that asks nobody has none

        found = trajectory(recording)
        return {"steps": len(found.steps), "model_calls": found.model_calls}
    except Exception:  # noqa: BLE001  that a strange answer cannot be read is no reason to leave the tape open
        return {}
