"""The writer: what was committed is on disk, whatever becomes of the process; a commit that fails costs no other."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import TapeUnwrittenError
from reenact.tape import event as ev
from reenact.tape import writer as writer_module
from reenact.tape.close import being_written
from reenact.tape.event import AnyRecord
from reenact.tape.reader import read
from reenact.tape.writer import TapeWriter
from tests.tape.records import beginning, exchange, pieces_of, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run-1.tape"


@pytest.fixture
def writer(path: Path) -> Iterator[TapeWriter]:
    writer = TapeWriter.create(path, "run-1", "run", 5)
    yield writer
    writer._db.close()


def add(writer: TapeWriter, records: list[AnyRecord]) -> None:
    for record in records:
        writer.add(record)


def notes(path: Path) -> list[str]:
    return [note.text for note, _ in read(path).notes]


def test_what_is_committed_can_be_read_at_once(writer: TapeWriter, path: Path) -> None:
    add(writer, beginning())
    assert read(path).lanes == {}
    writer.commit()
    assert list(read(path).lanes) == ["0"]


def test_from_the_first_moment_a_tape_says_what_it_is(writer: TapeWriter, path: Path) -> None:
    assert read(path).summary == {"run_id": "run-1", "name": "run", "started": 5, "status": "recording"}


def test_what_is_not_committed_is_not_there(writer: TapeWriter, path: Path) -> None:
    add(writer, beginning())
    writer.commit()
    add(writer, exchange(0))
    assert read(path).events == []


def test_a_commit_with_nothing_new_writes_nothing(writer: TapeWriter, path: Path) -> None:
    assert writer.commit() is None
    add(writer, beginning())
    assert writer.commit() is not None
    assert writer.commit() is None
    assert writer.commits == 1
    assert len(pieces_of(path)) == 1


def test_a_commit_waits_for_the_disk(writer: TapeWriter) -> None:
    """A request may leave when `commit` has returned, so that must mean durable: SQLite's FULL, in WAL mode."""
    assert writer._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert writer._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writer._db.isolation_level is None  # each INSERT is a transaction of its own


def test_most_commits_find_room_in_the_log(writer: TapeWriter, path: Path) -> None:
    log, sizes = path.with_name(path.name + "-wal"), []
    for number in range(200):
        writer.add(ev.Snapshot(str(number), bytes(2000)))
        writer.commit()
        sizes.append(log.stat().st_size)
    assert sizes == sorted(sizes)
    assert len(set(sizes)) < 20
    assert read(path).snapshots["199"] == bytes(2000)


def test_very_many_records_do_not_wait_for_a_commit(writer: TapeWriter, path: Path) -> None:
    for number in range(writer_module._SPILL_RECORDS + 10):
        writer.add(ev.Note("n", str(number), -1))
    assert notes(path) == [str(number) for number in range(writer_module._SPILL_RECORDS + 1)]
    assert len(writer._pending) == 9


def test_closing_commits(writer: TapeWriter, path: Path) -> None:
    add(writer, beginning())
    writer.close()
    assert list(read(path).lanes) == ["0"]


def test_another_process_goes_on_where_one_stopped(writer: TapeWriter, path: Path) -> None:
    add(writer, beginning())
    last = writer.commit()
    writer.close()
    second = TapeWriter.resume(path, last)
    add(second, exchange(0))
    second.commit()
    second.close()
    recording = read(path)
    assert [event.id for event in recording.events] == [0]
    assert [piece.segment for piece in pieces_of(path)] == [0, 1]


def test_a_tape_without_a_piece_can_be_gone_on_with(writer: TapeWriter, path: Path) -> None:
    writer.close()
    second = TapeWriter.resume(path, None)
    add(second, beginning())
    second.close()
    assert list(read(path).lanes) == ["0"]


def test_records_of_many_threads_are_all_there_and_each_threads_in_order(writer: TapeWriter, path: Path) -> None:
    def work(name: int) -> None:
        for number in range(200):
            writer.add(ev.Note(str(name), str(number), -1))
            if number % 7 == name:
                writer.commit()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = [(note.slug, note.text) for note, _ in read(path).notes]
    for name in range(5):
        assert [text for slug, text in found if slug == str(name)] == [str(number) for number in range(200)]


def test_while_it_is_written_a_tape_can_be_read(writer: TapeWriter, path: Path) -> None:
    """Every reading sees a whole number of commits, and never less than the one before."""
    done, seen = threading.Event(), []

    def look() -> None:
        while not done.is_set():
            seen.append(len(read(path).events))

    reader = threading.Thread(target=look)
    add(writer, beginning())
    writer.commit()
    reader.start()
    for event in range(60):
        add(writer, exchange(event))
        writer.commit()
    done.set()
    reader.join()
    assert seen == sorted(seen)
    assert all(event.complete for event in read(path).events)


# Commits that fail


class Failing:
    """A connection on which the next statements that begin with `word` fail."""

    def __init__(self, real: sqlite3.Connection, word: str, times: int) -> None:
        self.real, self.word, self.times = real, word, times

    def __getattr__(self, name: str) -> Any:
        def call(statement: str = "", *args: Any) -> Any:
            if self.times and statement.startswith(self.word):
                self.times -= 1
                raise sqlite3.OperationalError("database or disk is full")
            return getattr(self.real, name)(*([statement] if statement else []), *args)

        return call


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("word", ["INSERT", "BEGIN", "COMMIT"])
def test_a_commit_that_fails_is_made_up_for(writer: TapeWriter, path: Path, word: str, times: int) -> None:
    commits = run(9)
    failing: Any = Failing(writer._db, word, times)
    failed = 0
    for at, batch in enumerate(commits):
        add(writer, batch)
        if at == 2:
            # the first to fail has to be a lone INSERT, the others are those that make up for it
            writer._db = Failing(failing, "INSERT", 1)  # type: ignore[assignment]
        try:
            writer.commit()
        except TapeUnwrittenError:
            failed += 1
    writer.commit()
    assert failed == times + 1
    recording = read(path)
    assert len(recording.events) == 9
    assert recording.ended is not None
    writer._db = failing.real


def test_a_disk_that_stays_full_leaves_the_tape_as_it_was(writer: TapeWriter, path: Path) -> None:
    add(writer, beginning())
    writer.commit()
    real = writer._db
    writer._db = Failing(real, "", 1000)  # type: ignore[assignment]
    for event in range(3):
        add(writer, exchange(event))
        with pytest.raises(TapeUnwrittenError):
            writer.commit()
    writer._db = real
    assert read(path).events == []


# Processes that are killed

ROOT = Path(__file__).parents[2]
KILLED = """
import os, sys
from pathlib import Path
from reenact.tape.writer import TapeWriter
from tests.tape.records import beginning, exchange
writer = TapeWriter.create(Path(sys.argv[1]), "run-1", "run", 5)
for record in beginning():
    writer.add(record)
writer.commit()
for event in range(10_000):
    for record in exchange(event):
        writer.add(record)
    writer.commit()
    print(event, flush=True)
"""


OPENS = """
import sys
from pathlib import Path
from reenact.tape.writer import TapeWriter
held = []
for number in range(60):
    held.append(TapeWriter.create(Path(sys.argv[1]) / f"run-{number}.tape", f"run-{number}", "run", 5))
    held[-1].guard()
    print(number, flush=True)
sys.stdin.read()
"""


def test_a_tape_that_is_being_opened_is_never_taken_for_one_that_is_left(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPENS, str(tmp_path)]
    asked = 0
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        os.set_blocking(process.stdout.fileno(), False)  # type: ignore[union-attr]  # it is a pipe
        while b"59" not in (process.stdout.read() or b""):  # type: ignore[union-attr]  # as above
            newest = max(tmp_path.glob("*.tape"), key=lambda path: path.stat().st_ctime_ns, default=None)
            asked += newest is not None
            assert newest is None or being_written(newest)
        process.kill()
    assert asked > 60
    assert not being_written(tmp_path / "run-0.tape")


def test_what_a_killed_process_had_committed_is_all_there(path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = [int(process.stdout.readline()) for _ in range(20)][-1]
        process.send_signal(signal.SIGKILL)
        told = [int(line) for line in process.stdout if line.endswith("\n")]
    assert path.with_name(path.name + "-wal").exists()
    recording = read(path)
    assert len(recording.events) > max([last, *told])
    assert all(event.complete for event in recording.events)
    assert recording.summary["status"] == "recording"


def test_a_commit_that_was_cut_off_is_not_seen(path: Path) -> None:
    """As power loss leaves a WAL: its last frames are half there."""
    program = KILLED.replace("10_000", "6") + "os.kill(os.getpid(), 9)"
    command = [sys.executable, "-c", program, str(path)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL
    wal = path.with_name(path.name + "-wal")
    whole, before = wal.read_bytes().rstrip(b"\0"), 6  # the log is larger than it is full
    for missing in range(1, 4096 * 8, 999):
        wal.write_bytes(whole[:-missing])
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
        events = len(peeked(path).events)
        assert events <= before
        before = events
    assert before < 6


def peeked(path: Path) -> Any:
    """The recording, read from a copy: to read the only WAL of a tape would move it into the file."""
    copy = path.with_name("copy.tape")
    for extra in ("", "-wal", "-shm"):
        target = copy.with_name(copy.name + extra)
        target.unlink(missing_ok=True)
        source = path.with_name(path.name + extra)
        if source.exists():
            target.write_bytes(source.read_bytes())
    return read(copy)


def test_a_tape_that_begins_with_much_is_there_with_all_of_it_or_not_at_all(path: Path) -> None:
    def first(many: int) -> Iterator[AnyRecord]:
        for number in range(many):
            yield ev.Note("n", str(number), -1)
            yield ev.Content(bytes([number] * 32), bytes(3_000_000))
        if many < 4:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        TapeWriter.create(path, "run-1", "run", 5, first=first(3))
    assert not path.exists()
    writer = TapeWriter.create(path, "run-1", "run", 5, first=first(4))
    writer.add(ev.Note("n", "4", -1))
    writer.close()
    assert writer.first is not None
    assert writer.first.id > 1, "it is not one piece"
    assert notes(path) == ["0", "1", "2", "3", "4"]
