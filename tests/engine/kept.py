"""A tape writer that keeps in memory what a session would write, and where it committed."""

from __future__ import annotations

from typing import TypeVar, cast

from reenact.engine.plan import RECORD
from reenact.engine.session import Session
from reenact.tape.event import AnyRecord, Record
from reenact.tape.writer import TapeWriter

R = TypeVar("R", bound=Record)


class Kept:
    """`records` in order, `durable` of them committed. A record of a type in `broken` cannot be written."""

    def __init__(self, *broken: type[Record]) -> None:
        self.records: list[AnyRecord] = []
        self.durable = 0
        self.commits = 0
        self.weight = 0
        self.busy = False
        self.cut = False
        self._broken = broken

    def append(self, record: AnyRecord) -> None:
        if isinstance(record, self._broken):
            message = f"{type(record).__name__} cannot be written"
            raise TypeError(message)
        self.records.append(record)

    def protect(self, encode: object) -> None:
        """Nothing is written."""

    def commit(self) -> None:
        self.commits += self.durable < len(self.records)
        self.durable = len(self.records)
        self.weight = 0

    def of(self, kind: type[R]) -> list[R]:
        """The records of one type."""
        return [record for record in self.records if isinstance(record, kind)]


def recording(kept: Kept) -> Session:
    """A session that is recorded there."""
    return Session(RECORD, cast("TapeWriter", kept))
