"""Closes the tape of a run that is over: takes in what its processes did, and counts the steps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from reenact.errors import TapeError, TapeUnwrittenError
from reenact.launch.gathering import gathered
from reenact.tape import close as tapes
from reenact.tape import sealed
from reenact.tape.event import Kind, Note
from reenact.tape.recording import Recording
from reenact.tape.scrub import is_cut, scrub, scrubbed_kin
from reenact.tape.vault import Vault
from reenact.tape.whole import every

GONE = "{path} was removed while the run went on: nothing of it is kept"
NOT_CLOSED = (
    "the tape could not be closed: {reason}. {path} holds what could be written of the run. "
    "When there is room for it, close it with: reenact fsck {path}"
)
UNKNOWN = (
    "secrets that became known late may stand in what was written before: those who knew them are gone. "
    "`reenact scan` looks for what is one, `reenact scrub` makes a copy without"
)


def close(path: Path, status: int | None, notes: Iterable[Note] = (), vault: Vault | None = None) -> Recording:
    """As `tape.close.close`. What the `vault` has come to know is no more on the tape after that.

    Raises:
        TapeUnwrittenError: it is gone, or stays as it is, and can be closed later.
        TapeError: it cannot be read.
    """
    try:
        return _close(path, status, notes, vault)
    except (OSError, sqlite3.Error, TapeError) as error:
        if not path.exists():
            raise TapeUnwrittenError(GONE.format(path=path)) from error
        if isinstance(error, TapeError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise TapeUnwrittenError(NOT_CLOSED.format(path=path, reason=reason)) from error


def _close(path: Path, status: int | None, notes: Iterable[Note], vault: Vault | None) -> Recording:
    beside, book = gathered(path), sealed.beside(path)
    kin = beside.kin
    if vault is not None and (vault.learn_from_others() or vault.late or (status != 0 and is_cut(path))):
        scrub(path, vault)
        kin = scrubbed_kin(kin, vault)
    elif vault is None and book.exists():
        notes = [*notes, Note("secrets", UNKNOWN, -1)]
    recording = tapes.close(path, status, _counts, [*notes, *beside.notes], kin, beside.missing)
    beside.remove()
    if not beside.go_on:
        book.unlink(missing_ok=True)
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
