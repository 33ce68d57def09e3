"""Closing a tape: the same recording in one small file, with its end, and never twice."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.errors import TapeError
from reenact.tape import close as close_module
from reenact.tape import event as ev
from reenact.tape.close import being_written, close, faults_beside, outcome
from reenact.tape.event import UNKNOWN_STATUS, AnyRecord, PartKind
from reenact.tape.journal import ClosePacker
from reenact.tape.reader import read, summary
from reenact.tape.recording import Recording
from reenact.tape.writer import TapeWriter
from tests.tape.records import beginning, exchange, pieces_of, run, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run-1.tape"


def rows(path: Path, table: str = "event") -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.execute(f"SELECT * FROM {table} ORDER BY 1"))


def what_happened(recording: Recording) -> tuple[object, ...]:
    return (
        recording.events, recording.lanes, recording.ticks, recording.forced, recording.signals, recording.snapshots,
        recording.wrote, recording.ended, recording.manifest, [recording.body(event) for event in recording.events],
    )  # fmt: skip


def test_a_closed_tape_holds_what_happened(path: Path) -> None:
    before = what_happened(read(written(path, run())))
    closed = close(path, 3)
    assert what_happened(closed) == before
    assert what_happened(read(path)) == before


def test_what_close_gives_back_is_what_is_on_the_tape(path: Path) -> None:
    closed = close(written(path, run()), 3)
    assert closed.status == 3
    assert closed.summary["status"] == "exit 3"
    names = ("status", "digest", "pieces", "summary", "notes")
    assert {name: getattr(read(path), name) for name in names} == {name: getattr(closed, name) for name in names}


def test_to_close_a_closed_tape_changes_nothing(path: Path) -> None:
    close(written(path, run()), 3)
    before = path.read_bytes()
    assert close(path, 0).status == 3
    assert close(path, None).status == 3
    assert path.read_bytes() == before


def test_a_closed_tape_is_one_file(path: Path) -> None:
    close(written(path, run()), 0)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_many_commits_become_few_pieces(path: Path) -> None:
    written(path, run(200))
    before = sum(len(piece.data) for piece in pieces_of(path))
    close(path, 0)
    pieces = pieces_of(path)
    assert len(pieces) < 5
    assert sum(len(piece.data) for piece in pieces) < before / 1.5


def test_a_large_recording_stays_in_pieces_that_can_be_read_one_by_one(path: Path) -> None:
    data = b"".join(b"%d," % (at * 7919 % 104729) for at in range(40_000))
    commits: list[list[AnyRecord]] = [
        beginning(),
        *(exchange(event, answer=data) for event in range(6)),
        [ev.Ended(1, None)],
    ]
    before = what_happened(read(written(path, commits)))
    assert what_happened(close(path, 0)) == before
    assert 3 <= len(pieces_of(path)) < len(commits)


def test_a_very_large_recording_is_packed_as_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    class Asked(ClosePacker):
        def __init__(self, *, large: bool = False) -> None:
            asked.append(large)
            super().__init__(large=large)

    monkeypatch.setattr(close_module, "ClosePacker", Asked)
    monkeypatch.setattr(close_module, "_LARGE_BYTES", 100)
    before = what_happened(read(written(path, run())))
    pieces = pieces_of(path)
    closed = close(path, 3)
    assert what_happened(closed) == what_happened(read(path)) == before
    assert len(pieces_of(path)) < len(pieces)
    assert asked == [True]
    assert (closed.digest, closed.pieces) == (pieces_of(path)[-1].chain, len(pieces_of(path)))


def test_when_closing_fails_the_tape_is_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = what_happened(read(written(path, run())))

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(close_module, "rows_of", fails)
        with pytest.raises(MemoryError):
            close(path, 0)
    recording = read(path)
    assert what_happened(recording) == before
    assert recording.status is None
    assert close(path, 0).status == 0


parts = st.lists(
    st.tuples(st.sampled_from([kind for kind in PartKind if kind not in ev.LAST]), st.binary(max_size=30)), max_size=4
)
lines = st.lists(
    st.tuples(st.integers(0, 2), st.binary(max_size=99), parts, st.sampled_from([None, *ev.LAST])), max_size=12
)


@settings(max_examples=60)
@given(lines, st.integers(1, 4), st.booleans())
def test_any_recording_is_the_same_when_it_is_closed(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[int, bytes, list[tuple[PartKind, bytes]], PartKind | None]],
    every: int,
    ended: bool,
) -> None:
    records: list[AnyRecord] = [
        *beginning(),
        ev.LaneBorn(1, "0.1", "a"),
        ev.LaneBorn(2, "0.2", "b"),
        ev.SiteNamed(0, "m:f", "x.py", 1),
    ]
    for event, (lane, body, parts, last) in enumerate(lines):
        records.append(ev.Began(event, lane, 1, "GET http://h/", 0, event, b"[]", ev.Delta(-1, 0, 0, body)))
        records.append(ev.Draws(lane, [(1, 0, [float(event)])]))
        records.append(ev.Wrote(lane, 1, body))
        records += [ev.Part(event, kind, event, data) for kind, data in parts]
        records += [ev.Part(event, last, event, b"")] if last is not None else []
    records += [ev.Ended(5, None)] if ended else []
    path = tmp_path_factory.mktemp("any") / "run-1.tape"
    written(path, [records[at : at + every] for at in range(0, len(records), every)])
    before = what_happened(read(path))
    assert what_happened(close(path, 0)) == before
    assert what_happened(read(path)) == before


# How it ended


@pytest.mark.parametrize(
    ("ended", "status", "told"),
    [
        (True, 0, "ok"),
        (True, 3, "exit 3"),
        (True, None, "ok"),
        (True, -15, "killed by signal 15"),
        (False, -9, "killed by signal 9"),
        (False, None, "killed"),
        (False, 0, "killed"),
        (False, 1, "killed"),
    ],
)
def test_the_end_is_told(path: Path, ended: bool, status: int | None, told: str) -> None:
    recording = close(written(path, run() if ended else run()[:-1]), status)
    assert recording.status == (UNKNOWN_STATUS if status is None else status)
    assert outcome(recording) == told
    assert summary(path)["status"] == told
    assert read(path).closed_by_itself == ended


def test_an_exception_that_ended_a_function_is_told(path: Path) -> None:
    failed = ev.Failed("builtins", "ValueError", ["x"], {})
    assert outcome(close(written(path, [beginning(), [ev.Ended(1, failed)]]), None)) == "failed"


def test_an_exit_status_on_tape_stays(path: Path) -> None:
    assert close(written(path, [*run(), [ev.Exited(7)]]), 0).status == 7


# What is found without the journal


def test_the_summary_says_what_the_run_was(path: Path) -> None:
    close(written(path, run()), 0)
    assert summary(path) == {
        "run_id": "run-1", "name": "run", "started": 5, "status": "ok", "exit_status": 0, "events": 3, "lanes": 1,
        "duration": 30, "faults": 0, "program": "agent.py",
    }  # fmt: skip


def test_every_event_has_a_row(path: Path) -> None:
    close(written(path, [*run(1)[:-1], exchange(1)[:1]]), 0)
    assert rows(path) == [
        (0, "0", 1, "POST http://h/0", None, 0, 3, 200, 8, 6),
        (1, "0", 1, "POST http://h/1", None, 10, None, None, 8, 0),
    ]


@pytest.mark.parametrize("head", [b"", b"no json", b"[]", b"{}", b'{"status":"x"}', b"\xff"])
def test_a_head_that_cannot_be_read_keeps_no_tape_open(path: Path, head: bytes) -> None:
    records = exchange(0)
    records[1] = ev.Part(0, PartKind.HEAD, 1, head)
    assert close(written(path, [beginning(), records]), 0).status == 0
    assert rows(path)[0][7] in (None, 0)


@pytest.mark.parametrize("manifest", [b"", b"no json", b"[]", b"{}", b'{"target":5}'])
def test_a_manifest_that_cannot_be_read_keeps_no_tape_open(path: Path, manifest: bytes) -> None:
    close(written(path, [[ev.Start(manifest)]]), 0)
    assert summary(path)["program"] == ""


def test_a_tape_with_nothing_on_it_can_be_closed(path: Path) -> None:
    recording = close(written(path, []), None)
    assert recording.events == []
    assert read(path).status == UNKNOWN_STATUS


def test_what_could_not_be_said_on_the_tape_is_taken_in(path: Path) -> None:
    written(path, run())
    faults_beside(path).write_bytes(b"the disk was full \xff")
    recording = close(path, 0)
    assert [note.text for note, _ in recording.notes] == ["the disk was full \N{REPLACEMENT CHARACTER}"]
    assert [note.slug for note, _ in read(path).notes] == ["fault"]
    assert summary(path)["faults"] == 1
    assert not faults_beside(path).exists()


def test_who_reads_a_tape_meanwhile_is_waited_for(path: Path) -> None:
    with closing(sqlite3.connect(written(path, run()), check_same_thread=False)) as reading:
        reading.execute("SELECT * FROM run").fetchall()
        threading.Timer(0.3, reading.close).start()
        assert close(path, 0).status == 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_who_reads_a_tape_for_long_keeps_it_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close_module, "_PATIENCE", 0.05)
    with closing(sqlite3.connect(written(path, run()))) as reading:
        reading.execute("SELECT * FROM run").fetchall()
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            close(path, 0)
        assert read(path).summary["status"] == "recording"
    assert close(path, 0).status == 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_closing_that_was_killed_leaves_nothing_that_counts(path: Path) -> None:
    """The file in the making is of no use to the next one who closes the tape."""
    written(path, run())
    path.with_name(f"{path.name}-new").write_bytes(b"half of a tape" * 999)
    assert close(path, 0).status == 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_process_that_reads_its_own_tape_is_still_seen_to_write_it(path: Path) -> None:
    """Who closes a file lets go of all locks that its process has on it: so it must not be opened past SQLite."""
    with closing(TapeWriter.create(path, "run-1", "run", 5)):
        read(path)
        summary(path)
        asking = f"from pathlib import Path; from reenact.tape.close import being_written as b; print(b(Path({str(path)!r})))"
        done = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


# Who has it open


def test_an_open_tape_is_known_as_such(path: Path) -> None:
    writer = TapeWriter.create(path, "run-1", "run", 5)
    assert being_written(path)
    writer.close()
    assert not being_written(path)


def test_a_closed_tape_is_written_by_nobody(path: Path) -> None:
    close(written(path, run()), 0)
    assert not being_written(path)


def test_what_is_no_tape_cannot_be_closed(path: Path) -> None:
    with pytest.raises(TapeError):
        close(path, 0)
    path.write_bytes(b"text")
    with pytest.raises(TapeError):
        close(path, 0)
    assert path.read_bytes() == b"text"
