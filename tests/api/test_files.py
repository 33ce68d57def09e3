"""Files of runs in code: each has its own, a replay finds them as that run did, and changes none of the user's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from reenact.tape.reader import read
from tests.runs import Bench, Done


@pytest.fixture
def bench(either: Bench) -> Bench:
    """Where files are closed by the kernel, and where they are not."""
    return either


class Runs:
    """The runs that one program has recorded."""

    def __init__(self, bench: Bench, program: str, env: Mapping[str, str] | None = None) -> None:
        self.bench = bench
        self.done: Done = bench.plain(program, env=env)
        assert self.done.status == 0, self.done.stderr.decode()
        self.ids = sorted(bench.store.ids())

    def document(self, run_id: str) -> dict[str, object]:
        done = self.bench.run("-m", "reenact", "verify", run_id, "--json")
        assert done.status in (0, 1), done.stderr.decode()
        document: dict[str, object] = json.loads(done.stdout)
        return document

    def verified(self) -> None:
        for run_id in self.ids:
            document = self.document(run_id)
            assert document["verdict"] == "verified", json.dumps(document, indent=1)[:4000]
            assert not document["drifts"], document["drifts"]
            assert not document["not_restored"], document["not_restored"]


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, with when it was changed; not the tapes."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not {".reenact", "__pycache__"} & set(path.parts)
    }


CALLS = """
    import json, os, pathlib, tempfile
    import reenact

    @reenact.record
    def work(name: str) -> list[str]:
        prompt = pathlib.Path("prompt.txt").read_text()
        state = json.load(open("state.json")) if os.path.exists("state.json") else {}
        state[name] = len(state)
        with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
            json.dump(state, file)
        os.replace(file.name, "state.json")
        with open(f"{name}.log", "a") as log:
            log.write(f"{prompt} {file.name}\\n")
        pathlib.Path("made", name).mkdir(parents=True)
        print(prompt, state, sorted(os.listdir("made")), open(f"{name}.log").read())
        return sorted(state)

    if __name__ == "__main__":
        for name in ("a", "b", "c"):
            work(name)
"""


@pytest.mark.sampled(2)
def test_a_function_finds_its_files_as_it_did_and_writes_to_copies(bench: Bench) -> None:
    (bench.folder / "prompt.txt").write_text("You are a clerk", encoding="utf-8")
    runs = Runs(bench, CALLS)
    assert len(runs.ids) == 3
    runs.verified()
    (bench.folder / "prompt.txt").write_text("You are a pirate", encoding="utf-8")
    (bench.folder / "state.json").unlink()
    (bench.folder / "a.log").write_text("another\n", encoding="utf-8")
    (bench.folder / "made" / "b").rmdir()
    before = contents(bench.folder)
    runs.verified()
    assert contents(bench.folder) == before
    replays = [bench.run("-m", "reenact", "replay", "--quiet", run_id).stdout for run_id in runs.ids]
    assert sorted(b"".join(replays).splitlines()) == sorted(runs.done.stdout.splitlines())


@pytest.mark.usefixtures("namespaces")
def test_the_certificate_says_how_it_was_closed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (bench.folder / "prompt.txt").write_text("You are a clerk", encoding="utf-8")
    runs = Runs(bench, CALLS)
    assert "kernel" in str(runs.document(runs.ids[0])["network"])


def test_what_a_function_leaves_otherwise_is_a_difference(bench: Bench) -> None:
    program = """
        import reenact

        @reenact.record
        def add(a: int, b: int) -> None:
            open("sum.txt", "w").write(f"the sum is {a + b}")

        if __name__ == "__main__":
            add(2, 2)
    """
    runs = Runs(bench, program)
    runs.verified()
    bench.write(program.replace("a + b", "a + b + 1"))
    document = runs.document(runs.ids[0])
    assert document["verdict"] == "diverged"
    assert str(bench.folder / "sum.txt") in json.dumps(document["divergences"])


BLOCK = """
    import logging, os, pathlib
    import reenact

    logging.basicConfig(filename="app.log", level=logging.INFO, format="%(message)s")
    logging.info("started")
    pathlib.Path("count").write_text(str(int(pathlib.Path("count").read_text()) + 1) if os.path.exists("count") else "1")
    with reenact.record("work"):
        logging.info("at work")
        print(pathlib.Path("count").read_text(), open("config").read())
        with open("own.log", "a") as log:
            log.write("at work\\n")
        os.remove("config")
"""


def test_a_block_finds_its_files_though_what_comes_before_it_happens_again(bench: Bench) -> None:
    (bench.folder / "config").write_text("old", encoding="utf-8")
    runs = Runs(bench, BLOCK)
    assert runs.done.stdout == b"1 old\n"
    runs.verified()
    (bench.folder / "count").write_text("70", encoding="utf-8")
    (bench.folder / "app.log").write_text("another log\n", encoding="utf-8")
    before = contents(bench.folder)
    runs.verified()
    assert contents(bench.folder) == before


def test_a_file_that_was_open_for_writing_before_the_run_is_told(bench: Bench) -> None:
    runs = Runs(
        bench,
        """
        import reenact

        log = open("app.log", "a")
        with reenact.record("work"):
            log.write("at work")
            log.flush()
            print(open("app.log").read())
        """,
    )
    ((note, _site),) = read(bench.store.path(runs.ids[0])).notes
    assert (note.slug, str(bench.folder / "app.log") in note.text) == ("file", True)


DATABASE = """
    import sqlite3
    import reenact

    @reenact.record
    def note(text: str) -> list[str]:
        with sqlite3.connect("notes.db") as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE IF NOT EXISTS note (text TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP)")
            db.execute("INSERT INTO note (text) VALUES (?)", (text,))
            found = [text for text, in db.execute("SELECT text || at FROM note")]
        db.close()
        return found

    if __name__ == "__main__":
        for text in ("one", "two", "three"):
            note(text)
"""


@pytest.mark.sampled(1)
def test_a_function_finds_its_database_as_it_did(bench: Bench) -> None:
    runs = Runs(bench, DATABASE)
    assert len(runs.ids) == 3
    runs.verified()
    with closing(sqlite3.connect(bench.folder / "notes.db")) as db:
        db.execute("DELETE FROM note")
        db.commit()
    runs.verified()
    with closing(sqlite3.connect(bench.folder / "notes.db")) as db:
        assert db.execute("SELECT count(*) FROM note").fetchone() == (0,)


OLDER = """
    import sqlite3
    import reenact

    db = sqlite3.connect("notes.db")
    db.execute("PRAGMA journal_mode = JOURNAL")
    db.execute("CREATE TABLE IF NOT EXISTS note (text TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP)")
    db.commit()
    cursor = db.cursor()

    @reenact.record
    def note(text: str) -> list[str]:
        USE.execute("INSERT INTO note (text) VALUES (?)", (text,))
        db.commit()
        return [text for text, in USE.execute("SELECT text || at FROM note")]

    if __name__ == "__main__":
        for text in ("one", "two", "three"):
            note(text)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("use", ["db", "cursor"])
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_connection_from_before_the_run_finds_what_it_found(bench: Bench, use: str, journal: str) -> None:
    runs = Runs(bench, OLDER.replace("USE", use).replace("JOURNAL", journal))
    assert len(runs.ids) == 3
    runs.verified()
    with closing(sqlite3.connect(bench.folder / "notes.db")) as db:
        db.execute("DELETE FROM note")
        db.execute("INSERT INTO note (text) VALUES ('another by now')")
        db.commit()
    before = contents(bench.folder)
    runs.verified()
    assert contents(bench.folder) == before


AT_ONCE = """
    import asyncio, json, os, pathlib
    import reenact

    @reenact.record
    async def first() -> None:
        print("first", pathlib.Path("state.json").read_text(), os.path.exists("later"))
        with open("log", "a") as log:
            log.write("first\\n")
        await asyncio.sleep(0.5)
        print("first", pathlib.Path("state.json").read_text(), sorted(os.listdir("folder")), open("folder/news").read())
        with open("log", "a") as log:
            log.write("first again\\n")
        print("first", open("log").read(), os.path.exists("later"), open("later").read())

    @reenact.record
    async def second() -> None:
        print("second", os.listdir("folder"))
        await asyncio.sleep(0.2)
        pathlib.Path("state.new").write_text(json.dumps({"by": "second"}))
        os.replace("state.new", "state.json")
        with open("log", "a") as log:
            log.write("second\\n")
        for path in ("folder/news", "later"):
            pathlib.Path(path).write_text("from second")
        await asyncio.sleep(0.6)

    async def main():
        os.makedirs("folder")
        pathlib.Path("state.json").write_text("{}")
        runs = [asyncio.create_task(first()), asyncio.create_task(second())]
        await runs[0]
        pathlib.Path("state.json").write_text("by nobody")
        with open("log", "a") as log:
            log.write("nobody\\n")
        await runs[1]

    if __name__ == "__main__":
        asyncio.run(main())
"""


@pytest.mark.sampled(1)
def test_what_another_run_changes_meanwhile_is_found_where_it_was_found(bench: Bench) -> None:
    runs = Runs(bench, AT_ONCE)
    assert runs.done.stdout == (
        b"first {} False\nsecond []\n"
        b'first {"by": "second"} [\'news\'] from second\n'
        b"first first\nsecond\nfirst again\n True from second\n"
    )
    runs.verified()
    for name in ("state.json", "log", "later", "folder/news"):
        (bench.folder / name).unlink()
    runs.verified()
