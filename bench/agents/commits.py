"""What an exchange costs a tape at the least: two durable commits to SQLite, of rows as large as those of a tape.

python -m bench.agents.commits FOLDER STEPS SIZES     SIZES: bytes of the rows, with commas between, taken in turn
"""

from __future__ import annotations

import sqlite3
import sys
from itertools import cycle
from pathlib import Path

from bench.agents.pace import Pace
from reenact import _real

TABLE = "CREATE TABLE piece (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, data BLOB NOT NULL, chain BLOB NOT NULL)"
INSERT = "INSERT INTO piece VALUES (?, ?, ?, ?)"
CHAIN = bytes(32)


def main(folder: str, steps: str, sizes: str) -> None:
    """Two commits a step. The settings are those of `tape/writer.py`."""
    pace = Pace(folder)
    db = sqlite3.connect(Path(folder) / "commits.db", isolation_level=None, check_same_thread=False, timeout=30)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 4000"):
        db.execute(f"PRAGMA {setting}")
    db.execute(TABLE)
    rows = cycle([_real.urandom(int(size)) for size in sizes.split(",")])
    for step in pace.steps(int(steps)):
        first, second = next(rows), next(rows)
        pace.start()
        db.execute(INSERT, (2 * step, 0, first, CHAIN))
        db.execute(INSERT, (2 * step + 1, 0, second, CHAIN))
        pace.stop()
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
