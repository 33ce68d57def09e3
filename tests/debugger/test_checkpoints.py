"""Checkpoints hold the exact state: of variables, files and event loops, in any order of visits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from bisect import bisect
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from reenact.debugger import timeline as timelines
from reenact.debugger.process import AskError, Checkpoint
from reenact.debugger.timeline import Timeline
from reenact.engine.session import Session
from reenact.probe.checkpoint import MOST, Checkpoints
from reenact.probe.link import Link
from reenact.probe.messages import Moment, Question, Stopped, Stops, Watch
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from tests.runs import Bench

WRITES = """
    import os, reenact, random, sys

    @reenact.tool
    def call(n):
        return random.random()

    def main(steps):
        seen, log = [], open("log", "w+")
        for n in range(steps):
            seen.append(call(n))
            log.write(f"{n} {seen[-1]}\\n")
            log.flush()
            if n % 3 == 0:
                with open(f"part{n % 2}", "w") as file:
                    file.write(str(seen))
            if n % 5 == 4 and os.path.exists("part0"):
                os.replace("part0", "moved")
            if n % 7 == 6 and os.path.exists("moved"):
                os.remove("moved")
            if n % 4 == 0:
                os.makedirs(f"folder{n}/deeper", exist_ok=True)
            if n % 8 == 7:
                os.rmdir(f"folder{n - 3}/deeper")
        print(len(seen), sorted(os.listdir(".")))

    main(int(sys.argv[1]))
"""
LOOPS = """
    import asyncio, random, reenact, sys

    @reenact.tool
    async def call(n):
        await asyncio.sleep(0.001 * (n % 3))
        return random.random()

    async def work(seen, n):
        found = await call(n)
        seen.append((n, found))
        return found

    async def main(rounds):
        seen, total = [], 0.0
        for round in range(rounds):
            total += sum(await asyncio.gather(*(work(seen, 4 * round + n) for n in range(4))))
            await asyncio.sleep(0.002)
        print(len(seen), total)

    asyncio.run(main(int(sys.argv[1])))
"""
IDLE = """
    import asyncio, random, reenact, sys, time

    @reenact.tool
    async def call(n):
        return n / 2

    def slow(n):
        time.sleep(0.001)
        return n + random.random()

    async def main(rounds):
        seen = [await asyncio.to_thread(slow, 0)]
        for n in range(rounds):
            seen.append(await call(n))
            if n % 5 == 3:
                seen += await asyncio.gather(*(asyncio.to_thread(slow, m) for m in range(3)))
        print(seen)

    asyncio.run(main(int(sys.argv[1])))
"""
POOL = """
    import random, reenact, sys
    from concurrent.futures import ThreadPoolExecutor

    @reenact.tool
    def call(n):
        return random.random()

    def main(rounds):
        seen = []
        with ThreadPoolExecutor(2) as pool:
            for n in range(rounds):
                seen += pool.map(lambda n: call(n), (2 * n, 2 * n + 1))
        print(seen)

    main(int(sys.argv[1]))
"""
EVERY = """
    ({path: path.read_text() if path.is_file() else None
      for path in sorted(__import__('pathlib').Path('.').rglob('*')) if not path.parts[0].startswith('.')}, log.tell())
"""


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints lie close together, and each run has many."""
    monkeypatch.setattr(timelines, "SPACING", 100_000)
    monkeypatch.setattr(timelines, "NEAR", 100_000)


def recorded(bench: Bench, program: str, steps: int) -> Recording:
    return read(bench.record(program, str(steps)).path)


def own(timeline: Timeline) -> list[tuple[str, int, dict[str, str]]]:
    """Where the agent's functions are, with what their variables hold."""
    frames = timeline.ask("stack", kind=list[dict[str, object]])
    return [
        (str(one["function"]), int(str(one["line"])), timeline.ask("locals", one["number"], kind=dict[str, str]))
        for one in frames
        if one["own"] and not str(one["function"]).endswith("<module>")
    ]


def where(timeline: Timeline) -> tuple[object, ...]:
    told = timeline.told
    assert isinstance(told, Stopped)
    return told.moment, told.lane, told.place, told.call, own(timeline)


def far_apart(count: int, most: int) -> Iterator[int]:
    """So many numbers from 1 to `most`, one never near the one before."""
    return (1 + turn * 7_919 % most for turn in range(count))


@pytest.mark.parametrize("program", [WRITES, LOOPS, IDLE], ids=["files", "tasks", "idle workers"])
def test_all_jumps_come_to_what_running_again_comes_to(bench: Bench, program: str) -> None:
    recording = recorded(bench, program, 8 if program is LOOPS else 30)
    with Timeline(recording, checkpoints=False) as again:
        truth = {}
        events = int(again.forward(Stops()).moment.event)
        for event in range(1, events + 1, 3):
            again.seek(Moment(event))
            truth[event] = where(again)
        assert again.checkpoints == []
    with Timeline(recording) as timeline:
        timeline.forward(Stops())
        assert len(timeline.checkpoints) > 5
        assert timeline.checkpoints[-1].event > events / 2
        for goal in far_apart(40, len(truth)):
            event = sorted(truth)[goal - 1]
            timeline.seek(Moment(event))
            assert where(timeline) == truth[event]
        timeline.seek(Moment(5))
        assert timeline.forward(Stops()).divergences == []  # type: ignore[union-attr]  # it has ended


def test_a_watch_sees_what_others_do_while_its_own_task_waits(bench: Bench) -> None:
    appends = 1 + LOOPS.splitlines().index("        seen.append((n, found))")
    with Timeline(recorded(bench, LOOPS, 6)) as timeline:
        timeline.forward(Stops())
        for event in (22, 9, 15, 6):
            timeline.seek(Moment(event))
            told = timeline.back(Stops(watches=[Watch("len(seen)", "__main__:main", "0.1")]))
            assert isinstance(told, Stopped)
            assert told.hit is not None
            assert told.hit.place is not None
            assert (told.hit.place.line, told.hit.place.function) == (appends, "__main__:work")
            before, after = map(int, told.hit.text.split(" → "))
            assert after == before + 1


def test_files_are_as_they_were_at_each_moment(bench: Bench) -> None:
    recording = recorded(bench, WRITES, 30)
    with Timeline(recording) as timeline:
        truth = {}
        for event in range(1, 31):
            timeline.seek(Moment(event))
            truth[event] = files(timeline)
        assert len({repr(found) for found in truth.values()}) > 20
        for event in far_apart(60, 30):
            timeline.seek(Moment(event))
            assert files(timeline) == truth[event], event


def files(timeline: Timeline) -> str:
    frames = timeline.ask("stack", kind=list[dict[str, object]])
    number = next(one["number"] for one in frames if str(one["function"]).endswith(":main"))
    return timeline.ask("evaluate", " ".join(f"repr(hash(repr({EVERY.strip()})))".split()), number, kind=str)


def test_what_is_evaluated_leaves_no_trace_and_reaches_nothing_outside(bench: Bench) -> None:
    with Timeline(recorded(bench, WRITES, 10)) as timeline:
        timeline.seek(Moment(4))
        before = where(timeline)
        frames = timeline.ask("stack", kind=list[dict[str, object]])
        number = next(one["number"] for one in frames if str(one["function"]).endswith(":main"))
        assert timeline.ask("evaluate", "(seen.append('x'), len(seen))[1]", number, kind=str) == "4"
        assert timeline.ask("evaluate", "len(seen)", number, kind=str) == "3"
        assert where(timeline) == before
        assert timeline.ask("evaluate", "(log.write('mine'), log.flush(), log.tell())[2]", number, kind=str) > "4"
        assert timeline.ask("evaluate", "(log.seek(0), log.read().count('mine'))[1]", number, kind=str) == "0"
        assert where(timeline) == before
        for text in (
            "os.system('true')",
            "os.remove('log')",
            "open('new', 'w')",
            "__import__('socket').create_server(('', 0))",
        ):
            with pytest.raises(AskError, match="outside of the program"):
                timeline.ask("evaluate", text, number, kind=str)
        with pytest.raises(AskError, match="ended its process"):
            timeline.ask("evaluate", "__import__('ctypes').string_at(0)", number, kind=str)
        assert timeline.ask("evaluate", "len(seen)", number, kind=str) == "3"
        assert timeline.forward(Stops()).divergences == []  # type: ignore[union-attr]  # it has ended


def test_with_threads_it_runs_again_and_says_why(bench: Bench) -> None:
    with Timeline(recorded(bench, POOL, 6)) as timeline:
        told = timeline.seek(Moment(9))
        assert isinstance(told, Stopped)
        assert "more than one thread" in told.obstacle
        there = where(timeline)
        timeline.seek(Moment(3))
        assert where(timeline) != there
        timeline.seek(Moment(9))
        assert where(timeline) == there
        number = next(one["number"] for one in timeline.ask("stack", kind=list[dict[str, object]]) if one["own"])
        timeline.ask("evaluate", "globals().update(call=None)", number, kind=str)  # which spoils this process
        assert timeline.forward(Stops()).divergences == []  # type: ignore[union-attr]


def test_when_they_are_too_many_the_one_goes_that_is_missed_least(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timelines, "MOST", 10)
    monkeypatch.setattr(timelines, "STOOD", 100)
    gone: list[Checkpoint] = []
    monkeypatch.setattr(Checkpoint, "end", lambda self, end=Checkpoint.end: (gone.append(self), end(self)))
    with Timeline(recorded(bench, WRITES, 30)) as timeline:
        timeline.forward(Stops())
        held = [one.spent for one in timeline._checkpoints]
        assert len(gone) > 5
        at = bisect(held, gone[-1].spent)
        assert held[at] - held[at - 1] <= min(after - before for before, after in zip(held, held[2:], strict=False))
        before = len(gone)
        for event in far_apart(20, 30):
            assert len(timeline.checkpoints) == 10
            assert timeline.seek(Moment(event)).moment == Moment(event)
        assert len(gone) > before  # for those that have stood where somebody was


def test_when_memory_is_scarce_more_go_than_come(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "available", lambda: 0.1)
    with Timeline(recorded(bench, WRITES, 30)) as timeline:
        timeline.forward(Stops())
        assert 1 < len(timeline.checkpoints) <= 8
        for event in far_apart(20, 30):
            assert timeline.seek(Moment(event)).moment == Moment(event)


@pytest.mark.parametrize(("way", "apart"), [(1.0, 0.02), (100.0, 100 / MOST)])
def test_on_a_long_way_they_lie_farther_apart(way: float, apart: float) -> None:
    link, theirs = Link[Question].pair(Question)
    os.close(theirs)
    checkpoints = Checkpoints(cast("Session", None), link, None)
    checkpoints._spent = int(way * 1e9)
    checkpoints._last = checkpoints.spent - int(0.9 * apart * 1e9)
    assert not checkpoints.due(20_000_000)
    checkpoints._last = checkpoints.spent - int(1.1 * apart * 1e9)
    assert checkpoints.due(20_000_000)
    link.close()


@pytest.mark.parametrize("meets", ["lambda *_: print('met')", "signal.SIG_IGN"], ids=["hears", "ignores"])
def test_what_goes_on_has_no_children_and_is_no_copy_of_a_checkpoint(bench: Bench, meets: str) -> None:
    program = WRITES.replace("def main", f"import signal\n    signal.signal(signal.SIGCHLD, {meets})\n\n    def main")
    with Timeline(recorded(bench, program, 30)) as timeline:
        for event in (29, 12, 28):
            assert getattr(timeline.seek(Moment(event)), "obstacle", None) == ""
            number = next(one["number"] for one in timeline.ask("stack", kind=list[dict[str, object]]) if one["own"])
            assert timeline.ask("evaluate", "1 + 1", number, kind=str) == "2"
            present = timeline._at.pid
            assert Path(f"/proc/{present}/task/{present}/children").read_text() == ""
            assert {int(of(present, name), 16) for name in ("SigPnd", "ShdPnd")} == {0}
            if event == 29:
                first, *others = [checkpoint.pid for checkpoint in timeline._checkpoints]
                assert len(others) > 5
                assert {int(of(pid, "PPid")) for pid in others} == {first}
        assert timeline.forward(Stops()).divergences == []  # type: ignore[union-attr]  # it has ended


def of(pid: int, name: str) -> str:
    """What the system says of a process, by that name."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))


def test_what_stood_where_somebody_was_is_the_checkpoint_there(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "SPACING", 1_000_000_000_000)
    with Timeline(recorded(bench, WRITES, 30)) as timeline:
        truth, stood = {}, {}
        for event in (20, 10, 25):
            timeline.seek(Moment(event))
            truth[event], stood[event] = where(timeline), timeline._at.pid
        timeline.seek(Moment(1))
        assert timeline.checkpoints == [Moment(), *map(Moment, sorted(truth))]
        assert [one.pid for one in timeline._checkpoints[1:]] == [stood[event] for event in sorted(stood)]
        for event in (25, 10, 20, 10, 25):
            timeline.seek(Moment(event))
            assert where(timeline) == truth[event]
            assert timeline._at.base in timeline._checkpoints
            assert int(of(timeline._at.pid, "PPid")) == stood[event]
        assert timeline.forward(Stops()).divergences == []  # type: ignore[union-attr]  # it has ended


def test_of_the_places_where_somebody_was_the_latest_are_held(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "SPACING", 1_000_000_000_000)
    with Timeline(recorded(bench, WRITES, 30)) as timeline:
        truth = {}
        places = [20, 10, 25, 5, 15, 29, 23, 12]
        for event in places:
            timeline.seek(Moment(event))
            truth[event] = where(timeline)
        timeline.seek(Moment(1))
        assert timeline.checkpoints == [Moment(), *map(Moment, sorted(places[-timelines.STOOD :]))]
        for event in places:
            timeline.seek(Moment(event))
            assert where(timeline) == truth[event]
        assert len(timeline.checkpoints) <= 1 + timelines.STOOD


def test_a_place_that_is_near_a_checkpoint_is_not_held(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPACING", "NEAR"):
        monkeypatch.setattr(timelines, name, 1_000_000_000_000)
    with Timeline(recorded(bench, WRITES, 30)) as timeline:
        for event in (20, 10, 25, 1):
            assert timeline.seek(Moment(event)).moment == Moment(event)
        assert timeline.checkpoints == [Moment()]


def test_a_checkpoint_that_is_killed_is_not_missed(bench: Bench) -> None:
    with Timeline(recorded(bench, WRITES, 30)) as timeline:
        timeline.forward(Stops())
        timeline.seek(Moment(20))
        there = where(timeline)
        timeline.seek(Moment(1))
        for checkpoint in timeline._checkpoints:
            if checkpoint.moment > Moment(10):
                os.kill(checkpoint.pid, signal.SIGKILL)
        timeline.seek(Moment(20))
        assert where(timeline) == there


def test_no_process_stays_when_the_debugger_is_killed(bench: Bench) -> None:
    recorded(bench, WRITES, 30)
    program = f"""
        import sys
        from reenact.debugger.timeline import Timeline
        from reenact.probe.messages import Moment, Stops
        from reenact.tape.reader import read
        from reenact.tape.store import Store
        from pathlib import Path
        timeline = Timeline(read(Store(Path({str(bench.store.root)!r})).resolve("last")))
        timeline.forward(Stops())
        timeline.seek(Moment(7))
        print("ready", flush=True)
        sys.stdin.read()
    """
    bench.folder.joinpath("debugs.py").write_text("\n".join(line[8:] for line in program.splitlines()))
    with subprocess.Popen(
        [sys.executable, "debugs.py"], cwd=bench.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert len(processes_in(bench.folder)) > 2
        process.send_signal(signal.SIGKILL)
        process.wait()
        waited = time.monotonic() + 20
        while processes_in(bench.folder) and time.monotonic() < waited:
            time.sleep(0.05)
        assert processes_in(bench.folder) == []


def processes_in(folder: Path) -> list[int]:
    """Those whose working directory that is, without our own."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
    return found
