"""What is long stands on tape in slices, is the same when it is read, and an outline is without most of it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import TapeUnwrittenError
from reenact.tape import event as ev
from reenact.tape import reader
from reenact.tape import writer as writer_module
from reenact.tape.close import close
from reenact.tape.event import AnyRecord, PartKind
from reenact.tape.journal import LONG_BYTES, sliced, weight
from reenact.tape.reader import outline, read
from reenact.tape.writer import HEAVY_BYTES, TapeWriter
from tests.tape.records import beginning, pieces_of

DATA = os.urandom(3 * HEAVY_BYTES + 12345)
LONG: list[AnyRecord] = [
    ev.Began(0, 0, 1, "POST http://h/", -1, 1, b"[]", ev.Delta(-1, 0, 0, DATA)),
    ev.Part(0, PartKind.HEAD, 2, b'{"status":200}'),
    ev.Part(0, PartKind.CHUNK, 3, DATA[:LONG_BYTES]),
    ev.Part(0, PartKind.CHUNK, 4, DATA[: LONG_BYTES + 1]),
    ev.Part(0, PartKind.END, 5, b""),
    ev.Wrote(0, 1, DATA[7:]),
    ev.Content(b"digest", DATA[9:]),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run-1.tape"


def written(path: Path, writer: TapeWriter | None = None) -> TapeWriter:
    writer = writer or TapeWriter.create(path, "run-1", "run", 5)
    for record in [*beginning(), *LONG]:
        writer.add(record)
        writer.weight += weight(record)
    return writer


def holds_all(path: Path) -> None:
    recording = read(path)
    assert recording.body(recording.events[0]) == DATA
    assert [part for _, part in recording.events[0].parts] == LONG[1:5]
    assert recording.wrote == {1: DATA[7:]}
    assert recording.contents == {b"digest": DATA[9:]}


def test_what_is_long_is_the_same_when_it_is_read(path: Path) -> None:
    writer = written(path)
    writer.commit()
    assert max(len(piece.data) for piece in pieces_of(path)) < 2 * HEAVY_BYTES
    assert writer.weight == 0
    writer.close()
    holds_all(path)
    close(path, 0)
    assert max(len(piece.data) for piece in pieces_of(path)) < 2 * HEAVY_BYTES
    holds_all(path)


@pytest.mark.parametrize("size", [0, 1, LONG_BYTES - 1, LONG_BYTES, LONG_BYTES + 1, 2 * LONG_BYTES])
def test_slices_are_as_few_as_can_be(size: int) -> None:
    (*slices, last) = (record for (record,) in sliced([ev.Wrote(0, 1, DATA[:size])]))
    assert isinstance(last, ev.Wrote)
    assert len(slices) == max(0, -(-size // LONG_BYTES) - 1)
    assert b"".join([*(bytes(one.data) for one in slices if isinstance(one, ev.Slice)), last.data]) == DATA[:size]


class Failing:
    """A connection on which one INSERT fails."""

    def __init__(self, real: sqlite3.Connection, at: int) -> None:
        self.real, self.at = real, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def execute(self, statement: str, *args: Any) -> Any:
        self.at -= statement.startswith("INSERT")
        if not self.at and statement.startswith("INSERT"):
            raise sqlite3.OperationalError("database or disk is full")
        return self.real.execute(statement, *args)


@pytest.mark.parametrize("at", [1, 2, 5, 9])
def test_a_long_commit_that_fails_is_made_up_for(path: Path, at: int) -> None:
    writer = written(path)
    writer._db = Failing(writer._db, at)  # type: ignore[assignment]
    with pytest.raises(TapeUnwrittenError):
        writer.commit()
    writer.commit()
    holds_all(path)


def test_what_cannot_be_written_for_long_is_let_go(path: Path) -> None:
    writer = written(path)
    while writer.weight < writer_module._MOST_UNWRITTEN:
        written(path, writer)
    writer._db.execute("PRAGMA query_only = ON")
    with pytest.raises(TapeUnwrittenError, match="the tape ends here"):
        writer.commit()
    assert not writer._pending
    assert not writer._unwritten
    writer.append(ev.Note("n", "later", -1))
    assert writer.commit() is None
    assert not writer._pending
    writer.close()
    assert read(path).events == []


def test_an_outline_is_without_the_rest_of_what_is_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "OUTLINED_BYTES", LONG_BYTES)
    writer = written(path)
    written(path, writer)._pending[-len(LONG) - len(beginning()) : -2] = []  # two of output and contents
    writer.close()
    whole, short = read(path), outline(path)
    (event,) = short.events
    assert (event.left_out, event.received) == (LONG_BYTES + 1, whole.events[0].received)
    assert [len(part.data) for _, part in event.parts] == [14, LONG_BYTES, 0, 0]
    assert short.body(event) == DATA
    assert short.output == whole.output == 2 * len(DATA[7:])
    assert len(short.wrote[1]) == len(DATA[7:])
    assert short.ticks[0] is not None
    assert len(short.ticks) == len(whole.ticks)
