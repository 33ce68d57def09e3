"""Writes a tape while its run goes on. A commit is on disk when it returns."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NoReturn, Protocol

from reenact import _real
from reenact.errors import TapeUnwrittenError
from reenact.tape import descriptors, disk, presence, schema
from reenact.tape.event import AnyRecord
from reenact.tape.journal import Packer, Piece, encode, sliced, stretches
from reenact.tape.journal import weight as weight_of
from reenact.tape.store import being_made

HEAVY_BYTES = 4 * 1024 * 1024  # so much does not wait in memory for the next commit
_MOST_UNWRITTEN, _MOST_COMMITS_UNWRITTEN = 64 * 1024 * 1024, 1000  # what cannot be written waits, up to this
_SPILL_RECORDS = 4096
_INSERT = "INSERT INTO piece VALUES (?, ?, ?, ?)"
_ROOM_BYTES = 1 << 20

Encode = Callable[[Sequence[AnyRecord]], bytes]


class Protector(Protocol):
    """Who knows what must not be written, see `vault.Vault`."""

    def encode(self, records: Sequence[AnyRecord]) -> bytes:
        """The records as they are written."""

    def cleaned(self, records: Sequence[AnyRecord]) -> Sequence[AnyRecord]:
        """The same as records."""

    def are_cut(self, records: Sequence[AnyRecord]) -> bool:
        """Whether a secret has come in part with them."""

    def finish(self) -> None:
        """Nothing more is written."""


class TapeWriter:
    """An open tape. Thread safe; records are buffered until `commit`. `weight` is roughly how many bytes wait for that.

    When it cannot be written (its disk is full, its descriptors are gone) it goes on to be tried, as long as what waits
    for it can be held; then it ends there, and takes nothing more.
    """

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
        self._files: descriptors.Files | None = None
        self._cleaned: Callable[[Sequence[AnyRecord]], Sequence[AnyRecord]] = lambda records: records
        self._finish: Callable[[], None] = lambda: None
        self._are_cut: Callable[[Sequence[AnyRecord]], bool] = lambda _: False
        self.commits = 0
        self.weight = 0
        self.append = self._pending.append  # as `add`, where a commit is due before memory is

    @classmethod
    def create(  # noqa: PLR0913  what a tape is from its first moment on
        cls,
        path: Path,
        run_id: str,
        name: str,
        started: int,
        labels: Mapping[str, str | int] = {},
        first: Iterable[AnyRecord] = (),
        *,
        encode: Encode = encode,
    ) -> TapeWriter:
        """A new tape at `path`: it is there with all of this, or not at all. `started` is ns since 1970.

        `labels` are further rows that say what the run is, and `first` is what its journal begins with,
        written as `encode` makes it.
        """
        rows = {"run_id": run_id, "name": name, "started": started, "status": "recording", **labels}
        packer = Packer()
        packer.encode = encode
        new = being_made(path)
        if not new.exists():  # a store has reserved it, as private
            private(new)
        last = _make(new, rows, map(packer.pack, stretches(([record] for record in first), HEAVY_BYTES)))
        disk.sync(new)
        with presence.opening(path):
            new.rename(path)
            disk.sync_if_possible(path.parent)
            db = _connect(path)
            db.execute("SELECT key FROM run").fetchone()  # with that it takes the lock by which it is seen to be there
        writer = cls(db, path, packer)
        writer.first = last
        return writer

    @classmethod
    def resume(cls, path: Path, last: Piece | None) -> TapeWriter:
        """Goes on after `last`, in a segment of its own, on a tape that another process began."""
        with presence.opening(path):
            db = _connect(path)
            db.execute("SELECT key FROM run").fetchone()
        if last is None:
            return cls(db, path, Packer())
        return cls(db, path, Packer(last.id + 1, last.segment + 1, last.chain))

    def protect(self, vault: Protector) -> None:
        """From now on records are written as the vault makes them: without secrets."""
        self._packer.encode, self._cleaned, self._finish = vault.encode, vault.cleaned, vault.finish
        self._are_cut = vault.are_cut

    def add(self, record: AnyRecord) -> None:
        """Keeps a record in memory; it rides along with the next commit."""
        if self._forsaken:
            return
        self._pending.append(record)
        if len(self._pending) > _SPILL_RECORDS:
            self.commit()

    def commit(self) -> Piece | None:
        """Makes every record so far durable. The piece that holds the last of them, None when there were none.

        Raises:
            TapeUnwrittenError: that cannot be done, for now or for good.
        """
        if self._forsaken:
            self._pending.clear()
            self.weight = 0
            return None
        with self._lock:
            size = self._log_size()
            records, weight = self._pending[:], self.weight
            del self._pending[: len(records)]  # whatever has been added meanwhile stays
            self.weight = 0
            try:
                if weight > HEAVY_BYTES:
                    return self._write_bit_by_bit(records)
                if records:
                    self._unwritten.append(self._packer.pack(records))
                return self._write(size)
            except sqlite3.Error as error:
                behind = self.weight + sum(len(piece.data) for piece in self._unwritten)
                if behind > _MOST_UNWRITTEN or len(self._unwritten) > _MOST_COMMITS_UNWRITTEN:
                    self._lose(str(error))
                raise TapeUnwrittenError(f"the tape could not be written: {error}") from error

    def _write(self, size: int) -> Piece | None:
        """Takes to disk what has been packed. `size` is that of SQLite's log."""
        if not self._unwritten:
            return None
        piece = self._unwritten[-1]
        if size > self._room:
            self._make_room(size)
        if len(self._unwritten) == 1:
            self._db.execute(_INSERT, (piece.id, piece.segment, piece.data, piece.chain))
        else:
            self._insert_together()
        self._unwritten.clear()
        self.commits += 1
        return piece

    def _write_bit_by_bit(self, records: list[AnyRecord]) -> Piece | None:
        """The same of much that has not: no more than a piece of it is held besides."""
        piece: Piece | None = None
        batches = stretches(sliced(self._cleaned(records)), HEAVY_BYTES)
        try:
            for batch in batches:
                self._unwritten.append(self._packer.pack(batch, plainly=True))
                piece = self._write(self._log_size())
        except sqlite3.Error:
            rest = [*chain.from_iterable(batches)]
            self._pending[:0] = rest
            self.weight += sum(map(weight_of, rest))
            raise
        return piece

    def _lose(self, why: str, *, theirs: bool = False) -> NoReturn:
        """The tape ends here. `theirs`: what its connection reaches may be files of the program by now."""
        if not theirs:
            self._db.close()
        self.forsake()
        self._pending.clear()
        self._unwritten.clear()
        raise TapeUnwrittenError(f"the tape ends here, and not with the program: {why}")

    @property
    def cut(self) -> bool:
        """Whether what waits for the next commit has a part of a secret, of which the rest is still to come."""
        return self._are_cut(self._pending[:])

    @property
    def busy(self) -> bool:
        """Whether somebody commits: maybe the calling thread, below a signal's handler."""
        return self._lock.locked()

    def _log_size(self) -> int:
        """How large SQLite's log is.

        Raises:
            TapeUnwrittenError: what has its descriptor is not the log any more.
        """
        if self._files is None:
            try:
                return _real.stat(self._log).st_size
            except OSError:
                return 0
        size = self._files.log_size()
        if size < 0:
            self._lose("the program has closed the files of the tape, by code in C", theirs=True)
        return size

    def _make_room(self, size: int) -> None:
        """Lets SQLite's log be larger than it is full, by as much again: to overwrite costs the disk less than to grow.

        Whoever reads a log reads as far as its frames are whole and of its salt (sqlite.org/fileformat2.html), which
        zeros are not.
        """
        with suppress(OSError):  # it is no harm when there is none
            log = _real.open_fd(self._log, os.O_WRONLY | os.O_CLOEXEC)
            try:
                self._room = size + _real.pwrite(log, bytes(min(size, _ROOM_BYTES)), size)
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
            if self._db.in_transaction:  # of some errors SQLite has done so itself
                self._db.execute("ROLLBACK")
            raise

    def guard(self) -> None:
        """The program has this process from now on, and the tape is to be in its way nowhere.

        It finds the descriptors that it would find without us, and may close all that it knows of.
        """
        with self.aside():
            pass

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The tape has no descriptors meanwhile, and then such as are in nobody's way."""
        with self._lock, presence.opening(self.path):
            self._db.close()
            self._files = None
            try:
                yield
            finally:
                with suppress(sqlite3.Error, OSError), descriptors.out_of_the_way():  # the next commit tells of it
                    self._db = _connect(self.path)
                    self._db.execute("SELECT count(*) FROM run").fetchone()  # which opens what lies beside it
                    self._files = descriptors.Files.of(self.path)

    @property
    def descriptors(self) -> frozenset[int]:
        """Those of the program's process that are the tape's."""
        return self._files.numbers if self._files is not None else frozenset()

    def forsake(self) -> None:
        """This process is a fork, and the tape its parent's. Nothing more is done to it; not even closed may it be."""
        self._forsaken = True
        self._files = None
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))

    def close(self) -> None:
        """Commits and lets go of the file; the WAL stays for whoever finishes the tape."""
        if self._forsaken:
            return
        try:
            self.commit()
            self._finish()
        finally:
            with self._lock:
                if not self._forsaken:
                    self._db.close()


def _make(path: Path, rows: Mapping[str, str | int], pieces: Iterable[Piece]) -> Piece | None:
    """An open tape, not synced. The last of its pieces."""
    piece: Piece | None = None
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = OFF")
        schema.begin(db)
        db.executemany("INSERT INTO run VALUES (?, ?)", rows.items())
        for piece in pieces:
            db.execute(_INSERT, (piece.id, piece.segment, piece.data, piece.chain))
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")
    return piece


def private(path: Path) -> None:
    """Makes a file, if it is not there, that its owner alone can read; what SQLite keeps beside it is as private."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    return db
