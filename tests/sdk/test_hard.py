"""One unmodified program with everything in it that makes re-running hard."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from reenact.testing import Call, Fail, ModelServer, Reply, ResetMidStream, Say, SlowFirstByte, Turn
from tests.runs import PROGRAMS, Bench, Run, pythons, settings

AGENT = PROGRAMS / "hard.py"
TIMES = 10


class Model:
    """Answers steps by words or a tool call, branches and jobs in an order of its own, and each kind of trouble once."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def __call__(self, turn: Turn) -> Reply:
        prompt = turn.prompt
        word = prompt.partition(" ")[0]
        self._asked[word] += 1
        said = Say(f"answer {turn.index} to {prompt[:40]}: " + " ".join(f"word{turn.index + n}" for n in range(60)))
        match word:
            case "step" if turn.index % 3 == 0:
                return Call("look_up", {"city": f"Oslo {turn.index}"})
            case "limited" if self._asked[word] == 1:
                return Fail(429, retry_after=0.05)
            case "reset":
                return ResetMidStream(said, after_chunks=4)
            case "branch" | "job":
                return SlowFirstByte(said, (turn.index * 7 % 5) * 0.01)
        return said


def recorded(bench: Bench, steps: int) -> Run:
    with ModelServer(Model()) as server:
        run = bench.record(AGENT, env={**settings(server), "STEPS": str(steps)})
    assert run.status == 0, run.stderr.decode()
    # the steps, the end, a 429 and its retry, the stream, two for each branch, the jobs, and the call of requests
    assert len(run.http) == len(server.requests) == steps + 1 + 2 + 1 + 2 * 8 + 12 + 1
    assert [event.name.rpartition("/")[2] for event in run.http].count("models") == 1
    return run


def test_two_hundred_steps_tasks_threads_clocks_chance_and_trouble_verify(bench: Bench) -> None:
    recorded(bench, 200).reproduced()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("time", range(3))
def test_the_same_with_a_short_history_verifies_each_time(bench: Bench, time: int) -> None:
    recorded(bench, 5).reproduced()


def test_none_of_its_variables_differs_in_a_replay(bench: Bench) -> None:
    with ModelServer(Model()) as server:
        run = bench.record(AGENT, env={**settings(server), "STEPS": "5"}, options=["--deep"])
    verified = run.verify("--deep")
    assert verified.passed, verified.told()
    assert verified.document["variables"]["events"] == verified.boundaries[0]
    assert verified.document["variables"]["values"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons())
def test_ten_times_out_of_ten(tmp_path: Path, python: str) -> None:
    failed: list[str] = []
    for time in range(TIMES):
        folder = tmp_path / str(time)
        folder.mkdir()
        try:
            recorded(Bench(folder, python), 200).verified()
        except AssertionError as error:
            failed.append(f"{time}: {error}")
    assert not failed, f"{len(failed)} of {TIMES} times\n" + "\n".join(failed)
