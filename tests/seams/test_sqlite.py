"""SQLite: a replay finds the database as the run did, and the time and chance that its SQL read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.runs import Bench


@pytest.fixture
def bench(either: Bench) -> Bench:
    """Where files are closed by the kernel, and where they are not."""
    return either


NOTES = """
    import sqlite3
    with sqlite3.connect("notes.db") as db:
        db.execute("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP,"
                   " mark INTEGER DEFAULT (random()), code BLOB DEFAULT (randomblob(4)))")
        for text in ("one", "two"):
            db.execute("INSERT INTO note (text) VALUES (?)", (text,))
        print(*db.execute("SELECT * FROM note"), sep="\\n")
        print(*db.execute("SELECT strftime('%f', 'now'), julianday('now'), date(), time('now', 'localtime')"))
"""


def rows(path: Path) -> list[object]:
    """What the table holds."""
    with closing(sqlite3.connect(path)) as db:
        return list(db.execute("SELECT text FROM note"))


def test_a_database_is_found_as_it_was_and_is_left_alone(bench: Bench) -> None:
    run = bench.record(NOTES)
    assert len(rows(bench.folder / "notes.db")) == 2
    run.reproduced()
    with closing(sqlite3.connect(bench.folder / "notes.db")) as db:
        db.execute("UPDATE note SET text = 'changed'")
        db.commit()
    run.reproduced()
    assert rows(bench.folder / "notes.db") == [("changed",)] * 2
    again = bench.record(NOTES)
    assert len(rows(bench.folder / "notes.db")) == 4
    again.reproduced()
    (bench.folder / "notes.db").unlink()
    again.reproduced()
    assert not (bench.folder / "notes.db").exists()


def test_a_cache_is_as_cold_as_it_was(bench: Bench) -> None:
    run = bench.record("""
        import pathlib, sqlite3
        home = pathlib.Path.home() / ".cache" / "tool"
        home.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(f"file:{home / 'cache.db'}?mode=rwc", uri=True)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT)")
        found = db.execute("SELECT value FROM kept WHERE key = 'a'").fetchone()
        print("warm" if found else "cold")
        db.execute("INSERT OR REPLACE INTO kept VALUES ('a', 'b')")
        db.commit()
    """)
    assert run.text == "cold\n"
    run.reproduced()
    run.reproduced()


def test_what_is_in_a_log_of_sqlites_own_is_part_of_the_database(bench: Bench) -> None:
    path = bench.folder / "log.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE note (text TEXT)")
        writer.execute("INSERT INTO note VALUES ('in the log')")
        writer.commit()
        run = bench.record("""
            import sqlite3
            db = sqlite3.connect("log.db")
            print(db.execute("SELECT * FROM note").fetchall())
        """)
    assert "in the log" in run.text
    path.unlink()
    run.reproduced()


def test_another_content_is_a_difference_and_another_layout_is_none(bench: Bench) -> None:
    program = """
        import sqlite3
        db = sqlite3.connect("sum.db")
        db.execute("CREATE TABLE total (value INTEGER)")
        db.execute("INSERT INTO total VALUES (4)")
        db.commit()
    """
    run = bench.record(program)
    bench.write(program.rstrip() + '\n        db.execute("VACUUM")\n')
    assert run.verify().passed
    bench.write(program.replace("(4)", "(5)"))
    (found,) = run.verify().divergences
    assert (found["what"], found["expected"]["name"]) == ("file", str(bench.folder / "sum.db"))


def test_the_functions_of_sql_are_what_they_were(bench: Bench) -> None:
    program = """
        import sqlite3
        db = sqlite3.connect(":memory:")
        for call in ("datetime('2024-02-28', '+2 days')", "date(0, 'unixepoch')", "time('12:00', '-1 hour')", "strftime('%Y', 0.5)",
                     "julianday('2024-01-01')", "strftime('%s', '1970-01-02')", "datetime('nonsense')", "date(NULL)",
                     "typeof(random())", "length(randomblob(9))", "length(randomblob(0))", "typeof(CURRENT_TIMESTAMP)",
                     "length(CURRENT_TIME)", "strftime('%Y-%m-%d', 'now') = CURRENT_DATE", "date('now') = date()",
                     "julianday('now') - julianday('now')", "typeof(strftime('%s'))", "date('now', 'weekday 0') >= date()"):
            print(call, db.execute(f"SELECT {call}").fetchone())
    """
    assert bench.plain(program).stdout == bench.record(program).stdout
