"""`reenact fsck`: every byte, body and row of a tape, and tapes that were left open."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reenact.tape import check as checks
from reenact.tape.check import State, check
from reenact.tape.close import being_written
from reenact.tape.event import Exited
from reenact.tape.reader import read
from tests.cli.desk import Desk
from tests.tape.records import sealed_again
from tests.trajectory.made import CHAT, Made, calls, gave, let_go, says, user


@pytest.fixture
def tape(desk: Desk) -> Path:
    """A tape in the store of the desk."""
    made = Made(desk.folder / ".reenact" / "desk-7f3a.tape")
    messages = [user("Where is order 5512?")]
    made.ask(messages, calls(c1={"order": 5512}))
    made.http("GET https://shop.example/orders/5512", 404)
    made.ask([*messages, calls(c1={"order": 5512}), gave("c1", "It left Oslo. " * 10_000)], says("On its way."))
    made.done()
    return made.path


def change(path: Path, statement: str, *values: object) -> None:
    with sealed_again(path), closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def test_a_sound_tape_has_one_line(desk: Desk, tape: Path) -> None:
    done = desk.reenact("fsck", "last")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"sound    desk-7f3a: 3 events in 2 pieces, \S+ kB, digest [0-9a-f]{16}\n", done.stdout)
    told = json.loads(desk.reenact("fsck", "last", "--json").stdout)
    assert (told["run"], told["state"], told["events"], told["damage"]) == ("desk-7f3a", "sound", 3, [])
    assert told["digest"] == read(tape).digest.hex()


def test_all_tapes_are_checked_and_one_that_is_damaged_is_enough_to_fail(desk: Desk, tape: Path) -> None:
    Made(tape.with_name("other-0001.tape")).done()
    assert desk.reenact("fsck", "--all").returncode == 0
    change(tape, "UPDATE piece SET data = zeroblob(length(data)) WHERE id = 2")
    done = desk.reenact("fsck", "--all")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "damaged  desk-7f3a: piece 2 of the journal is not what was written (its digest differs)",
        next(line for line in done.stdout.splitlines() if line.startswith("sound    other-0001: ")),
    ]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE piece SET id = 9 WHERE id = 1", "piece 1 of the journal is not what was written"),
        ("DELETE FROM piece WHERE id = (SELECT max(id) FROM piece)", "the end of its journal is missing"),
        ("DELETE FROM piece", "its journal is empty"),
        ("UPDATE event SET status = 200 WHERE id = 1", "index, event 1: its row differs from the journal"),
        ("DELETE FROM event WHERE id = 2", "index, event 2: its row differs from the journal"),
        (
            "UPDATE run SET value = 'failed' WHERE key = 'status'",
            "run, status: the table says 'failed', the journal 'ok'",
        ),
        ("UPDATE run SET value = 'x' WHERE key = 'name'", "run, name: the table says 'x', the journal 'desk'"),
        ("DELETE FROM run WHERE key = 'events'", "run, events: the table says None, the journal 3"),
        ("UPDATE run SET key = 'programs' WHERE key = 'program'", "run, program: the table says None"),
        ("CREATE TABLE more (x)", "its tables are not those of a tape"),
        ("PRAGMA user_version = 0", "it says that its format is 0, which never was"),
        ("PRAGMA user_version = 99", "has tape format 99"),
    ],
)
def test_damage_is_told_with_its_place(tape: Path, statement: str, told: str) -> None:
    change(tape, statement)
    found = check(tape)
    assert found.state is State.DAMAGED
    assert any(told in line for line in found.damage), found.damage


def test_a_body_that_builds_on_what_is_not_there_is_found(tmp_path: Path) -> None:
    made = Made(tmp_path / "desk-7f3a.tape")
    made.http(CHAT, 200, b"{}", b"x" * 200)
    made._bodies.shrink(0, b"y" * 300, -1)
    made.http(CHAT, 200, b"{}", b"y" * 310)
    made.done()
    found = check(made.path)
    assert found.damage == ("event 1: its body builds on bytes that are not on the tape",)


def test_a_tape_left_open_by_a_killed_process_is_closed(desk: Desk) -> None:
    desk.write("import time; time.sleep(0.01); print('ready', flush=True); time.sleep(3600)")
    with desk.start("record", "agent.py") as child:
        path = next((desk.folder / ".reenact").glob("*.tape"))
        assert being_written(path)
        done = desk.reenact("fsck", "last")
        status = read(path).status
        os.killpg(child.pid, signal.SIGKILL)
    let_go(path.parent)
    assert done.returncode == 0
    assert done.stdout.endswith("\n         a process has it open, so it may still grow\n")
    assert status is None
    done = desk.reenact("fsck", "--all")
    assert done.returncode == 0
    assert done.stdout.endswith("\n         it was left open by a process that is gone, and is closed now\n")
    assert desk.reenact("fsck", "--all").stdout.startswith("sound    agent-")
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_tape_whose_closing_was_killed_half_way_is_closed_to_its_end(tmp_path: Path) -> None:
    made = Made(tmp_path / "desk-7f3a.tape")
    made.ask([user("Hello")], says("Hi"))
    made._writer.add(Exited(0))
    made._writer.close()
    assert check(made.path).state is State.CLOSED
    assert check(made.path).state is State.SOUND


def test_an_empty_file_is_no_sound_tape(desk: Desk) -> None:
    (desk.folder / ".reenact" / "x-0000.tape").touch()
    done = desk.reenact("fsck", "--all")
    assert done.returncode == 1
    assert done.stdout == "damaged  x-0000: it is empty: its recording ended before it began\n"


def test_whatever_a_tape_does_to_the_reader_is_damage(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reading(_path: Path, **_options: bool) -> None:
        raise AssertionError("never so")

    monkeypatch.setattr(checks, "outline", reading)
    assert check(tape).damage == ("it cannot be read: AssertionError: never so",)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "say which runs, by name, or --all"),
        (("last", "--all"), "give runs by name, or --all, not both"),
        (("nope",), "no run 'nope' in "),
    ],
)
def test_misuse_is_told(desk: Desk, tape: Path, words: tuple[str, ...], told: str) -> None:
    done = desk.reenact("fsck", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
