"""Writes a tape while its run goes on. A commit is on disk when it returns."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from reenact import _real
from reenact.tape import schema
from reenact.tape.event import AnyRecord
from reenact.tape.journal import Packer, Piece

_SPILL_RECORDS = 4096
_INSERT = "INSERT INTO piece VALUES (?, ?, ?, ?)"


class TapeWriter:
    """An open tape. Thread safe; records are buffered until `commit`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, packer: Packer) -> None:
        self.path = path
        self._db = connection
        self._packer = packer
        self._pending: list[AnyRecord] = []
        self._unwritten: list[Piece] = []
        self._lock = _real.allocate_lock()
        self._forsaken = False
        self.commits = 0
        self.append = self._pending.append  # as `add`, where a commit is due before memory is

    @classmethod
    def create(
        cls, path: Path, run_id: str, name: str, started: int, labels: Mapping[str, str | int] = {}
    ) -> TapeWriter:
        """A new tape at `path`, which must be an empty file or not exist. `started` is ns since 1970.

        `labels` are further rows that say what the run is.
        """
        private(path)
        db = _connect(path)
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {schema.FORMAT}")
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript("BEGIN;" + schema.SCHEMA + "COMMIT;")
        rows = {"run_id": run_id, "name": name, "started": started, "status": "recording", **labels}
        db.executemany("INSERT INTO run VALUES (?, ?)", rows.items())
        return cls(db, path, Packer())

    @classmethod
    def resume(cls, path: Path, last: Piece | None) -> TapeWriter:
        """Goes on after `last`, in a segment of its own, on a tape that another process began."""
        db = _connect(path)
        if last is None:
            return cls(db, path, Packer())
        return cls(db, path, Packer(last.id + 1, last.segment + 1, last.chain))

    def protect(self, encode: Callable[[Sequence[AnyRecord]], bytes]) -> None:
        """From now on records are written as `encode` makes them: without secrets."""
        self._packer.encode = encode

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
            if len(self._unwritten) == 1:
                self._db.execute(_INSERT, (piece.id, piece.segment, piece.data, piece.chain))
            else:
                self._insert_together()
            self._unwritten.clear()
            self.commits += 1
            return piece

    @contextmanager
    def in_no_hurry(self) -> Iterator[None]:
        """What is committed inside of this is in the hands of the operating system, which may take its time."""
        if self._forsaken:
            yield
            return
        self._db.execute("PRAGMA synchronous = OFF")
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


def private(path: Path) -> None:
    """Makes a file, if it is not there, that its owner alone can read; what SQLite keeps beside it is as private."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    return db
