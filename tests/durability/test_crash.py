"""A recording is stopped at each of its writes, syncs, renames and so on: the tape is sound, and nothing is missing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.durability.programs import ALONE, PROGRAMS
from tests.durability.stopped import Stop, logged, tried
from tests.durability.watch import How

WAYS = {
    "its process is killed": (How.PROCESS, False),
    "all is killed": (How.ALL, False),
    "a write is done by half": (How.PROCESS, True),
    "its recorder is killed": (How.RECORDER, False),
}
BEYOND = 12  # a slow machine has a run commit more often: operations that are tried past those that were counted


def test_a_recording_that_is_stopped_keeps_its_promise(watching: Path, tmp_path: Path) -> None:
    count = len(logged(ALONE, watching, tmp_path / "whole").ops)
    for number, way in enumerate(WAYS.values()):
        came = tried(ALONE, watching, tmp_path / str(number), Stop(1 + count * number // len(WAYS), *way))
        assert came.stopped
        assert not came.problem


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recording_that_is_stopped_at_any_operation_keeps_its_promise(
    watching: Path, tmp_path: Path, name: str, way: str
) -> None:
    program, (how, half) = PROGRAMS[name], WAYS[way]
    if how is How.RECORDER and not program.recorded:
        pytest.skip("it is its own recorder")
    whole = logged(program, watching, tmp_path / "whole")
    stops = [Stop(at, how, half) for at in range(1, len(whole.ops) + BEYOND + 1)]
    with ThreadPoolExecutor(2) as pool:
        each = list(pool.map(lambda stop: tried(program, watching, tmp_path / str(stop.at), stop), stops))
    results = [came for came in each if came.stopped]
    problems = [came.problem for came in results if came.problem]
    survived, resumed = len(results) - len(problems), sum(came.resumed for came in results)
    print(f"{name}, {way}: {len(results)} crash points tried, {survived} survived, {resumed} of them resumed")  # noqa: T201  the count is what the long test is run for
    assert not problems, "\n".join(problems)
    assert not each[-1].stopped, "the run had more operations than were tried"
    assert len(results) > len(whole.ops) / 2
