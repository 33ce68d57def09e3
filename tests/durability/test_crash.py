"""A recording is stopped at each of its writes, syncs, renames and so on: the tape is sound, and nothing is missing."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.durability.programs import ALONE, PROGRAMS
from tests.durability.stopped import Stop, logged, tried
from tests.durability.watch import How

SAMPLE = 4
WAYS = [(How.PROCESS, False), (How.ALL, False), (How.PROCESS, True), (How.RECORDER, False)]
BEYOND = 12  # operations more than the run had that was counted: none is left out when there are a few more


def test_a_recording_that_is_stopped_keeps_its_promise(watching: Path, tmp_path: Path) -> None:
    count = len(logged(ALONE, watching, tmp_path / "whole").ops)
    for number in range(SAMPLE):
        stop = Stop(1 + count * number // SAMPLE, *WAYS[number % len(WAYS)])
        came = tried(ALONE, watching, tmp_path / str(number), stop)
        assert came.stopped, stop
        assert not came.problem


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recording_that_is_stopped_at_any_operation_keeps_its_promise(
    watching: Path, tmp_path: Path, name: str
) -> None:
    program = PROGRAMS[name]
    count = len(logged(program, watching, tmp_path / "whole").ops)
    ways = [way for way in WAYS if program.recorded or way[0] is not How.RECORDER]
    stops = [Stop(at, *way) for way, at in itertools.product(ways, range(1, count + BEYOND + 1))]
    with ThreadPoolExecutor(2) as pool:
        each = pool.map(lambda stop: tried(program, watching, tmp_path / f"{stop}", stop), stops)
        results = [came for came in each if came.stopped]
    problems = [came.problem for came in results if came.problem]
    survived, resumed = len(results) - len(problems), sum(came.resumed for came in results)
    print(f"{name}, {count} operations: {len(results)} crash points tried, {survived} survived, {resumed} resumed")  # noqa: T201  the count is what the long test is run for
    assert not problems, "\n".join(problems)
    assert len(results) >= count
