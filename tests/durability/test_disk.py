"""The disk that loses power: what was synced is always there, and what was not may be there in any part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.disk import SECTOR, Disk, File, Lossy, picks, put
from tests.durability.watch import Kind, Op

A, B, C = b"a" * SECTOR, b"b" * SECTOR, b"c" * SECTOR


def found(thing: Lossy) -> list[object]:
    """What may be there, each once."""
    states: list[object] = []
    for pick in picks(thing, "seed", 400):
        state = thing.found(pick)
        if state not in states:
            states.append(state)
    return states


def test_what_was_synced_is_there() -> None:
    file = File()
    file.write(0, A)
    file.sync()
    assert found(file) == [A]


def test_sectors_get_there_in_any_order() -> None:
    file = File(A + A)
    file.write(0, B + B)
    assert sorted(map(str, found(file))) == sorted(map(str, [A + A, A + B, B + A, B + B]))


def test_a_sector_may_be_as_it_was_between_two_writes_but_is_never_a_mixture() -> None:
    file = File(A)
    file.write(0, b"x")
    file.write(1, b"y")
    assert sorted(map(str, found(file))) == sorted(map(str, [A, b"x" + A[1:], b"xy" + A[2:]]))


def test_how_long_a_file_is_may_be_lost_and_what_is_in_it_too() -> None:
    file = File(A)
    file.write(SECTOR, B)
    assert found(file) == [A, A + B, A + bytes(SECTOR)]


def test_a_truncation_is_whole_or_not_at_all() -> None:
    file = File(A + B)
    file.truncate(0)
    file.write(0, C)
    assert sorted(map(str, found(file))) == sorted(map(str, [A + B, b"", C, bytes(SECTOR)]))


def test_what_is_cut_off_is_gone() -> None:
    file = File(A)
    file.truncate(1)
    file.sync()
    file.write(2, b"x")
    file.sync()
    assert found(file) == [b"a\0x"]


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "old").write_bytes(A)
    return Disk(tmp_path)


def did(disk: Disk, kind: Kind, name: str, data: bytes = b"", node: int = 1) -> None:
    disk.apply(Op(kind, 1, node, 0, f"{disk.root}/{name}", data))


def test_to_sync_a_file_says_nothing_of_its_name(disk: Disk) -> None:
    did(disk, Kind.CREATE, "new")
    did(disk, Kind.WRITE, "new", B)
    did(disk, Kind.SYNC, "new")
    assert found(disk) == [{"old": A}, {"old": A, "new": B}]


def test_to_sync_a_folder_says_nothing_of_what_is_in_its_files(disk: Disk, tmp_path: Path) -> None:
    did(disk, Kind.CREATE, "new")
    did(disk, Kind.WRITE, "new", B)
    did(disk, Kind.SYNC, "", node=tmp_path.stat().st_ino)
    assert {"old": A, "new": b""} in found(disk)
    assert {"old": A} not in found(disk)


def test_a_name_that_changes_is_never_missing_and_what_it_names_may_be(disk: Disk) -> None:
    did(disk, Kind.CREATE, "new")
    did(disk, Kind.WRITE, "new", B)
    did(disk, Kind.RENAME, "new", f"{disk.root}/old".encode())
    states = found(disk)
    assert all("old" in state for state in states)  # type: ignore[operator]
    assert {"old": b""} in states
    assert {"old": B} in states


def test_changes_of_a_folder_get_there_in_any_order(disk: Disk) -> None:
    did(disk, Kind.CREATE, "new")
    did(disk, Kind.UNLINK, "old")
    assert len(found(disk)) == 4


def test_a_folder_that_is_lost_takes_its_files_along(disk: Disk) -> None:
    did(disk, Kind.MAKE_FOLDER, "below", node=2)
    did(disk, Kind.CREATE, "below/new", node=3)
    did(disk, Kind.SYNC, "below/new", node=3)
    did(disk, Kind.SYNC, "below", node=2)
    assert found(disk) == [{"old": A}, {"old": A, "below": None, "below/new": b""}]


def test_what_is_found_can_be_looked_at(disk: Disk, tmp_path: Path) -> None:
    did(disk, Kind.MAKE_FOLDER, "below", node=2)
    did(disk, Kind.CREATE, "below/new", node=3)
    (target := tmp_path / "target").mkdir()
    put(disk.found(lambda count: count - 1), target)
    assert sorted(path.name for path in target.rglob("*")) == ["below", "new", "old"]
    assert (target / "old").read_bytes() == A
