"""Writes a tape while its run goes on. A commit is on disk when it returns."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from reenact import _real
from reenact.tape import disk, schema
from reenact.tape.event import AnyRecord
from reenact.tape.journal import Packer, Piece
from reenact.tape.store import being_made

_SPILL_RECORDS = 4096
_INSERT = "INSERT INTO piece VALUES (?, ?, ?, ?)"
_ROOM_BYTES = 1 << 20


class TapeWriter:
    """An open tape. Thread safe; records are buffered until `commit`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, packer: Packer) -> None:
        self.path = path
        self._db = connection
        self._log, self._room = f"{path}-wal", 0
        self._packer = packer
        self._pending: list[AnyRecord] = []
        self._unwritten: list[Piece] = []
        self._lock = _real.allocate_lock()
        self._forsaken = False
        self.first: Piece | None = None
        self.commits = 0
        self.append = self._pending.append  # as `add`, where a commit is due before memory is

    @classmethod
    def create(
        cls,
        path: Path,
        run_id: str,
        name: str,
        started: int,
        labels: Mapping[str, str | int] = {},
        first: Sequence[AnyRecord] = (),
    ) -> TapeWriter:
        """A new tape at `path`: it is there with all of this, or not at all. `started` is ns since 1970.

        `labels` are further rows that say what the run is, and `first` is what its journal begins with.
        """
        rows = {"run_id": run_id, "name": name, "started": started, "status": "recording", **labels}
        packer = Packer()
        piece = packer.pack(first) if first else None
        new = being_made(path)
        _make(new, rows, piece)
        disk.sync(new)
        new.rename(path)
        disk.sync_if_possible(path.parent)
        writer = cls(_connect(path), path, packer)
        writer.first = piece
        return writer

    @classmethod
    def resume(cls, path: Path, last: Piece | None) -> TapeWriter:
        """Goes on after `last`, in a segment of its own, on a tape that another process began."""
        db = _connect(path)
        if last is None:
            return cls(db, path, Packer())
        return cls(db, path, Packer(last.id + 1, last.segment + 1, last.chain))

    def add(self, record: AnyRecord) -> None:
        """Keeps a record in memory; it rides along with the next commit."""
        if self._forsaken:
            return
        self._pending.append(record)
        if len(self._pending) > _SPILL_RECORDS:
            self.commit()

    def commit(self) -> Piece | None:
        """Makes every record so far durable. The piece that holds them, None when there were none."""
        if self._forsaken:
            return None
        with self._lock:
            records = self._pending[:]
            if records:
                del self._pending[: len(records)]  # whatever has been added meanwhile stays
                self._unwritten.append(self._packer.pack(records))
            if not self._unwritten:
                return None
            piece = self._unwritten[-1]
            self._make_room()
            if len(self._unwritten) == 1:
                self._db.execute(_INSERT, (piece.id, piece.segment, piece.data, piece.chain))
            else:
                self._insert_together()
            self._unwritten.clear()
            self.commits += 1
            return piece

    def _make_room(self) -> None:
        """Lets SQLite's log be larger than it is full, by as much again: to overwrite costs the disk less than to grow.

        Whoever reads a log reads as far as its frames are whole and of its salt (sqlite.org/fileformat2.html), which
        zeros are not.
        """
        with suppress(OSError):  # it is no harm when there is none
            size = _real.stat(self._log).st_size
            if size > self._room:
                ahead = min(size, _ROOM_BYTES)
                log = _real.open_fd(self._log, os.O_WRONLY | os.O_CLOEXEC)
                try:
                    self._room = size + _real.pwrite(log, bytes(ahead), size)
                finally:
                    _real.close_fd(log)

    @contextmanager
    def in_no_hurry(self) -> Iterator[None]:
        """What is committed inside of this is in the hands of the operating system, which may take its time."""
        if self._forsaken:
            yield
            return
        # not OFF: SQLite would not sync either when it moves its log into the file, and begins the log anew
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._db.execute("PRAGMA synchronous = FULL")

    def _insert_together(self) -> None:
        """What could not be written the last time goes first: a piece that is missing would cut the tape there."""
        rows = [(piece.id, piece.segment, piece.data, piece.chain) for piece in self._unwritten]
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany(_INSERT, rows)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def forsake(self) -> None:
        """This process is a fork, and the tape its parent's. Nothing more is done to it; not even closed may it be."""
        self._forsaken = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))

    def close(self) -> None:
        """Commits and lets go of the file; the WAL stays for whoever finishes the tape."""
        if self._forsaken:
            return
        self.commit()
        with self._lock:
            self._db.close()


def _make(path: Path, rows: Mapping[str, str | int], piece: Piece | None) -> None:
    """An open tape, not synced."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = OFF")
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {schema.FORMAT}")
        db.executescript("BEGIN;" + schema.SCHEMA)
        db.executemany("INSERT INTO run VALUES (?, ?)", rows.items())
        if piece is not None:
            db.execute(_INSERT, (piece.id, piece.segment, piece.data, piece.chain))
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    return db
