"""Closes a tape: the last record, the index for queries, and one file on disk."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path

import msgspec

from reenact import _real
from reenact.tape import branching, labels, presence, schema, seal
from reenact.tape import event as ev
from reenact.tape.event import UNKNOWN_STATUS
from reenact.tape.journal import ClosePacker, Piece, stretches, unpack
from reenact.tape.reader import outline
from reenact.tape.recording import RECORDING, Event, Recording
from reenact.tape.replacing import replacing
from reenact.tape.whole import whole
from reenact.tape.writer import private

Count = Callable[[Recording], Mapping[str, int]]

_PATIENCE = 2.0  # seconds for which a tape that is to be closed is waited for while others read it
# EXTRA: that its log is gone has to be so after a loss of power, too
_SYNCS = "PRAGMA synchronous = EXTRA"
_SMALL_PAGE = 512  # bytes: a branch may hold little news, and SQLite takes a page at least for each table
_LARGE_BYTES = 64 * 1024 * 1024  # a tape beyond this is packed less closely: somebody waits for it


class _Status(msgspec.Struct):
    status: int = 0


class _Program(msgspec.Struct):
    target: list[str] = []
    entry: str = ""
    session: str = ""
    tags: dict[str, str] = {}


_program_of = msgspec.json.Decoder(_Program).decode
_status_of = msgspec.json.Decoder(_Status).decode


def close(
    path: Path,
    status: int | None,
    count: Count | None = None,
    notes: Iterable[ev.Note] = (),
    kin: Iterable[ev.Kin] = (),
    missing: Callable[[Recording], Iterable[ev.Note]] = lambda _: (),
) -> Recording:
    """Ends the tape of a run whose process is gone. `status` is its exit status, None when nobody saw it.

    `count` gives further rows of the table `run`: what those count who know what the bytes mean. `notes` are added, and
    `kin`: what the processes of the run did; `missing` tells of the recording what of that is not there.
    The journal is packed anew: while it was written each commit had to be readable by itself, and the
    agent waited for it. What is given back is an outline.
    Closing a closed tape changes nothing.
    """
    recording = outline(path)
    if recording.summary.get("status") == RECORDING:
        if recording.status is None:
            recording.status = UNKNOWN_STATUS if status is None else status
            extra: list[ev.AnyRecord] = [ev.Exited(recording.status)]
        else:
            extra = []
        faults = faults_beside(path)
        if faults.is_file():
            notes = [*notes, ev.Note("fault", faults.read_text(encoding="utf-8", errors="replace"), -1)]
        told = {note.text for note, _ in recording.notes}
        for note in notes:
            if note.text not in told:
                extra.append(note)
                recording.notes.append((note, None))
        for stretch in kin:
            extra.append(stretch)
            recording.kin.setdefault(stretch.lane, []).append(stretch)
        for note in missing(recording):
            extra.append(note)
            recording.notes.append((note, None))
        recording.summary["status"] = outcome(recording)
        recording.summary.update(summary_of(recording) | dict(count(recording) if count is not None else {}))
        _rewrite(path, recording, extra)
        faults.unlink(missing_ok=True)
    return recording


def faults_beside(path: Path) -> Path:
    """Where a recorder leaves what went wrong when it could not say so on the tape itself."""
    return path.with_name(path.name + "-faults")


def leave_faults(path: Path, text: str) -> None:
    """Adds to what is left there."""
    beside = faults_beside(path)
    private(beside)
    with beside.open("a", encoding="utf-8") as file:
        file.write(text)


def being_written(path: Path) -> bool:
    """Whether a process has an unclosed tape open.

    In WAL mode every connection holds a shared lock for as long as it is open, and the kernel takes the lock back from
    a process that is gone. So an exclusive one can be had exactly when nobody is there. A reader holds the lock too.
    """
    try:
        # `rw`: what is not there is not made
        uri = f"{path.absolute().as_uri()}?mode=rw"
        opened = sqlite3.connect(uri, isolation_level=None, timeout=0, uri=True)
        with presence.asking(path), closing(opened) as db:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE")
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return False


def outcome(recording: Recording) -> str:
    """How a run ended, in a word or two."""
    status = recording.status
    if status is not None and UNKNOWN_STATUS < status < 0:
        return f"killed by signal {-status}"
    if recording.ended is None:
        return "killed"
    if status in (0, None, UNKNOWN_STATUS):
        return "failed" if recording.ended.error is not None else "ok"
    return f"exit {status}"


def _rewrite(path: Path, recording: Recording, extra: list[ev.AnyRecord]) -> None:
    """Puts a closed tape in the place of one that is not. Until that is whole, the other is as it was."""
    with replacing(path) as new, closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as db:
        db.execute(_SYNCS)
        db.execute("BEGIN IMMEDIATE")
        (size,) = db.execute("SELECT total(length(data)) FROM piece").fetchone()
        rows = db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")
        batches = chain(unpack(Piece(*row) for row in rows), ([record] for record in extra))
        _write(new, recording, batches, large=size > _LARGE_BYTES)
        recording.seal = seal.put(new)
        db.execute("ROLLBACK")
        # what SQLite keeps beside a file that it writes would be taken for a part of the new one
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _without_log(db)


def _without_log(db: sqlite3.Connection) -> None:
    """Has SQLite put away its log, which it does when nobody else reads the file: that takes no time, as a rule."""
    until = _real.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError:
            if _real.monotonic() > until:
                raise
            _real.sleep(_PATIENCE / 100)
        else:
            return


def _write(path: Path, recording: Recording, batches: Iterable[list[ev.AnyRecord]], *, large: bool) -> None:
    """A closed tape, but for its seal, in a file that nobody else knows of yet."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        if recording.branch is not None:
            db.execute(f"PRAGMA page_size = {_SMALL_PAGE}")
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        schema.begin(db, brief=recording.branch is not None)
        packer = ClosePacker(large=large)
        for records in stretches(batches):
            piece = packer.pack(records)
            db.execute("INSERT INTO piece VALUES (?, ?, ?, ?)", (piece.id, piece.segment, piece.data, piece.chain))
            recording.pieces, recording.digest = piece.id, piece.chain
        db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows_of(recording))
        db.executemany("INSERT INTO run VALUES (?, ?)", recording.summary.items())
        db.execute("COMMIT")


def summary_of(recording: Recording) -> dict[str, str | int]:
    """What the table `run` of a closed tape says of its journal."""
    together = whole(recording)
    duration = max((event.ended or event.at for event in recording.events), default=0)
    return {
        "status": outcome(recording),
        "exit_status": UNKNOWN_STATUS if recording.status is None else recording.status,
        "events": len(together.events),
        "lanes": len(together.lanes),
        "duration": duration if recording.ended is None else recording.ended.at,
        "faults": sum(note.slug == "fault" for note, _ in together.notes),
        "program": _program(recording.manifest),
        **labels.rows(*labels_of(together)),
        **branching.rows(recording.branch),
    }


def _program(manifest: bytes) -> str:
    """What was run, as one would type it after `python`."""
    try:
        program = _program_of(manifest)
    except (ValueError, RecursionError):
        return ""
    return program.entry or shlex.join(program.target)


def labels_of(recording: Recording) -> tuple[str, dict[str, str]]:
    """The run's session and its tags: those that it began with, and those that the program gave it."""
    try:
        began = _program_of(recording.manifest)
    except (ValueError, RecursionError):
        began = _Program()
    return recording.session or began.session, began.tags | recording.tags


def rows_of(recording: Recording) -> list[tuple[int | str | None, ...]]:
    """What the table `event` of a closed tape says of its journal: of a branch, of what is its own."""
    return [_row(event) for event in whole(recording).events if event.id >= recording.inherited]


def _row(event: Event) -> tuple[int | str | None, ...]:
    status = next((_status(part.data) for _, part in reversed(event.parts) if part.kind == ev.PartKind.HEAD), None)
    sent = event.delta.prefix + len(event.delta.middle) + event.delta.suffix
    place = event.site.place if event.site is not None else None
    return (event.id, event.lane, event.kind, event.name, place, event.at, event.ended, status, sent, event.received)


def _status(head: bytes) -> int | None:
    try:
        return _status_of(head).status
    except (ValueError, RecursionError):
        return None
