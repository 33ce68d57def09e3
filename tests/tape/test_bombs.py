"""Small tapes that are made to fill the memory, or never to end: they are refused, or cost no more than others."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
import tracemalloc
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import TapeCorruptError, TapeTooLargeError
from reenact.tape import allowance
from reenact.tape import event as ev
from reenact.tape.allowance import Allowance, values_in
from reenact.tape.building import Builder
from reenact.tape.close import close
from reenact.tape.journal import GENESIS, Piece, link
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from reenact.tape.whole import every
from tests.tape.records import beginning, edit, exchange, put, run, written

nested = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.binary() | st.text(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=60,
)
PLENTY = 1 << 30


def tape(path: Path, *plain: bytes) -> Path:
    """A tape whose chain is right around any bytes at all, each a frame of its own."""
    written(path, [])
    pieces, chain = [], GENESIS
    for number, data in enumerate(plain, 1):
        packed = zstandard.compress(data)
        chain = link(chain, number, number, packed)
        pieces.append(Piece(number, number, packed, chain))
    put(path, pieces)
    return path


WITH_PEAK = """
import sys
from reenact.cli.main import main
try:
    main()
finally:  # of this program alone: what a parent is told may be the parent's own
    status = open("/proc/self/status").read()
    sys.stderr.write("peak " + status.partition("VmHWM:")[2].split()[0])
"""


def shown(path: Path, *words: str) -> tuple[int, str, int]:
    """`reenact show` in a process of its own: its status, what it said on stderr, and the most memory that it had."""
    if sys.platform != "linux":
        pytest.skip("only Linux tells how much memory a program had")
    command = [sys.executable, "-P", "-c", WITH_PEAK, *(words or ("show",)), str(path)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=False)
    said, _, peak = done.stderr.decode().rpartition("peak ")
    return done.returncode, said, int(peak) * 1024


def told(count: int, record: bytes) -> bytes:
    """A msgpack array of so many of the same record."""
    return b"\xdd" + count.to_bytes(4, "big") + record * count


# What a tape unpacks to


def values(value: object) -> int:
    match value:
        case list():
            return 1 + sum(map(values, value))
        case dict():
            return 1 + sum(values(key) + values(inner) for key, inner in value.items())
        case _:
            return 1


@given(nested)
def test_all_values_of_msgpack_are_counted(value: object) -> None:
    assert values_in(msgspec.msgpack.encode(value), PLENTY) == values(value)


def test_counting_ends_where_there_are_too_many() -> None:
    began = time.perf_counter()
    assert values_in(b"\x90" * 50_000_000, 1000) == 1001
    assert time.perf_counter() - began < 1


@given(st.binary(max_size=60))
def test_any_bytes_are_counted(data: bytes) -> None:
    assert values_in(data, PLENTY) <= len(data)


def test_a_tape_that_unpacks_to_more_than_it_may_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "BYTES", 1 << 20)
    path = tape(tmp_path / "run-1.tape", *[msgspec.msgpack.encode([[18, b"", bytes(1 << 18)]])] * 8)
    assert path.stat().st_size < 40_000
    with pytest.raises(TapeTooLargeError, match=r"far more than .* REENACT_TAPE_LIMIT=\d+"):
        read(path)
    monkeypatch.setenv(allowance.LIMIT, str(8 << 20))
    assert len(read(path).contents) == 1


def test_what_compresses_well_is_no_bomb(tmp_path: Path) -> None:
    """50 MB of zeros in one exchange are what a program may well have sent."""
    batch = [*beginning(), *exchange(0, bytes(48 << 20), bytes(48 << 20)), ev.Ended(9, None)]
    path = written(tmp_path / "run-1.tape", [batch])
    close(path, 0)
    assert path.stat().st_size < 200_000
    assert len(read(path).body(read(path).events[0])) == 48 << 20


def test_a_large_record_is_few_values() -> None:
    left = Allowance()
    left.spend(msgspec.msgpack.encode([[18, b"", bytes(100 << 20)]]))
    assert left.room > 900 << 20


RECORDS = {
    "handed": msgspec.msgpack.encode([13]),
    "lanes": msgspec.msgpack.encode([1, 0, "0.1", ""]),
    "ticks": msgspec.msgpack.encode([5, 0, 1.5, 1]),
    "events": msgspec.msgpack.encode([6, 0, [[1, 0, [[]] * 40]]]),
}


@pytest.mark.parametrize("name", RECORDS)
def test_millions_of_records_from_a_small_tape_do_not_fill_the_memory(tmp_path: Path, name: str) -> None:
    record = RECORDS[name]
    start = msgspec.msgpack.encode(beginning())
    path = tape(tmp_path / "run-1.tape", start, *[told((24 << 20) // len(record), record)] * 4)
    assert path.stat().st_size < 100_000
    status, said, memory = shown(path)
    assert (status, "error[tape-too-large]" in said) == (2, True), said
    assert memory < 1_48 << 20


def test_processes_that_are_no_end_of_one_another_are_refused(tmp_path: Path) -> None:
    inner = msgspec.msgpack.encode([[1, 0, "0.1", "x"]])
    for depth in range(60):
        inner = msgspec.msgpack.encode([[1, 0, f"0.{depth}", "x"], [24, f"0.{depth}.1", "x", inner]])
    path = tape(tmp_path / "run-1.tape", msgspec.msgpack.encode(beginning()), inner)
    with pytest.raises(TapeCorruptError, match="more than 32 processes have started one another"):
        list(every(read(path)))


def test_the_records_of_processes_count_like_all_others(tmp_path: Path) -> None:
    kin = ev.Kin("0.1", "x", told(12 << 20, RECORDS["handed"]))
    path = tape(tmp_path / "run-1.tape", msgspec.msgpack.encode([*beginning(), kin]))
    with pytest.raises(TapeTooLargeError):
        list(every(read(path)))


def test_bodies_that_build_on_a_large_one_are_not_all_kept() -> None:
    recording = Recording(Path("by-hand.tape"), {})
    builder = Builder(recording)
    large = bytes(16 << 20)
    for record in beginning():
        builder.add(record)
    for number in range(64):
        delta = ev.Delta(number - 1, len(large), 0, b"x") if number else ev.Delta(-1, 0, 0, large)
        builder.add(ev.Began(number, 0, 1, "POST http://h", -1, number, b"[]", delta))
    tracemalloc.start()
    try:
        for event in recording.events:
            assert len(recording.body(event)) >= len(large)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(large)  # that which is asked for, and the one before
    finally:
        tracemalloc.stop()


def test_lanes_without_end_take_no_time(tmp_path: Path) -> None:
    deep = ["0" + ".1" * depth for depth in (*range(0, 2000, 2), 200_000)]
    lanes = [ev.LaneBorn(number, path, "") for number, path in enumerate(deep)]
    path = tape(tmp_path / "run-1.tape", msgspec.msgpack.encode([beginning()[0], *lanes, ev.Aside(0, 500, "h")]))
    began = time.perf_counter()
    assert len(read(path).lanes) == len(deep)
    assert time.perf_counter() - began < 5


def test_exceptions_without_end_are_corrupt() -> None:
    failed = ev.Failed("m", "n", [], {})
    for _ in range(40):
        failed = ev.Failed("m", "n", [""], {}, failed)
    builder = Builder(Recording(Path("by-hand.tape"), {}))
    for record in [*beginning(), *exchange(0)]:
        builder.add(record)
    with pytest.raises(TapeCorruptError):
        builder.add(ev.Part(0, ev.PartKind.FAILURE, 9, b"", failed))


@pytest.mark.parametrize("path", ["", "0.", "x", "0.-1", "0..1", "../0", "0." + "9" * 5000, "0\x1b[2J"])
def test_a_lane_whose_path_is_none_is_corrupt(path: str) -> None:
    builder = Builder(Recording(Path("by-hand.tape"), {}))
    with pytest.raises(TapeCorruptError):
        builder.add(ev.LaneBorn(0, path, "x"))


# What SQLite would make of it

_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    path = written(tmp_path / "run-1.tape", run())
    close(path, 0)
    return path


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE run", f"CREATE VIEW run AS {_ENDLESS} SELECT x AS key, 1 AS value FROM c"),
        ("DROP TABLE piece", f"CREATE VIEW piece AS {_ENDLESS} SELECT x AS id, 0 segment, x'' data, x'' chain FROM c"),
        ("CREATE TRIGGER t AFTER DELETE ON piece BEGIN DELETE FROM run; END",),
        (
            "DROP TABLE run",
            "CREATE TABLE run (key TEXT, value ANY AS (zeroblob(1000000000)))",
            "INSERT INTO run VALUES ('name')",
        ),
        ("DROP TABLE piece",),
    ],
    ids=["view-of-run", "view-of-pieces", "trigger", "computed", "missing"],
)
@pytest.mark.parametrize("command", ["show", "fsck"])
def test_a_file_that_computes_is_no_tape(closed: Path, statements: tuple[str, ...], command: str) -> None:
    edit(closed, *statements)
    with pytest.raises(TapeCorruptError):
        read(closed)
    status, _, memory = shown(closed, command)
    assert status == (2 if command == "show" else 1)
    assert memory < 300 << 20


def test_a_store_with_a_file_that_computes_is_listed(closed: Path) -> None:
    edit(closed, "DROP TABLE run", f"CREATE VIEW run AS {_ENDLESS} SELECT x AS key, 1 AS value FROM c")
    status, _, memory = shown(closed.parent, "runs", "--store")
    assert status == 0
    assert memory < 300 << 20


@pytest.mark.parametrize("value", ["x'ff'", "1.5", "NULL", "x'00' || 'a'"])
def test_rows_of_any_type_are_listed(closed: Path, value: str) -> None:
    edit(closed, f"UPDATE run SET value = {value}", f"UPDATE OR IGNORE event SET name = {value}")
    status, said, _ = shown(closed.parent, "runs", "--store")
    assert (status, said) == (0, "")


def test_tags_that_are_nested_without_end_are_listed(closed: Path) -> None:
    with closing(sqlite3.connect(closed)) as db, db:
        db.execute("INSERT INTO run VALUES ('tags', ?)", ("[" * 200_000,))
    status, said, _ = shown(closed.parent, "runs", "--store")
    assert (status, said) == (0, "")


def test_a_file_beside_a_tape_that_leads_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    """SQLite would take the log of a tape that was left open from there."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path = written(tmp_path / "run-1.tape", run())
    path.with_name("run-1.tape-wal").unlink(missing_ok=True)
    path.with_name("run-1.tape-wal").symlink_to(precious)
    shown(path, "fsck")
    assert precious.read_text() == "mine"
