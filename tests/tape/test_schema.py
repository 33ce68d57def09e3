"""The schema: what the documents promise to others who read a tape with nothing but SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from reenact.tape import event as ev
from reenact.tape import schema
from reenact.tape.close import close
from tests.tape.records import run, written

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return written(tmp_path / "run-1.tape", run())


def columns(path: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}


def test_a_tape_can_be_told_from_its_first_bytes(tape: Path) -> None:
    """SQLite keeps the application id at offset 68 of the file, and the user's version at 60."""
    for _ in range(2):
        begin = tape.read_bytes()[:100]
        assert begin.startswith(b"SQLite format 3\0")
        assert begin[68:72] == b"rnct"
        assert int.from_bytes(begin[60:64], "big") == schema.FORMAT
        close(tape, 0)


def test_the_tables_are_these(tape: Path) -> None:
    expected = {
        "event": ["id", "lane", "kind", "name", "site", "began", "ended", "status", "sent", "received"],
        "piece": ["id", "segment", "data", "chain"],
        "run": ["key", "value"],
    }
    assert columns(tape) == expected
    close(tape, 0)
    assert columns(tape) == expected


def test_a_tape_of_this_format_has_exactly_the_documented_schema(tape: Path) -> None:
    with closing(sqlite3.connect(tape)) as db, closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema.SCHEMA)
        query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        assert db.execute(query).fetchall() == fresh.execute(query).fetchall()


def test_every_format_has_a_line_of_history_and_a_golden_tape() -> None:
    assert list(schema.HISTORY) == list(range(1, schema.FORMAT + 1))
    for version in schema.HISTORY:
        assert (ROOT / "tests" / "tapes" / f"format-{version}.tape").is_file()


def test_no_two_records_have_the_same_tag() -> None:
    kinds = ev.AnyRecord.__args__
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)
    assert set(kinds) == set(ev.Record.__subclasses__())


def test_what_is_on_tape_keeps_its_numbers() -> None:
    """Tapes live longer than code: these may be added to, never changed."""
    kinds = ["HTTP", "SLEEP", "STDIN", "WAIT", "CONNECT", "CLOSE"]
    assert [(kind.name, kind.value) for kind in ev.Kind][:6] == [(name, at) for at, name in enumerate(kinds, 1)]
    parts = ["HEAD", "CHUNK", "END", "FAILURE", "ABANDONED", "VALUE", "CLOSED", "OPENED", "GIVEN_UP"]
    assert [(kind.name, kind.value) for kind in ev.PartKind][:9] == [(name, at) for at, name in enumerate(parts, 1)]
    assert (ev.Stream.STDOUT, ev.Stream.STDERR) == (1, 2)
    assert (ev.DrawKind.TIME, ev.DrawKind.LOOP_TIME, ev.DrawKind.ENTROPY, ev.DrawKind.GETRANDBITS) == (1, 13, 20, 23)
    tags = {
        ev.Start: 0, ev.LaneBorn: 1, ev.SiteNamed: 2, ev.Began: 3, ev.Part: 4, ev.Timer: 5, ev.Draws: 6, ev.Wrote: 7,
        ev.Signal: 8, ev.Note: 9, ev.Ended: 10, ev.Exited: 11, ev.Snapshot: 12, ev.Handed: 13, ev.Expired: 14,
        ev.Spun: 15, ev.Collected: 16,
    }  # fmt: skip
    assert {kind: kind.__struct_config__.tag for kind in tags} == tags


def test_a_field_that_was_added_later_may_be_missing() -> None:
    """A record is an array, so fields are added at its end and have a default."""
    for kind in (ev.Part, ev.Failed, ev.Ended):
        fields = msgspec.structs.fields(kind)
        defaults = [field.required for field in fields]
        assert defaults == sorted(defaults, reverse=True)
