"""The golden tapes: every format that there ever was is read, is sound, and replays."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from reenact.launch.launcher import Manner, replay
from reenact.tape import schema
from reenact.tape.check import State, check
from reenact.tape.close import outcome
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from tests.tape.records import journal
from tests.tapes.make import HERE, NOWHERE, golden, make, site, told


@pytest.fixture(params=schema.HISTORY)
def tape(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a golden tape."""
    return Path(shutil.copy(golden(request.param), tmp_path))


def test_a_golden_tape_says_what_it_always_said(tape: Path) -> None:
    expected = json.loads((HERE / tape.with_suffix(".json").name).read_text(encoding="utf-8"))
    assert json.loads(json.dumps(told(read(tape)))) == expected


def test_a_golden_tape_is_sound(tape: Path) -> None:
    before = tape.read_bytes()
    checked = check(tape)
    assert (checked.state, checked.damage) == (State.SOUND, ())
    assert tape.read_bytes() == before


def test_a_golden_tape_replays(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was made is gone, and so is the interpreter: it runs here, with whichever Python runs the tests."""
    monkeypatch.chdir(HERE)
    recording = read(tape)
    replayed = replay(recording, Manner(quiet=True))
    report = replayed.report
    assert report.divergences == []
    assert (report.complete, report.cut, report.faults) == (True, False, [])
    assert report.asked == len(recording.events)
    assert replayed.status == recording.status == 3


def test_a_golden_tape_names_no_place_and_no_secret(tape: Path) -> None:
    plain = repr(list(journal(tape)))
    places = set(re.findall(r"(?<![\w/:.<])/[\w.-]+/[\w./-]+", plain))
    assert {place for place in places if not place.startswith((NOWHERE, "/v1/"))} == set()
    assert "sk-golden" not in plain
    assert "api_key=golden" not in plain


def test_a_golden_tape_holds_some_of_everything(tape: Path) -> None:
    recording = read(tape)
    assert outcome(recording) == "exit 3"
    assert {event.kind.name for event in recording.events} >= {"HTTP", "SLEEP"}
    assert len(recording.lanes) > 2
    assert all(lane.draws or lane.events for lane in recording.lanes.values())


def test_the_present_format_is_still_what_is_written(tmp_path: Path) -> None:
    """Made anew it says the same: but for times, ids and what follows from them, the code writes what it wrote."""
    path = tmp_path / golden(schema.FORMAT).name
    make(path)
    assert steady(read(path)) == steady(read(golden(schema.FORMAT)))


def steady(recording: Recording) -> list[tuple[str, ...]]:
    """What does not depend on time, port and chance."""
    return sorted(
        (event.lane, event.kind.name, re.sub(r":\d+|sleep.*", "", event.name), site(event))
        for event in recording.events
    )
