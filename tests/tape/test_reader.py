"""The reader: a recording made of records, and no tape at all can make it do anything but read or say no."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reenact.errors import TapeCorruptError, TapeError, TapeVersionError
from reenact.tape import event as ev
from reenact.tape import journal as journal_module
from reenact.tape import schema
from reenact.tape import seal as seals
from reenact.tape.building import Builder
from reenact.tape.check import State, check
from reenact.tape.close import close
from reenact.tape.delta import Bodies
from reenact.tape.event import AnyRecord, MarkKind, PartKind
from reenact.tape.journal import GENESIS
from reenact.tape.reader import read, summary
from reenact.tape.recording import Recording
from tests.tape.records import LOOSE, STRICT, beginning, edit, exchange, packed, pieces_of, put, records, run, written


def built(*records: AnyRecord) -> Recording:
    recording = Recording(Path("by-hand.tape"), {})
    builder = Builder(recording)
    for record in records:
        builder.add(record)
    return recording


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    path = written(tmp_path / "run-1.tape", run())
    close(path, 0)
    return path


# What a recording holds


def test_a_closed_tape_is_read_as_it_was_written(closed: Path) -> None:
    recording = read(closed)
    assert [event.name for event in recording.events] == ["POST http://h/0", "POST http://h/1", "POST http://h/2"]
    assert recording.lanes["0"].events == recording.events
    assert recording.status == 0
    assert recording.closed_by_itself
    assert recording.manifest == beginning()[0].manifest  # type: ignore[union-attr]
    event = recording.events[1]
    assert (event.at, event.ended, event.complete) == (10, 13, True)
    assert recording.body(event) == b"question"
    assert [part.kind for _, part in event.parts] == [PartKind.HEAD, PartKind.CHUNK, PartKind.END]


def test_the_digest_is_the_head_of_the_chain(closed: Path) -> None:
    recording = read(closed)
    last = pieces_of(closed)[-1]
    assert (recording.digest, recording.pieces) == (last.chain, last.id)


def test_a_tape_with_nothing_on_it_is_a_recording_of_nothing(tmp_path: Path) -> None:
    recording = read(written(tmp_path / "run-1.tape", []))
    assert (recording.events, recording.digest, recording.pieces) == ([], GENESIS, 0)


def test_ticks_are_counted_over_everything_that_arrives() -> None:
    recording = built(
        *beginning(),
        ev.Began(0, 0, 1, "GET http://h/", -1, 0, b"[]", ev.Delta(-1, 0, 0, b"")),
        ev.Part(0, PartKind.HEAD, 1, b""),
        ev.Timer(0, 1.5, 1),
        ev.Handed(),
        ev.Expired(0),
        ev.Signal(15, -1, -1),
        ev.Signal(2, 0, -1),
        ev.Signal(2, -1, 3),
        ev.Part(0, PartKind.GIVEN_UP, 2, b""),
        ev.Began(1, 0, 1, "GET http://h/", -1, 3, b"[]", ev.Delta(-1, 0, 0, b"")),
        ev.Part(1, PartKind.ABANDONED, 4, b""),
        ev.Part(1, PartKind.CLOSED, 4, b""),
    )
    kinds = [type(tick).__name__ for tick in recording.ticks]
    assert kinds.count("Part") == 2
    assert kinds[:3] == ["Part", "Timer", "Expired"]
    assert recording.forced == {2}
    assert recording.lanes["0"].expired == [2]
    assert [tick for tick, _ in recording.events[0].parts] == [0, len(recording.ticks) - 1]
    assert [tick for tick, _ in recording.events[1].parts] == [-1, -1]


def test_draws_are_kept_by_lane_kind_and_place() -> None:
    recording = built(
        *beginning(),
        ev.SiteNamed(0, "agent:plan", "agent.py", 1),
        ev.SiteNamed(1, "agent:log", "agent.py", 9),
        ev.Draws(0, [(1, 0, [1.5]), (1, 1, [2.5]), (2, 0, [3])]),
        ev.Draws(0, [(1, 0, [4.5])]),
    )
    assert recording.lanes["0"].draws == {
        (1, "agent:plan"): [1.5, 4.5],
        (1, "agent:log"): [2.5],
        (2, "agent:plan"): [3],
    }


def test_collections_are_kept_by_lane_and_the_event_that_comes_next() -> None:
    recording = built(*beginning(), ev.LaneBorn(1, "0.1", "x"), ev.Collected(0, 2), *exchange(0), ev.Collected(0, 1))
    assert recording.lanes["0"].collected == {0: 2, 1: 1}
    assert recording.lanes["0.1"].collected == {}


def test_output_is_kept_by_lane_and_as_a_whole() -> None:
    recording = built(
        *beginning(),
        ev.LaneBorn(1, "0.1", "x"),
        ev.Wrote(0, 1, b"a"),
        ev.Wrote(1, 1, b"b"),
        ev.Wrote(0, 2, b"c"),
        ev.Wrote(0, 1, b"d"),
    )
    assert recording.wrote == {1: b"abd", 2: b"c"}
    assert recording.lanes["0"].wrote == {1: b"ad", 2: b"c"}
    assert recording.lanes["0.1"].wrote == {1: b"b"}


@given(st.lists(st.binary(max_size=400), min_size=1, max_size=90), st.lists(st.integers(0, 89), max_size=12))
def test_bodies_can_be_asked_for_in_any_order(bodies: list[bytes], order: list[int]) -> None:
    writer = Bodies()
    recording = built(
        *beginning(),
        *(
            ev.Began(at, 0, 1, "POST http://h/", -1, 0, b"[]", writer.shrink(at, body, at - 1))
            for at, body in enumerate(bodies)
        ),
    )
    for at in [*order, *range(len(bodies)), *reversed(range(len(bodies)))]:
        if at < len(bodies):
            assert recording.body(recording.events[at]) == bodies[at]


def test_a_body_that_cannot_be_restored_is_corrupt_each_time() -> None:
    recording = built(*beginning(), ev.Began(0, 0, 1, "POST http://h/", -1, 0, b"[]", ev.Delta(5, 0, 0, b"")))
    for _ in range(2):
        with pytest.raises(TapeCorruptError):
            recording.body(recording.events[0])


# Records that refer to what is not there


def began(event: int = 0, *, lane: int = 0, kind: int = 1) -> ev.Began:
    return ev.Began(event, lane, kind, "GET http://h/", -1, 0, b"[]", ev.Delta(-1, 0, 0, b""))


@pytest.mark.parametrize(
    "record",
    [
        ev.Part(5, 1, 0, b""), ev.Part(0, 1, 0, b""), ev.Expired(7), ev.Collected(7, 0), ev.Wrote(7, 1, b""), ev.Draws(7, []),
        ev.Draws(0, [(1, 9, [1])]), began(1), began(lane=9), began(kind=99),
        ev.Mark(9, 1, 0, 0), ev.Mark(0, 99, 0, 0), ev.Mark(0, 1, 0, 1), ev.Mark(0, 2, 0, -1), ev.Mark(0, 2, 0, 0, 0),
        ev.Mark(0, 2, 0, 0, -2), ev.Mark(0, 3, 0, 0), ev.Mark(0, 3, 0, -1), ev.Mark(0, 4, 0, 0), ev.Mark(0, 4, 0, -2),
    ],
    ids=repr,
)  # fmt: skip
def test_a_record_that_refers_to_nothing_is_corrupt(record: AnyRecord) -> None:
    with pytest.raises(TapeCorruptError, match=type(record).__name__):
        built(*beginning(), record)


@pytest.mark.parametrize("part", [ev.Part(-1, 1, 0, b""), ev.Part(0, 99, 0, b"")], ids=repr)
def test_a_part_of_no_event_or_of_no_known_sort_is_corrupt(part: ev.Part) -> None:
    with pytest.raises(TapeCorruptError):
        built(*beginning(), began(), part)


@given(st.lists(records, max_size=12))
def test_any_records_are_a_recording_or_corrupt(sequence: list[AnyRecord]) -> None:
    try:
        recording = built(*beginning(), *sequence)
        for event in recording.events:
            recording.body(event)
    except TapeCorruptError:
        return


# Files that are no tapes


def test_what_is_not_there_is_no_tape(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tape", tmp_path):
        for ask in (read, summary):
            with pytest.raises(TapeError, match="is not a file"):
                ask(path)
    assert not (tmp_path / "none.tape").exists()


def test_other_files_are_no_tapes(tmp_path: Path) -> None:
    path = tmp_path / "x.tape"
    for data in (b"", b"\0" * 4096, b"text" * 2000, b"SQLite format 3\0" + b"\0" * 4096):
        path.write_bytes(data)
        for ask in (read, summary):
            with pytest.raises(TapeError, match=r"x\.tape"):
                ask(path)


def test_other_databases_are_no_tapes(tmp_path: Path) -> None:
    path = tmp_path / "x.tape"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE run (key TEXT, value ANY);" + schema.SCHEMA.replace("CREATE TABLE run", "CREATE TABLE r")
        )
    with pytest.raises(TapeError, match=r"is not a tape \(its application id is 0x0\)"):
        read(path)


def test_a_newer_format_is_refused_and_says_what_to_do(closed: Path) -> None:
    edit(closed, f"PRAGMA user_version = {schema.FORMAT + 1}")
    message = (
        rf"has tape format {schema.FORMAT + 1}; this reenact knows up to {schema.FORMAT}. Upgrade reenact to read it"
    )
    for ask in (read, summary, lambda path: close(path, 0)):
        with pytest.raises(TapeVersionError, match=message):
            ask(closed)


def test_a_newer_format_is_refused_whatever_its_tables_are(closed: Path) -> None:
    edit(closed, f"PRAGMA user_version = {schema.FORMAT + 1}", "DROP TABLE run", "DROP TABLE piece")
    with pytest.raises(TapeVersionError, match="Upgrade reenact"):
        read(closed)


@pytest.mark.parametrize("table", ["run", "piece", "event"])
def test_a_tape_without_its_tables_is_damaged(closed: Path, table: str) -> None:
    edit(closed, f"DROP TABLE {table}")
    for ask in (read, summary):
        with pytest.raises(TapeCorruptError, match=r"run-1\.tape is damaged: its tables are not those of a tape"):
            ask(closed)


def test_a_tape_is_not_changed_by_being_read(closed: Path) -> None:
    before = closed.read_bytes()
    closed.chmod(0o400)
    read(closed)
    summary(closed)
    assert closed.read_bytes() == before
    assert [path.name for path in closed.parent.iterdir()] == [closed.name]


# Files that were damaged


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE piece SET data = 'text'",
        "UPDATE piece SET data = NULL",
        "UPDATE piece SET segment = -1",
        "UPDATE piece SET segment = 'x'",
        "UPDATE piece SET chain = zeroblob(32)",
        "UPDATE piece SET id = -1 WHERE id = 1",
        "UPDATE piece SET id = id + 100",
        "DELETE FROM piece WHERE id = 2",
        "UPDATE piece SET data = (SELECT data FROM piece WHERE id = 1)",
    ],
)
def test_a_changed_journal_is_corrupt(tmp_path: Path, statement: str) -> None:
    path = written(tmp_path / "run-1.tape", run())
    edit(path, *LOOSE, statement, *STRICT)
    with pytest.raises(TapeCorruptError, match=r"piece [12] of the journal"):
        read(path)


def test_pieces_are_checked_in_the_file_too(tmp_path: Path) -> None:
    """As in the tests of the journal. SQLite gives the rows in order of id, so their contents are what is exchanged."""
    path = written(tmp_path / "run-1.tape", run())
    pieces = pieces_of(path)
    exchanged = [*pieces[:3], replace(pieces[4], id=4), replace(pieces[3], id=5)]
    for wrong in (pieces[1:], pieces[:2] + pieces[3:], exchanged):
        put(path, wrong)
        with pytest.raises(TapeCorruptError):
            read(path)
    put(path, pieces)
    read(path)


@pytest.mark.parametrize("mark", [b"\0", b"\xff"])
def test_any_stretch_of_the_file_that_is_overwritten_is_found(closed: Path, mark: bytes) -> None:
    whole = closed.read_bytes()
    path = closed.with_name("overwritten.tape")
    for at in range(0, len(whole), 101):
        changed = whole[:at] + mark * len(whole[at : at + 64]) + whole[at + 64 :]
        path.write_bytes(changed)
        if changed != whole:
            with pytest.raises(TapeError):
                read(path)


def test_a_closed_tape_without_its_seal_is_damaged(closed: Path) -> None:
    seal = seals.read(closed)
    os.truncate(closed, seal.size)
    with pytest.raises(TapeCorruptError, match="its seal is missing"):
        read(closed)
    assert summary(closed)["events"] == 3
    seals.put(closed)
    assert read(closed).seal == seal


def test_no_damage_keeps_the_file_open(closed: Path) -> None:
    """A connection that is left open would be told by Python as a ResourceWarning, which fails the test."""
    whole = closed.read_bytes()
    for size in (0, 50, 100, 5000, len(whole) // 2):
        path = closed.with_name(f"cut-{size}.tape")
        path.write_bytes(whole[:size])
        with pytest.raises(TapeError):
            read(path)


def test_a_journal_whose_end_is_missing_is_read_as_far_as_it_goes_and_found_by_a_check(tmp_path: Path) -> None:
    """No chain can tell what would have come after it; the tables of a closed tape do."""
    path = written(tmp_path / "run-1.tape", run())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_module, "_STRETCH_BYTES", 0)
        close(path, 0)
    pieces = pieces_of(path)
    assert check(path).state is State.SOUND
    for upto in range(1, len(pieces)):
        put(path, pieces[:upto])
        assert read(path).digest == pieces[upto - 1].chain
        assert read(path).status is None
        assert check(path).state is State.DAMAGED


# While it is being written


def test_what_a_killed_writer_left_in_the_wal_is_read(tmp_path: Path) -> None:
    source = written(tmp_path / "run-1.tape", [])
    with closing(sqlite3.connect(source, isolation_level=None)) as db:
        # another connection is open, so the WAL stays when the writer goes
        db.execute("SELECT * FROM run").fetchall()
        pieces = packed(run())
        put(source, pieces)
        copy = tmp_path / "copy.tape"
        for extra in ("", "-wal"):
            shutil.copy(source.with_name(source.name + extra), copy.with_name(copy.name + extra))
    assert copy.with_name("copy.tape-wal").stat().st_size > 0
    assert len(read(copy).events) == 3


def test_a_recording_that_goes_on_has_no_end(tmp_path: Path) -> None:
    recording = read(written(tmp_path / "run-1.tape", [beginning(), exchange(0)[:2]]))
    assert not recording.closed_by_itself
    assert recording.status is None
    assert not recording.events[0].complete
    assert recording.events[0].ended == 1


def test_marks_are_read_with_what_they_are_in() -> None:
    agent, step, ended, inside = MarkKind.AGENT, MarkKind.STEP, MarkKind.ENDED, MarkKind.INSIDE
    tape = built(
        *beginning(),
        ev.LaneBorn(1, "0.1", "work"),
        ev.Mark(0, agent, 5, 0, -1, name="planner", attributes={"role": "plans"}),
        ev.Mark(1, step, 6, 1, 0, name="find"),
        ev.Mark(1, inside, 6, 1),
        *exchange(0, lane=1),
        *exchange(1),
        ev.Mark(1, ended, 9, 1, 0, name="KeyError"),
        ev.Mark(1, inside, 9, -1),
        *exchange(2, lane=1),
        ev.Mark(0, MarkKind.SESSION, 9, name="s-1"),
        ev.Mark(1, MarkKind.TAGS, 9, attributes={"a": "1", "b": ""}),
        ev.Mark(1, MarkKind.TAGS, 9, attributes={"a": "2"}),
    )
    assert [event.mark for event in tape.events] == [1, -1, -1]
    assert [(mark.name, mark.within, mark.lane, mark.began, mark.ended, mark.error) for mark in tape.marks] == [
        ("planner", -1, "0", 5, None, ""),
        ("find", 0, "0.1", 6, 9, "KeyError"),
    ]
    assert (tape.session, tape.tags) == ("s-1", {"a": "2", "b": ""})
    assert len(tape.ticks) == 9  # as without marks
