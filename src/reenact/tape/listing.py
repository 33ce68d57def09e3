"""What the tapes of a store are, as far as it can be known without reading a journal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from reenact.errors import TapeError
from reenact.tape.close import being_written
from reenact.tape.event import UNKNOWN_STATUS, Kind
from reenact.tape.reader import RECORDING, summary
from reenact.tape.store import Store


@dataclass(frozen=True, slots=True)
class Listed:
    """A tape in a list. Counts and `duration` (ns) are None while it is not closed; `started` is ns since 1970.

    `outcome` is as `tape.close.outcome` has it, or "recording", or "unreadable"; `reason` says why it is that. `asked`
    are the HTTP requests by method and URL, with how often.
    """

    run: str
    path: Path
    program: str
    started: int
    size: int
    outcome: str
    exit_status: int | None = None
    events: int | None = None
    lanes: int | None = None
    steps: int | None = None
    duration: int | None = None
    faults: int = 0
    asked: tuple[tuple[str, int], ...] = ()
    reason: str = ""


def listing(store: Store) -> tuple[Listed, ...]:
    """All tapes of a store, the newest first."""
    found = [listed for run in store.ids() if (listed := _listed(run, store.path(run))) is not None]
    return tuple(sorted(found, key=lambda listed: (listed.started, listed.run), reverse=True))


def _listed(run: str, path: Path) -> Listed | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None  # deleted meanwhile
    size = sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.is_file())
    try:
        row = summary(path)
        asked = _asked(path) if row.get("status") != RECORDING else ()
    except (TapeError, sqlite3.Error) as error:
        return Listed(run, path, "", stat.st_mtime_ns, size, "unreadable", reason=_why(path, stat.st_size, error))
    status = str(row.get("status", ""))
    if status == RECORDING and not being_written(path):
        status = "killed"
    exit_status = _number(row, "exit_status")
    return Listed(
        run,
        path,
        str(row.get("program", row.get("name", ""))),
        _number(row, "started") or stat.st_mtime_ns,
        size,
        status,
        None if exit_status == UNKNOWN_STATUS else exit_status,
        _number(row, "events"),
        _number(row, "lanes"),
        _number(row, "steps"),
        _number(row, "duration"),
        _number(row, "faults") or 0,
        asked,
    )


def _asked(path: Path) -> tuple[tuple[str, int], ...]:
    with closing(sqlite3.connect(path, timeout=30)) as db:
        return tuple(db.execute("SELECT name, count(*) FROM event WHERE kind = ? GROUP BY name", (Kind.HTTP,)))


def _number(row: dict[str, str | int], key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) else None


def _why(path: Path, size: int, error: Exception) -> str:
    return "it is empty" if not size else str(error).removeprefix(f"{path} ")
