"""Closes the tape of a run that is over: takes in what its processes did, and counts the steps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from reenact.errors import TapeError, TapeUnwrittenError
from reenact.launch.gathering import gathered
from reenact.tape import close as tapes
from reenact.tape.event import Kind, Note
from reenact.tape.reader import Recording
from reenact.tape.whole import every

GONE = "{path} was removed while the run went on: nothing of it is kept"
NOT_CLOSED = (
    "the tape could not be closed: {reason}. {path} holds what could be written of the run. "
    "When there is room for it, close it with: reenact fsck {path}"
)


def close(path: Path, status: int | None, notes: Iterable[Note] = ()) -> Recording:
    """As `tape.close.close`.

    Raises:
        TapeUnwrittenError: it is gone, or stays as it is, and can be closed later.
        TapeError: it cannot be read.
    """
    try:
        beside = gathered(path)
        recording = tapes.close(path, status, _counts, [*notes, *beside.notes], beside.kin, beside.missing)
        beside.remove()
    except (OSError, sqlite3.Error, TapeError) as error:
        if not path.exists():
            raise TapeUnwrittenError(GONE.format(path=path)) from error
        if isinstance(error, TapeError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise TapeUnwrittenError(NOT_CLOSED.format(path=path, reason=reason)) from error
    return recording


def _counts(recording: Recording) -> dict[str, int]:
    asked = (event.kind for process in every(recording) for event in process.events)
    if not any(kind in (Kind.HTTP, Kind.SOCKET) for kind in asked):
        return {"steps": 0, "model_calls": 0}
    try:
        from reenact.trajectory import trajectory  # noqa: PLC0415  a run that asks nobody has none

        found = trajectory(recording)
        return {"steps": len(found.steps), "model_calls": found.model_calls}
    except Exception:  # noqa: BLE001  that a strange answer cannot be read is no reason to leave the tape open
        return {}
