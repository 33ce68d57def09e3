"""Reads a tape into a `Recording`. Every piece is checked against its chain before it is believed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, takewhile
from pathlib import Path

from reenact.errors import TapeCorruptError, TapeError, TapeVersionError
from reenact.tape import event as ev
from reenact.tape import schema
from reenact.tape import seal as seals
from reenact.tape.branching import composed
from reenact.tape.building import Builder, set_aside
from reenact.tape.journal import Piece, unfold, unpack
from reenact.tape.recording import RECORDING, Recording, in_order_of_birth
from reenact.tape.seal import Seal

OUTLINED_BYTES = 16 * 1024 * 1024
"""What an outline holds of one answer, and of one stream of output."""
_DEEPEST = 32  # processes that have started one another
_COLUMNS = {
    "piece": ["id", "segment", "data", "chain"],
    "run": ["key", "value"],
    "event": ["id", "lane", "kind", "name", "site", "began", "ended", "status", "sent", "received"],
}


def read(path: Path, *, unsealed: bool = False, depth: int = 0) -> Recording:
    """The recording on a tape, closed or still being written. `unsealed`: without a look at its seal.

    It may be of a process that others have started, `depth` of them.

    Raises:
        TapeError: there is no tape there, or its bytes cannot be believed.
    """
    return _read(path, None, unsealed=unsealed, depth=depth)


def outline(path: Path, *, unsealed: bool = False) -> Recording:
    """As `read`, without what is very long: the rest of an answer, and of output.

    The whole journal is checked all the same. Nothing can be replayed from an outline.
    """
    return _read(path, OUTLINED_BYTES, unsealed=unsealed)


def _read(path: Path, most: int | None, *, unsealed: bool, depth: int = 0) -> Recording:
    seal = None if unsealed else seal_of(path)
    with index(path) as db:
        recording = Recording(path, run_table(db), seal=seal, depth=depth, started=_started)
        builder = Builder(recording, most)
        for record in _composed(path, db, recording):
            builder.add(record)
    set_aside(recording)
    return recording


def _composed(path: Path, db: sqlite3.Connection, recording: Recording | None) -> Iterator[ev.AnyRecord]:
    """The records of a tape that is open, and before them those that it has of its parents."""

    def own(tape: Path) -> tuple[bytes, Iterator[ev.AnyRecord]]:
        if tape == path:
            rows = db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")
            pieces = (Piece(*row) for row in rows)
            if recording is None:
                return b"", chain.from_iterable(unpack(pieces))
            return b"", chain.from_iterable(unpack(_last_seen(recording, pieces), recording.allowance))
        seal_of(tape)
        with index(tape) as parent:
            found = [Piece(*row) for row in parent.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")]
        return found[-1].chain if found else b"", chain.from_iterable(unpack(iter(found)))

    return composed(path, own)


def folder_of(tape: Path) -> Path:
    """Where the tapes of the processes are that a run has started, until they are folded into its own."""
    return tape.with_suffix("")


def _beside(run: Recording) -> Iterator[Recording]:
    found = []
    folder = folder_of(run.path)
    for path in folder.glob(f"*{run.path.suffix}") if not folder.is_symlink() else ():
        with suppress(TapeError):  # its process was gone before there was anything on it, or still is at that
            found.append(read(path, depth=_below(run)))
    return iter(sorted((one for one in found if one.lanes), key=in_order_of_birth))


def _started(run: Recording) -> Iterator[Recording]:
    """The processes that it has started: while the run goes on, or when it was killed, they stand beside its tape."""
    yield from (_process(run, kin, run.ends.get(lane)) for lane, kin in run.kin.items())
    if run.summary.get("status") == RECORDING:
        yield from _beside(run)


def _process(run: Recording, kin: list[ev.Kin], status: int | None) -> Recording:
    depth, allowance = _below(run), run.allowance
    recording = Recording(run.path, {}, status=status, allowance=allowance, depth=depth, started=_started)
    builder = Builder(recording)
    for stretch in kin:
        for record in unfold(stretch, allowance):
            builder.add(record)
    set_aside(recording)
    return recording


def _below(run: Recording) -> int:
    if run.depth == _DEEPEST:
        raise TapeCorruptError(f"{run.path}: more than {_DEEPEST} processes have started one another")
    return run.depth + 1


def records(path: Path) -> Iterator[ev.AnyRecord]:
    """The journal of a tape, record by record."""
    seal_of(path)
    with index(path) as db:
        yield from (record for record in _composed(path, db, None) if not isinstance(record, ev.Branch))


def inherited(path: Path) -> Iterator[ev.AnyRecord]:
    """The records that a branch has of its parents; none where it is no branch."""
    with index(path) as db:
        if "parent" in run_table(db):
            yield from takewhile(lambda record: not isinstance(record, ev.Branch), _composed(path, db, None))


def seal_of(path: Path) -> Seal | None:
    """The seal of a closed tape, when every bit is as it was sealed; None while the tape is not closed.

    There is none either on a tape that was closed before there were seals.

    Raises:
        TapeError: it is damaged, or no tape.
    """
    if path.is_file() and seals.is_sealed(path) and _version_in(path) <= schema.FORMAT:
        return seals.read(path)
    with index(path) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        status = db.execute("SELECT value FROM run WHERE key = 'status'").fetchone()
    if version >= schema.SEALED and status != (RECORDING,):
        raise TapeCorruptError(f"{path} is damaged: its seal is missing, so it is not as it was when it was closed")
    return None


def _version_in(path: Path) -> int:
    """The format that a file says it has, without SQLite: a damaged one is not for its eyes."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(64)[60:], "big")


def summary(path: Path) -> dict[str, str | int]:
    """What is known of a run without reading its journal."""
    with index(path) as db:
        return run_table(db)


@contextmanager
def index(path: Path) -> Iterator[sqlite3.Connection]:
    """The tables of a tape that say what is in its journal."""
    with _damage_told(path), closing(_open(path)) as db:
        yield db


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Damage is a `TapeError`, wherever SQLite comes upon it."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # UnicodeDecodeError: SQLite quotes the damaged bytes in its message
        raise TapeCorruptError(f"{path} is damaged: {error}") from error


def _last_seen(recording: Recording, pieces: Iterator[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        yield piece
        recording.digest = piece.chain
        recording.pieces = piece.id


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise TapeError(f"{path} is not a file")
    db = connect(path)
    try:
        _check(path, db)
    except sqlite3.DatabaseError as error:
        db.close()
        raise TapeError(f"{path} is not a tape: {error}") from error
    except BaseException:
        db.close()
        raise
    return db


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a tape. Of one that is sealed only the file itself is seen, and nothing that lies beside it."""
    how = "mode=ro&immutable=1" if seals.is_sealed(path) else "mode=rw"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", isolation_level=None, timeout=30, uri=True)


def run_table(db: sqlite3.Connection) -> dict[str, str | int]:
    """The table `run`: of what SQLite keeps in any column, texts and numbers."""
    rows = db.execute("SELECT key, value FROM run")
    return {key: value for key, value in rows if isinstance(key, str) and isinstance(value, str | int)}


def _check_tables(path: Path, db: sqlite3.Connection) -> None:
    """That what is read are tables: a view, or a column that is computed, could be without end."""
    strange = db.execute("SELECT name FROM sqlite_master WHERE rootpage IS NULL OR rootpage < 1").fetchone()
    if strange is not None:  # views, triggers and virtual tables have no pages
        raise TapeCorruptError(f"{path}: {strange[0]!r} is no plain table")
    for table, columns in _COLUMNS.items():
        found = [(name, hidden) for _, name, *_, hidden in db.execute(f"PRAGMA table_xinfo({table})")]
        gone = not found and table == "event"  # which is made of the journal, and for queries only
        if not gone and found != [(name, 0) for name in columns]:
            raise TapeCorruptError(f"{path}: its tables are not those of a tape")


def _check(path: Path, db: sqlite3.Connection) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != schema.APPLICATION_ID:
        raise TapeError(f"{path} is not a tape (its application id is {application:#x})")
    if version > schema.FORMAT:
        known = f"this reenact knows up to {schema.FORMAT}. Upgrade reenact to read it."
        raise TapeVersionError(f"{path} has tape format {version}; {known}")
    if version not in schema.HISTORY:
        raise TapeCorruptError(f"{path} is damaged: it says that its format is {version}, which never was")
    if not schema.has_tables(db):
        raise TapeCorruptError(f"{path} is damaged: its tables are not those of a tape")
    _check_tables(path, db)
