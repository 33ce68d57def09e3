"""The agent of `growing`, with the two durable commits that its tape could not do without around each exchange.

python -m bench.agents.committing FOLDER URL STEPS SHAPE SIZES     SIZES: bytes of the rows, with commas between
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from bench.agents import growing
from bench.agents.pace import Ledger, Pace, clocks, since
from reenact import _real

TABLE = "CREATE TABLE piece (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, data BLOB NOT NULL, chain BLOB NOT NULL)"
INSERT = "INSERT INTO piece VALUES (?, ?, ?, ?)"
CHAIN = bytes(32)


class Committing(Pace):
    """Commits a row to SQLite before each exchange and one after it. The settings are those of `tape/writer.py`."""

    def __init__(self, folder: str, rows: Iterator[bytes]) -> None:
        super().__init__(folder)
        self._rows = rows
        self._row = 0
        self._next = b"", b""
        self._db = sqlite3.connect(
            Path(folder) / "commits.db", isolation_level=None, check_same_thread=False, timeout=30
        )
        for setting in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 4000"):
            self._db.execute(f"PRAGMA {setting}")
        self._db.execute(TABLE)

    def start(self) -> None:
        """A commit, and then the exchange."""
        self._next = next(self._rows), next(self._rows)
        super().start()
        self._commit(self._next[0])

    def stop(self) -> None:
        """The exchange is over; a commit."""
        self._commit(self._next[1])
        super().stop()

    def _commit(self, row: bytes) -> None:
        began = clocks()
        self._row += 1
        self._db.execute(INSERT, (self._row, 0, row, CHAIN))
        Ledger.enter(*since(began))


def main(folder: str, url: str, steps: str, shape: str, sizes: str) -> None:
    """The sizes are taken in turn."""
    rows = cycle([_real.urandom(int(size)) for size in sizes.split(",")])
    growing.run(Committing(folder, rows), url, int(steps), shape)


if __name__ == "__main__":
    main(*sys.argv[1:])
