"""`reenact replay`: the program again, on what its tape holds."""

from __future__ import annotations

import re
import signal

import pytest

from tests.cli.desk import Desk

AGENT = """
    import random, sys, time, uuid
    name = sys.stdin.readline().strip()
    time.sleep(0.5)
    print(name, time.time(), uuid.uuid4(), random.random(), *sys.argv[1:])
    print("err", file=sys.stderr)
    sys.exit(3)
"""
SUMMARY = r"reenact: replayed agent-\w+ offline: 2 of 2 calls as recorded, in [\d.]+ m?s"


@pytest.fixture
def recorded(desk: Desk) -> tuple[Desk, str]:
    """A desk with a recording of AGENT, and what that printed."""
    desk.write(AGENT)
    done = desk.reenact("record", "agent.py", "--city", "Oslo", said="Ada\n")
    assert done.stdout.startswith("Ada 1")
    assert done.returncode == 3
    return desk, done.stdout


def test_output_and_exit_status_come_again(recorded: tuple[Desk, str]) -> None:
    desk, printed = recorded
    done = desk.reenact("replay", "last")
    assert (done.returncode, done.stdout) == (3, printed)
    own, summary = done.stderr.splitlines()
    assert own == "err"
    assert re.fullmatch(SUMMARY, summary)


def test_a_quiet_replay_adds_nothing(recorded: tuple[Desk, str]) -> None:
    desk, printed = recorded
    done = desk.reenact("replay", "-q", "last")
    assert (done.returncode, done.stdout, done.stderr) == (3, printed, "err\n")


def test_a_run_can_be_named_by_the_beginning_of_its_id(recorded: tuple[Desk, str]) -> None:
    desk, printed = recorded
    assert desk.reenact("replay", "age").stdout == printed


def test_it_runs_where_it_was_recorded(recorded: tuple[Desk, str]) -> None:
    desk, printed = recorded
    (desk.folder / "below").mkdir()
    assert Desk(desk.folder / "below").reenact("replay", "last").stdout == printed


def test_a_program_that_leaves_its_tape_is_stopped_there(recorded: tuple[Desk, str]) -> None:
    desk, _ = recorded
    path = desk.folder / "agent.py"
    path.write_text(path.read_text("utf-8").replace("time.sleep(0.5)", "time.sleep(0.6)"), "utf-8")
    done = desk.reenact("replay", "last")
    assert (done.returncode, done.stdout) == (1, "")
    assert ": the run asks something else than when recorded" in done.stderr
    assert "\n  agent.py:4 in <module>\n" in done.stderr


def test_a_recording_that_was_cut_ends_as_it_did(cut: Desk) -> None:
    done = cut.reenact("replay", "last")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == "asking\n"
    assert "offline, up to where its recording was cut: 3 of 3 calls as recorded" in done.stderr
