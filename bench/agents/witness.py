"""The agent of `growing`, with a witness at its tape who times each durable commit.

python -m bench.agents.witness FOLDER URL STEPS SHAPE     to be run under `reenact record`
"""

from __future__ import annotations

import sys
from typing import Any

from bench.agents import growing
from bench.agents.pace import Ledger, clocks, since
from reenact.engine.lane import current


class Witness:
    """A connection to SQLite that enters in the ledger what its statements cost."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, *statement: Any) -> Any:
        """As `sqlite3.Connection.execute`: one statement outside of a transaction is one durable commit."""
        began = clocks()
        try:
            return self._connection.execute(*statement)
        finally:
            Ledger.enter(*since(began))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def watch() -> None:
    """Sets the witness before the connection of the tape that this program is recorded on."""
    lane = current()
    if lane is None or lane.session is None or lane.session.writer is None:
        sys.exit("this program is not being recorded")
    writer: Any = lane.session.writer
    writer._db = Witness(writer._db)  # noqa: SLF001  nobody else needs to stand there


if __name__ == "__main__":
    watch()
    growing.main(*sys.argv[1:])
