"""`reenact rm`: deletes what it was told, after asking, and never a run that is under way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.trajectory.made import Made, let_go


@pytest.fixture
def store(desk: Desk) -> Path:
    """The store of the desk, with three runs."""
    folder = desk.folder / ".reenact"
    for run in ("a-1111", "a-2222", "b-3333"):
        Made(folder / f"{run}.tape").done()
    return folder


def left(store: Path) -> list[str]:
    return sorted(path.name for path in store.iterdir())


def test_what_is_named_is_deleted_and_nothing_else(desk: Desk, store: Path) -> None:
    done = desk.reenact("rm", "a-2", "b", "b-3333")
    assert (done.returncode, done.stdout, done.stderr) == (0, "deleted a-2222\ndeleted b-3333\n", "")
    assert left(store) == ["a-1111.tape"]


@pytest.mark.parametrize(("typed", "status", "gone"), [(b"y\r", 0, True), (b"n\r", 1, False), (b"\r", 1, False)])
def test_on_a_terminal_it_asks(desk: Desk, store: Path, typed: bytes, status: int, gone: bool) -> None:
    found, screen = desk.at_terminal("rm", "b-3333", typed=typed, when=b"[y/N]: ")
    assert found == status
    assert "Delete 1 run (b-3333)? [y/N]: " in screen
    assert ("Nothing was deleted." in screen) is not gone
    assert ("b-3333.tape" not in left(store)) is gone


def test_with_yes_it_does_not_ask(desk: Desk, store: Path) -> None:
    status, screen = desk.at_terminal("rm", "--yes", "a-1111", "a-2222", "b-3333")
    assert (status, screen) == (0, "deleted a-1111\ndeleted a-2222\ndeleted b-3333\n")
    assert left(store) == []


@pytest.mark.parametrize("words", [("b-3333", "nope"), ("b-3333", "a")])
def test_when_one_cannot_be_deleted_none_is(desk: Desk, store: Path, words: tuple[str, ...]) -> None:
    done = desk.reenact("rm", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(left(store)) == 3


def test_a_run_under_way_is_not_deleted(desk: Desk) -> None:
    desk.write("import time; print('ready', flush=True); time.sleep(3600)")
    with desk.start("record", "agent.py") as child:
        done = desk.reenact("rm", "last", "--yes")
        assert done.returncode == 2
        assert "is still being recorded; end its program first. Nothing was deleted." in done.stderr
        os.killpg(child.pid, signal.SIGKILL)
    let_go(desk.folder / ".reenact")
    assert desk.reenact("rm", "last").returncode == 0
    assert left(desk.folder / ".reenact") == []


@pytest.mark.parametrize("content", [b"", b"no tape at all" * 100])
def test_what_is_no_tape_can_be_deleted(desk: Desk, content: bytes) -> None:
    (desk.folder / ".reenact" / "broken.tape").write_bytes(content)
    assert desk.reenact("rm", "broken").returncode == 0


def test_without_a_run_it_is_misuse(desk: Desk) -> None:
    done = desk.reenact("rm")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Missing argument" in done.stderr
