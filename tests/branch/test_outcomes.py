"""Several branches of a run side by side: what is told of each, and how they end together."""

from __future__ import annotations

import json
import signal
import threading

from reenact.testing import ModelServer, Say
from reenact.testing.reply import Reply
from reenact.testing.turn import Turn
from tests.branch.test_fork import CHAT, TOOLS, Counting, fork, refunding
from tests.runs import PATIENCE, Bench, settings


def test_each_branch_is_told_with_what_it_did_and_cost(bench: Bench) -> None:
    effects = {"EFFECTS": str(bench.folder / "effects")}
    with ModelServer(refunding) as server:
        parent = bench.record(TOOLS, env={**settings(server), **effects}).path.stem
        done = fork(bench, f"{parent}@1", "--n", "2", server=server, **effects)
        told = fork(bench, f"{parent}@1", "--json", server=server, **effects)
    assert done.status == told.status == 0, done.stderr + told.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[0].split()[:6] == ["RUN", "OUTCOME", "STEPS", "TOKENS", "DOLLARS", "FIRST"]
    assert [line for line in lines if line.startswith("    tool:refund: refused")] == ["    tool:refund: refused"] * 2
    rows = [line for line in lines if line.startswith("agent-")]
    assert len(rows) == 2
    assert all("  ok " in row and "  step 1: event, __main__" in row for row in rows)
    assert lines[-1].startswith("2 branches: 2 ok; about $0.")

    (one,) = json.loads(told.stdout)
    assert one["hazards"]["tool:refund"] == {"done": 0, "from_tape": 0, "refused": 1}
    assert one["asked"]["calls"] == one["steps"] == 2
    assert one["asked"]["dollars"] > 0
    assert one["asked"]["unpriced"] == []
    assert one["first"]["difference"]["sort"] == "event"
    shown = json.loads(bench.run("-m", "reenact", "show", one["run"], "--json").stdout)
    used = shown["run"]["usage"]
    assert (one["asked"]["input"], one["asked"]["output"]) == (used["input"], used["output"])


def test_what_nobody_asked_a_model_for_costs_nothing(bench: Bench) -> None:
    (bench.folder / "answer").write_text("by hand")
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        done = fork(bench, "last@3", "--response", "answer", "--json", server=server)
        unknown = fork(bench, "last@3", "--model", "no-such-model", "--n", "2", server=server)
    (one,) = json.loads(done.stdout)
    assert (one["asked"]["calls"], one["asked"]["dollars"], one["parted"]) == (
        0,
        0,
        "step 3: answer, answer 3 to question → by hand",
    )
    assert b"and what no-such-model costs, which is not known" in unknown.stdout


def test_an_interrupt_ends_all_and_tells_what_came(bench: Bench) -> None:
    """Those under way get the signal, and close their tapes; the others do not begin."""
    reached, release = threading.Semaphore(0), threading.Event()

    def model(turn: Turn) -> Reply:
        if forked:
            reached.release()
            release.wait(PATIENCE)
        return Say("fair")

    forked: list[int] = []
    with ModelServer(model) as server:
        bench.record(CHAT.format(steps=1), env=settings(server))
        forked.append(1)
        command = ("-m", "reenact", "fork", "last@1", "--live", "--n", "7", "--name", "child")
        with bench.start(*command, env=settings(server)) as process:
            for _ in range(4):
                assert reached.acquire(timeout=PATIENCE)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=PATIENCE)
            release.set()
    assert process.returncode == 128 + signal.SIGINT, stderr.decode()
    text = stdout.decode()
    assert text.count("not started") == 4, "in three rows, and in the last line"
    assert b"Traceback" not in stderr
    runs = json.loads(bench.run("-m", "reenact", "runs", "--json").stdout)
    ends = [run["outcome"] for run in runs if run["id"].startswith("child")]
    assert len(ends) == 4
    assert "recording" not in ends
