"""`reenact runs`: what is in the store, without reading it all."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from contextlib import closing

import pytest

from reenact.tape import listing, reader
from reenact.tape.store import Store
from tests.cli.desk import Desk
from tests.trajectory.made import STARTED, Made, let_go, says, user


def columns(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def test_an_empty_store_says_how_to_begin(desk: Desk) -> None:
    done = desk.reenact("runs")
    assert done.returncode == 0
    assert done.stdout.endswith("Record one with:  reenact record agent.py\n")
    assert json.loads(desk.reenact("runs", "--json").stdout) == []


def test_runs_are_listed_with_the_newest_first(desk: Desk) -> None:
    desk.write("import sys, time; time.sleep(0.01); sys.exit(int(sys.argv[1]))")
    desk.reenact("record", "--name", "first", "agent.py", "0")
    desk.reenact("record", "--name", "second", "agent.py", "3")
    done = desk.reenact("runs")
    assert (done.returncode, done.stderr) == (0, "")
    titles, second, first = map(columns, done.stdout.splitlines())
    assert titles == ["RUN", "STARTED", "OUTCOME", "STEPS", "EVENTS", "TOOK", "TAPE", "PROGRAM"]
    assert second[0].startswith("second-")
    assert second[1:5] == ["just now", "exit 3", "0", "1"]
    assert second[-1] == "agent.py 3"
    assert (first[0].partition("-")[0], first[2], first[-1]) == ("first", "ok", "agent.py 0")


def test_json_has_a_row_for_each(desk: Desk) -> None:
    made = Made(desk.folder / ".reenact" / "desk-7f3a.tape", "desk.py", "--city", "Oslo")
    made.ask([user("Hello")], 429)
    made.ask([user("Hello")], says("Hi"))
    made.http("GET https://shop.example/orders", 200)
    made.done()
    (row,) = json.loads(desk.reenact("runs", "--json").stdout)
    assert row.pop("bytes") > 0
    assert row.pop("path").endswith("desk-7f3a.tape")
    assert row == {
        "id": "desk-7f3a",
        "program": "desk.py --city Oslo",
        "started": STARTED,
        "started_at": "2026-11-18T11:06:40.000000Z",
        "outcome": "ok",
        "exit_status": 0,
        "steps": 1,
        "model_calls": 2,
        "events": 3,
        "lanes": 1,
        "duration": 500_000_000,
        "faults": 0,
        "reason": "",
        "session": "",
        "tags": {},
    }


def test_a_run_under_way_is_recording_and_one_that_was_killed_is_not(desk: Desk) -> None:
    desk.write("import time; print('ready', flush=True); time.sleep(3600)")
    with desk.start("record", "agent.py") as child:
        under_way = desk.reenact("runs").stdout
        os.killpg(child.pid, signal.SIGKILL)
    assert columns(under_way.splitlines()[1])[2] == "recording"
    let_go(desk.folder / ".reenact")
    lines = desk.reenact("runs").stdout.splitlines()
    assert columns(lines[1])[2:5] == ["killed", "–", "–"]
    assert lines[-1] == "1 left open by a killed process; reenact fsck --all  closes and counts them"


@pytest.mark.parametrize("content", [b"", b"no tape at all" * 100])
def test_what_is_no_tape_is_listed_as_such(desk: Desk, content: bytes) -> None:
    (desk.folder / ".reenact" / "broken.tape").write_bytes(content)
    done = desk.reenact("runs")
    assert done.returncode == 0
    assert columns(done.stdout.splitlines()[1])[2] == "unreadable"
    (row,) = json.loads(desk.reenact("runs", "--json").stdout)
    assert row["reason"]


def test_no_journal_is_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.folder / ".reenact" / "desk-7f3a.tape"
    Made(path).done()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE piece SET data = x''")
    monkeypatch.setattr(reader, "read", None)
    (row,) = listing.listing(Store(path.parent))
    assert row.outcome == "ok"


def test_a_damaged_name_cannot_write_on_the_terminal(desk: Desk) -> None:
    made = Made(desk.folder / ".reenact" / "desk-7f3a.tape", "\x1b[2J.py")
    made.done()
    assert "\x1b" not in desk.reenact("runs").stdout
