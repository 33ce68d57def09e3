"""What the tapes of a store are, as far as it can be known without reading a journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reenact.errors import TapeError
from reenact.tape import labels
from reenact.tape.close import being_written
from reenact.tape.event import UNKNOWN_STATUS, Kind
from reenact.tape.reader import index, run_table
from reenact.tape.recording import RECORDING
from reenact.tape.store import Store

_ASKED: Final = "SELECT name, count(*) FROM event WHERE kind = ? AND typeof(name) = 'text' GROUP BY name"


@dataclass(frozen=True, slots=True)
class Listed:
    """A tape in a list. Counts and `duration` (ns) are None while it is not closed; `started` is ns since 1970.

    `outcome` is as `tape.close.outcome` has it, or "recording", or "unreadable"; `reason` says why it is that. `asked`
    are the HTTP requests by method and URL, with how often: who closed the tape may not have counted `model_calls`.
    `session` and `tags` are those known by now. Of a branch, `parent` is the run that it was forked from, at the step
    `parent_step` (0: at none), where `edited` is what is other.
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
    model_calls: int | None = None
    duration: int | None = None
    faults: int = 0
    asked: tuple[tuple[str, int], ...] = ()
    reason: str = ""
    session: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    parent: str = ""
    parent_step: int = 0
    edited: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are wanted: those of a session, and with these tags; a tag without a value may have any."""

    session: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    def has(self, row: Mapping[str, str | int]) -> bool:
        """Whether the run is one, of which these are the rows of the table `run`."""
        session, tags = labels.of_rows(row)
        return self.session in ("", session) and all(
            key in tags and value in ("", tags[key]) for key, value in self.tags.items()
        )


def listing(store: Store, wanted: Wanted = Wanted()) -> tuple[Listed, ...]:
    """The tapes of a store, the newest first."""
    found = [listed for run in store.ids() if (listed := _listed(run, store.path(run), wanted)) is not None]
    return tuple(sorted(found, key=lambda listed: (listed.started, listed.run), reverse=True))


def _listed(run: str, path: Path, wanted: Wanted) -> Listed | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None  # deleted meanwhile
    size = sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.is_file())
    try:
        with index(path) as db:
            row = run_table(db)
            if not wanted.has(row):
                return None
            asked = tuple(db.execute(_ASKED, (Kind.HTTP,))) if row.get("status") != RECORDING else ()
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
        _number(row, "model_calls"),
        _number(row, "duration"),
        _number(row, "faults") or 0,
        asked,
        "",
        *labels.of_rows(row),
        str(row.get("parent", "")),
        _number(row, "parent_step") or 0,
        str(row.get("edited", "")),
    )


def _number(row: dict[str, str | int], key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) else None


def _why(path: Path, size: int, error: Exception) -> str:
    return "it is empty" if not size else str(error).removeprefix(f"{path} ")
