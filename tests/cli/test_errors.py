"""Misuse and unusable input: one error with its slug, what to do, where more stands; status 2 and no output."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.runs import shown
from tests.trajectory.made import Made

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
SECTIONS = set(re.findall(r"^## (\S+)$", PAGE.read_text("utf-8"), re.MULTILINE))


def nothing(_desk: Desk) -> None:
    """The store has one run, and that is sound."""


def damaged(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.folder / ".reenact" / "desk-7f3a.tape")) as db, db:
        db.execute("UPDATE piece SET data = zeroblob(length(data))")


def newer(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.folder / ".reenact" / "desk-7f3a.tape")) as db, db:
        db.execute("PRAGMA user_version = 99")


def no_tape(desk: Desk) -> None:
    (desk.folder / ".reenact" / "desk-7f3a.tape").write_bytes(b"no tape" * 999)


def settings(text: str) -> Callable[[Desk], None]:
    def change(desk: Desk) -> None:
        desk.write("")
        desk.reenact("record", "agent.py")
        (desk.folder / "pyproject.toml").write_text(text, "utf-8")

    return change


CASES = [
    ("usage", nothing, ("bogus",), "No such command 'bogus'"),
    ("usage", nothing, ("show",), "Missing argument 'RUN'.\n  usage: reenact show [OPTIONS] RUN\n"),
    ("usage", nothing, ("show", "last", "--bogus"), "No such option '--bogus'"),
    ("usage", nothing, ("show", "last", "--step", "x"), "'x' is not a valid integer"),
    ("usage", nothing, ("show", "last", "--step", "9"), "there is no step 9: desk-7f3a has no steps"),
    ("usage", nothing, ("show", "last@2", "--step", "1"), "last@2 already names a step; leave out --step 1"),
    ("usage", nothing, ("show", "last", "--step", "1", "--event", "1"), "choose one"),
    ("usage", nothing, ("record",), "nothing to run: give a script"),
    ("usage", nothing, ("record", "gone.py"), "gone.py: no such script. Give a Python script"),
    ("usage", nothing, ("record", "--", "python"), "an interactive interpreter cannot be recorded"),
    ("usage", nothing, ("record", "--store", "/dev/null/x", "-m", "this"), "Choose another folder with --store."),
    ("usage", nothing, ("fsck",), "say which runs, by name, or --all"),
    ("usage", nothing, ("rm",), "Missing argument 'RUN…'"),
    ("usage", settings("[tool.reenact"), ("verify", "agent"), "pyproject.toml cannot be read"),
    ("normalizer", settings("[[tool.reenact.normalizers]]\nbogus = 1"), ("verify", "agent"), "entry 1"),
    ("run-not-found", nothing, ("verify", "nope"), "no run 'nope' in "),
    ("run-not-found", nothing, ("rm", "nope", "-y"), "It holds: desk-7f3a\n"),
    ("tape-corrupt", damaged, ("show", "desk"), "its bytes are not those that were sealed"),
    ("tape-version", newer, ("replay", "desk"), "Upgrade reenact to read it."),
    ("tape", no_tape, ("verify", "desk"), "desk-7f3a.tape is not a tape"),
]


@pytest.mark.parametrize(("slug", "change", "words", "told"), CASES, ids=shown)
def test_an_error_has_its_slug_and_its_section(
    desk: Desk, slug: str, change: Callable[[Desk], None], words: tuple[str, ...], told: str
) -> None:
    Made(desk.folder / ".reenact" / "desk-7f3a.tape").done()
    change(desk)
    done = desk.reenact(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error[{slug}]: ")
    assert told in done.stderr
    assert done.stderr.endswith(f"\n  see docs/errors.md#{slug}\n")
    assert slug in SECTIONS


def test_at_a_terminal_it_is_wrapped_and_coloured(desk: Desk) -> None:
    status, screen = desk.at_terminal("record", "gone.py", env={"COLUMNS": "60"})
    assert status == 2
    assert screen.startswith("\x1b[1;31merror[usage]:\x1b[0m gone.py: no such script.")
    lines = re.sub(r"\x1b\[[\d;]*m", "", screen).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60


def test_a_name_cannot_write_on_the_terminal(desk: Desk) -> None:
    assert "\x1b" not in desk.reenact("show", "\x1b[2J").stderr


def test_without_a_command_it_tells_what_there_is(desk: Desk) -> None:
    done = desk.reenact()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: reenact [OPTIONS] COMMAND [ARGS]...\n")
    assert "reenact demo" in done.stderr
