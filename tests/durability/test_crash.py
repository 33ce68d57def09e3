"""A recording is stopped at each of its writes, syncs, renames and so on: the tape is sound, and nothing is missing."""

from __future__ import annotations

import itertools
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.durability import promise
from tests.durability.programs import ALONE, PROGRAMS, Program
from tests.durability.stopped import Stop, logged, stopped
from tests.durability.watch import How

SAMPLE = 8
WAYS = [(How.PROCESS, False), (How.ALL, False), (How.PROCESS, True), (How.RECORDER, False)]
BEYOND = 12  # operations more than the run had that was counted: none is left out when there are a few more


def test_a_recording_that_is_stopped_keeps_its_promise(watching: Path, tmp_path: Path) -> None:
    count = count_of(ALONE, watching, tmp_path / "whole")
    for number in range(SAMPLE):
        stop = Stop(1 + count * number // SAMPLE, *WAYS[number % len(WAYS)])
        was_stopped, problem = tried(ALONE, watching, tmp_path / str(number), stop)
        assert was_stopped, stop
        assert not problem


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recording_that_is_stopped_at_any_operation_keeps_its_promise(
    watching: Path, tmp_path: Path, name: str
) -> None:
    program = PROGRAMS[name]
    count = count_of(program, watching, tmp_path / "whole")
    ways = [way for way in WAYS if program.recorded or way[0] is not How.RECORDER]
    stops = [Stop(at, *way) for way, at in itertools.product(ways, range(1, count + BEYOND + 1))]
    with ThreadPoolExecutor(2) as pool:
        each = pool.map(lambda stop: tried(program, watching, tmp_path / f"{stop}", stop), stops)
        results = [problem for was_stopped, problem in each if was_stopped]
    problems = [problem for problem in results if problem]
    survived = len(results) - len(problems)
    print(f"{name}, {count} operations: {len(results)} crash points tried, {survived} survived")  # noqa: T201  the count is what the long test is run for
    assert not problems, "\n".join(problems)
    assert len(results) >= count


def count_of(program: Program, watching: Path, folder: Path) -> int:
    """How many operations a recording has that nobody stops."""
    whole = logged(program, watching, folder)
    promise.check(whole.ran.store, whole.ran.seen)
    assert len(whole.ran.seen.asked) == len(whole.ran.seen.answered) == 3
    assert len(whole.ops) == whole.ran.count
    return whole.ran.count


def tried(program: Program, watching: Path, folder: Path, stop: Stop) -> tuple[bool, str]:
    """Whether it was stopped there, and what was wrong then; what was wrong can be looked at."""
    ran = stopped(program, watching, folder, stop)
    try:
        promise.check(ran.store, ran.seen)
    except AssertionError as error:
        return ran.stopped, f"{stop}: {error} (see {folder})"
    shutil.rmtree(folder)
    return ran.stopped, ""
