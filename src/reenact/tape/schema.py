"""What a tape file is: the SQLite schema, which is also its documentation."""

from __future__ import annotations

import re
import sqlite3
from functools import cache

APPLICATION_ID = 0x726E6374  # "rnct"

FORMAT = 2
SEALED = 2
"""The first format whose closed tapes are sealed."""
HISTORY = {
    1: "first format",
    2: "a closed tape ends with a seal; the tables are as before",
}

SCHEMA = """
-- A tape is one SQLite file with application_id 0x726E6374 and the format version in user_version.
-- While a run is recorded it is in WAL mode with synchronous=FULL. A closed tape is this one file, sealed at its end.
-- A closed branch has the same tables, declared in fewer letters: SQLite keeps them as they are written.

-- The journal: what happened, in order. One row is one durable commit.
--   segment  pieces of one segment are one zstd frame, flushed at each piece: decompress them in order of id
--   data     part of that frame; the plain bytes of a piece are one msgpack array of records (tape/event.py)
--   chain    SHA-256(chain of the row before (32 zero bytes at first), id and segment as u64 big-endian, data)
CREATE TABLE piece (
    id      INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    data    BLOB NOT NULL,
    chain   BLOB NOT NULL
);

-- What one asks of a tape without reading its journal. Derived from the journal when the tape is closed, except
-- run_id, name and started (ns since 1970), which are there from the first moment, and status 'recording'.
CREATE TABLE run (
    key   TEXT PRIMARY KEY,
    value ANY
) WITHOUT ROWID;

-- One row per event, for queries; written when the tape is closed. Times in ns since the run began.
CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    lane     TEXT NOT NULL,      -- birth path: 0 is main, 0.2 its second child
    kind     INTEGER NOT NULL,   -- tape.event.Kind
    name     TEXT NOT NULL,      -- method and URL for HTTP
    site     TEXT,               -- module:function of the agent's line
    began    INTEGER NOT NULL,
    ended    INTEGER,            -- NULL: no outcome on tape
    status   INTEGER,            -- HTTP status
    sent     INTEGER NOT NULL,   -- bytes of the request body
    received INTEGER NOT NULL    -- bytes of the answer
);
"""


_BRIEF = re.sub(r"\s*([(),;])\s*", r"\1", re.sub(r"--.*| NOT NULL", "", SCHEMA))
_BRIEF = re.sub(r"\s+", " ", _BRIEF).strip()
"""The same tables in few letters."""


def begin(db: sqlite3.Connection, *, brief: bool = False) -> None:
    """Makes an empty database an empty tape, in a transaction that is left open: it is to hold what the run is, too.

    `brief`: nothing will be written to it but what is now, and it is to be small.
    """
    tables = _BRIEF if brief else SCHEMA
    db.executescript(f"BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; {tables}")


def has_tables(db: sqlite3.Connection) -> bool:
    """Whether what there is in a database is what there is in a tape, and no view, trigger or table besides."""
    return _tables(db) in (_those_of(SCHEMA), _those_of(_BRIEF))


@cache
def _those_of(schema: str) -> frozenset[tuple[object, ...]]:
    db = sqlite3.connect(":memory:")
    try:
        db.executescript(schema)
        return _tables(db)
    finally:
        db.close()


def _tables(db: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    found = db.execute("SELECT type, name, tbl_name, CAST(sql AS BLOB) FROM sqlite_master")
    return frozenset(found)
