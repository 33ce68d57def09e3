"""What a recording is put under, and what comes of it: next to the same program without us, a row of a table each."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reenact.tape.reader import read
from reenact.testing import ModelServer, Say
from tests.runs import Bench, environment, settings
from tests.scale import programs
from tests.scale.server import Server
from tests.scale.watched import Ran, watched

MIB = 1 << 20
CLOSED_OFF = Path(__file__).with_name("closed_off.py")
SHIM = Path(__file__).with_name("clock.c")
INCOMPLETE = "the tape is incomplete"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it: bytes of an exchange and of output, steps, requests at once, recorders, bytes of a small disk."""

    exchange: int
    steps: int
    at_once: int
    recorders: int


LONG = Size(exchange=200 * MIB, steps=10_000, at_once=1000, recorders=8)
SHORT = Size(exchange=24 * MIB, steps=60, at_once=100, recorders=3)


@dataclass(slots=True)
class Row:
    """One case. `memory` is the most that each process had, in bytes; `wrong` is what must not be, and is."""

    what: str
    bare: float = 0.0
    recorded: float = 0.0
    memory: dict[str, int] = field(default_factory=dict)
    outcome: str = ""
    wrong: list[str] = field(default_factory=list)

    def expect(self, true: object, what: str) -> None:
        """It is wrong if that is not so."""
        if not true:
            self.wrong.append(what)

    def same(self, bare: Ran, recorded: Ran) -> None:
        """The program has said and done the same, and ended so."""
        self.bare, self.recorded = bare.seconds, recorded.seconds
        self.memory |= {"bare": bare.own, "recorded": recorded.below, "recorder": recorded.own}
        self.expect(bare.stdout == recorded.stdout, "another output")
        self.expect(bare.status == recorded.status, f"exit status {recorded.status}, and {bare.status} without us")
        self.expect("Traceback" not in recorded.stderr, f"a traceback: {recorded.stderr[-2000:]}")


class Place:
    """A folder of one case, with its store."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.bench = Bench(folder)
        self.folder = folder

    def bare(self, program: str, *args: object, env: dict[str, str]) -> Ran:
        """The program without us. What it makes is gone when it is recorded."""
        words = [sys.executable, self.bench.write(program), *map(str, args)]
        before = {*self.folder.iterdir()}
        ran = watched(words, self.folder, environment(self.folder, env))
        for made in {*self.folder.iterdir()} - before:
            made.unlink()
        return ran

    def recorded(self, program: str, *args: object, env: dict[str, str], store: Path | None = None) -> Ran:
        """The same, recorded."""
        words = ["record", "--quiet", "--store", str(store or self.bench.store.root), self.bench.write(program)]
        return self.reenact(*words, *map(str, args), env=env)

    def reenact(self, *words: str, env: dict[str, str] | None = None) -> Ran:
        """A command of ours."""
        command = [sys.executable, "-m", "reenact", *words]
        return watched(command, self.folder, environment(self.folder, env))

    def check(self, row: Row, *, whole: bool = True) -> None:
        """What can be read of the one tape of the store: fsck, show, and, if it holds all of the run, verify."""
        fsck = self.reenact("fsck", "last")
        row.expect(fsck.status == 0, f"fsck: {fsck.stderr}")
        show = self.reenact("show", "last")
        row.expect(show.status == 0, f"show: {show.stderr}")
        row.memory |= {"fsck": fsck.own, "show": show.own}
        if whole:
            verify = self.reenact("verify", "last")
            row.expect(verify.status == 0, f"verify: {verify.stderr}")
            row.memory |= {"verify": verify.own, "replay": verify.below}
        row.outcome = row.outcome or ("same, and verified" if whole else "same")


Case = Callable[[Path, Size], Row]


def a_long_answer(how: str) -> Case:
    def case(folder: Path, size: Size) -> Row:
        row, place = Row(f"an answer of {size.exchange // MIB} MiB, streamed ({how})"), Place(folder)
        with Server() as server:
            env = {"URL": server.url}
            row.same(
                place.bare(programs.DOWN, size.exchange, how, env=env),
                place.recorded(programs.DOWN, size.exchange, how, env=env),
            )
        place.check(row)
        row.expect(row.memory["recorded"] - row.memory["bare"] < 64 * MIB, "it is held")
        row.expect(row.memory["recorder"] < 128 * MIB, "who closes the tape holds it")
        return row

    return case


def an_answer_that_is_held(folder: Path, size: Size) -> Row:
    row, place = Row(f"an answer of {size.exchange // MIB} MiB, held by the program"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        row.same(
            place.bare(programs.HELD, size.exchange, env=env), place.recorded(programs.HELD, size.exchange, env=env)
        )
    place.check(row)
    row.expect(row.memory["recorded"] - row.memory["bare"] < 64 * MIB, "it is held twice")
    return row


def a_long_request(folder: Path, size: Size) -> Row:
    row, place = Row(f"a request of {size.exchange // MIB} MiB"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        row.same(place.bare(programs.UP, size.exchange, env=env), place.recorded(programs.UP, size.exchange, env=env))
    place.check(row)
    row.expect(row.memory["recorded"] - row.memory["bare"] < size.exchange + 64 * MIB, "it is held twice")
    return row


def much_output(folder: Path, size: Size) -> Row:
    row, place = Row(f"output of {size.exchange // MIB} MiB"), Place(folder)
    row.same(place.bare(programs.OUT, size.exchange, env={}), place.recorded(programs.OUT, size.exchange, env={}))
    place.check(row)
    row.expect(row.memory["recorded"] - row.memory["bare"] < 64 * MIB, "it is held")
    return row


def many_steps(folder: Path, size: Size) -> Row:
    row, place = Row(f"a run of {size.steps:,} steps"), Place(folder)
    with ModelServer(lambda turn: Say(f"answer to {turn.prompt[:40]}, which is long enough to be one")) as server:
        env = settings(server)
        row.same(place.bare(programs.STEPS, size.steps, env=env), place.recorded(programs.STEPS, size.steps, env=env))
    place.check(row)
    row.expect(row.memory["recorded"] - row.memory["bare"] < 64 * MIB, "its memory grows with its steps")
    return row


def many_at_once(program: str, what: str) -> Case:
    def case(folder: Path, size: Size) -> Row:
        row, place = Row(f"{size.at_once:,} requests at once, {what}"), Place(folder)
        with Server() as server:
            env = {"URL": server.url}
            row.same(place.bare(program, size.at_once, env=env), place.recorded(program, size.at_once, env=env))
        place.check(row)
        return row

    return case


def recorders_at_once(folder: Path, size: Size) -> Row:
    row, place = Row(f"{size.recorders} recorders on one store"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        bare = place.bare(programs.ASKING, 20, 5000, env=env)
        program = place.bench.write(programs.ASKING)
        command = [sys.executable, "-m", "reenact", "record", "--quiet", program, "20", "5000"]
        given = {"cwd": folder, "env": environment(folder, env), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running = [subprocess.Popen(command, **given) for _ in range(size.recorders)]  # type: ignore[call-overload]
        done = [process.communicate(timeout=300) for process in running]
    row.bare = bare.seconds
    row.expect({process.returncode for process in running} == {bare.status}, "another exit status")
    row.expect(len({stdout for stdout, _ in done}) == 1, "another output")
    row.expect(not any(stderr for _, stderr in done), f"{done}")
    row.expect(len(place.bench.store.ids()) == size.recorders, "not a tape of each")
    verified = [place.reenact("verify", run).status for run in place.bench.store.ids()]
    row.expect(set(verified) == {0}, "not all verify")
    row.outcome = "a tape of each, all verified"
    return row


# What goes wrong with the disk


def a_full_disk(folder: Path, _size: Size) -> Row:
    row, place = Row("a disk that is full in the midst of it, for good"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        bare = place.bare(programs.ASKING, 40, 200_000, env=env)
        off = _closed_off(
            place, env, _Disk(3 * MIB), [["record", "--quiet", "agent.py", "40", "200000"], ["show", "last"]]
        )
    row.expect((off[0].status, off[0].stdout) == (bare.status, bare.stdout), "another output or exit status")
    row.expect("disk is full" in off[0].stderr, f"it is not told: {off[0].stderr}")
    row.expect("Traceback" not in off[0].stderr, off[0].stderr)
    row.expect("fsck" in off[0].stderr, "what to do is not told")
    row.expect(off[1].status == 0, f"what was written cannot be read: {off[1].stderr}")
    row.outcome = off[0].stderr.strip()
    return row


def a_disk_that_is_full_for_a_while(folder: Path, _size: Size) -> Row:
    row, place = Row("a disk that was full, and is not when the tape is closed"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        bare = place.bare(programs.ASKING, 40, 200_000, env=env)
        steps = [["record", "--quiet", "agent.py", "40", "200000"], ["fsck", "last"], ["verify", "last"], ["runs"]]
        off = _closed_off(place, env, _Disk(14 * MIB, fill=11 * MIB, freed_before=1), steps)
    row.expect((off[0].status, off[0].stdout) == (bare.status, bare.stdout), "another output or exit status")
    row.expect("Traceback" not in off[0].stderr, off[0].stderr)
    row.expect(off[1].status == 0, f"fsck: {off[1].stderr}")
    row.expect(off[2].status == 0, f"verify of what there is: {off[2].stderr}")
    row.outcome = f"{off[0].stderr.strip()} | fsck closes it, and what is there verifies"
    return row


def a_disk_that_is_full_from_the_start(folder: Path, _size: Size) -> Row:
    row, place = Row("a disk that is full before it begins"), Place(folder)
    off = _closed_off(place, {"URL": ""}, _Disk(8 * 4096, fill=8 * 4096), [["record", "agent.py", "1", "1"]])
    row.expect(off[0].status == 2, f"exit status {off[0].status}")
    row.expect("cannot make a tape" in off[0].stderr and "Traceback" not in off[0].stderr, off[0].stderr)
    row.outcome = "exit 2, nothing is run: " + off[0].stderr.splitlines()[0] if off[0].stderr else ""
    return row


def a_read_only_store(folder: Path, _size: Size) -> Row:
    row, place = Row("a store that is read-only"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        record = ["record", "--quiet", "agent.py", "3", "10"]
        steps = [record, record, ["show", "last"], ["fsck", "last"], ["verify", "last"], ["runs"]]
        off = _closed_off(place, env, _Disk(30 * MIB, readonly_from=1), steps)
    row.expect(off[0].status == 3, f"exit status {off[0].status}: {off[0].stderr}")
    row.expect(off[1].status == 2 and "cannot make a tape" in off[1].stderr, off[1].stderr)
    for step, done in zip(steps[2:], off[2:], strict=True):
        row.expect(done.status == 0, f"{step[0]}: {done.stderr}")
    row.outcome = f"exit 2, nothing is run: {off[1].stderr.splitlines()[0]} Its tapes are read as ever"
    return row


def a_limit_on_files(folder: Path, _size: Size) -> Row:
    row, place = Row("a program that limits the size of files (RLIMIT_FSIZE)"), Place(folder)
    with Server() as server:
        env, limit = {"URL": server.url}, 600_000
        row.same(
            place.bare(programs.LIMITED, limit, env=env), recorded := place.recorded(programs.LIMITED, limit, env=env)
        )
    row.expect("incomplete" in recorded.stderr, f"it is not told: {recorded.stderr}")
    place.check(row, whole=False)
    row.outcome = recorded.stderr.strip()
    return row


def a_store_that_is_removed(folder: Path, _size: Size) -> Row:
    row, place = Row("a store that is removed in the midst of it"), Place(folder)
    with Server() as server:
        bare = place.bare(programs.ASKING, 20, 5000, env={"URL": server.url})
    root = place.bench.store.root
    with Server(lambda number: shutil.rmtree(root) if number == 10 else None) as server:
        recorded = place.recorded(programs.ASKING, 20, 5000, env={"URL": server.url})
    row.same(bare, recorded)
    row.expect("was removed" in recorded.stderr, f"it is not told: {recorded.stderr}")
    row.outcome = recorded.stderr.strip()
    return row


# What the program does


def forks(folder: Path, _size: Size) -> Row:
    row, place = Row("a program that forks, also while it asks"), Place(folder)
    with Server() as server:
        env = {"URL": server.url}
        row.same(place.bare(programs.FORKS, env=env), place.recorded(programs.FORKS, env=env))
    place.check(row, whole=False)
    return row


def closes(how: str) -> Case:
    def case(folder: Path, _size: Size) -> Row:
        row, place = Row(f"a program that closes descriptors ({how})"), Place(folder)
        with Server() as server:
            env = {"URL": server.url}
            row.same(
                place.bare(programs.CLOSES, how, env=env), recorded := place.recorded(programs.CLOSES, how, env=env)
            )
        if how == "in C":
            row.expect("the tape ends here" in recorded.stderr, f"it is not told: {recorded.stderr}")
        place.check(row, whole=how not in ("in C", "by another"))
        return row

    return case


def a_clock_that_goes_back(folder: Path, _size: Size) -> Row:
    row, place = Row("a clock that is set back by a day"), Place(folder)
    shim = folder / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", shim, SHIM], check=True, capture_output=True)
    with Server() as server:
        env = {"URL": server.url, "LD_PRELOAD": str(shim), "JUMPED": str(folder / "jumped")}
        bare = place.bare(programs.CLOCKS, env=env)
        first = place.recorded(programs.CLOCKS, env=env)

        # the clock stays where it is, so this one begins a day before the first
        second = place.recorded(programs.CLOCKS, env=env)
    row.same(bare, first)
    row.expect(second.status == 0, second.stderr)
    for run in place.bench.store.ids():
        row.expect(place.reenact("fsck", run).status == 0, "fsck")
    tapes = [read(place.bench.store.path(run)) for run in place.bench.store.ids()]
    row.expect(all(event.ended is None or event.ended >= event.at for tape in tapes for event in tape.events), "times")
    verified = place.reenact("verify", "last")
    row.expect(verified.status == 0, verified.stderr)
    runs = place.reenact("runs", "--json")
    row.expect(runs.status == 0, runs.stderr)
    row.outcome = "same; each verifies; durations are by the monotonic clock"
    return row


CASES: dict[str, Case] = {
    "answer-httpx": a_long_answer("httpx"),
    "answer-httpx-async": a_long_answer("httpx, async"),
    "answer-requests": a_long_answer("requests"),
    "answer-aiohttp": a_long_answer("aiohttp"),
    "answer-streams": a_long_answer("asyncio's streams"),
    "answer-urllib": a_long_answer("urllib"),
    "held": an_answer_that_is_held,
    "request": a_long_request,
    "output": much_output,
    "steps": many_steps,
    "tasks": many_at_once(programs.TASKS, "asyncio"),
    "threads": many_at_once(programs.THREADS, "threads"),
    "recorders": recorders_at_once,
    "full": a_full_disk,
    "full-for-a-while": a_disk_that_is_full_for_a_while,
    "full-at-first": a_disk_that_is_full_from_the_start,
    "read-only": a_read_only_store,
    "limit": a_limit_on_files,
    "removed": a_store_that_is_removed,
    "forks": forks,
    "closes-range": closes("a range"),
    "closes-all": closes("all"),
    "closes-each": closes("one by one"),
    "closes-in-c": closes("in C"),
    "closes-over": closes("by another"),
    "clock": a_clock_that_goes_back,
}


@dataclass(frozen=True, slots=True)
class _Disk:
    """A disk of so many `bytes`. `fill` of them are taken at first, until that command, and it may become read-only."""

    bytes: int
    fill: int = 0
    freed_before: int = -1
    readonly_from: int = -1


@dataclass(frozen=True, slots=True)
class _Off:
    status: int
    stdout: str
    stderr: str


def _closed_off(place: Place, env: dict[str, str], disk: _Disk, commands: list[list[str]]) -> list[_Off]:
    """Commands of ours whose store is on that disk."""
    place.bench.write(programs.ASKING)
    root = place.bench.store.root
    steps = []
    for at, words in enumerate(commands):
        argv = [sys.executable, "-m", "reenact", words[0], "--store", str(root), *words[1:]]
        step = {"argv": argv, "out": str(place.folder / f"out-{at}"), "err": str(place.folder / f"err-{at}")}
        if disk.fill and not at:
            step["fill"] = [str(root / "filler"), disk.fill]  # type: ignore[assignment]
        if at == disk.freed_before:
            step["remove"] = str(root / "filler")
        if disk.readonly_from >= 0:
            step["readonly"] = at >= disk.readonly_from  # type: ignore[assignment]
        steps.append(step)
    plan = place.folder / "plan.json"
    plan.write_text(json.dumps({"folder": str(root), "bytes": disk.bytes, "steps": steps}), encoding="utf-8")
    command = [sys.executable, str(CLOSED_OFF), str(plan)]
    done = subprocess.run(
        command, cwd=place.folder, env=environment(place.folder, env), capture_output=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr.decode()
    statuses = json.loads(done.stdout)
    return [
        _Off(
            status,
            hashlib.sha256(Path(step["out"]).read_bytes()).hexdigest(),
            Path(step["err"]).read_text(encoding="utf-8", errors="replace"),
        )
        for status, step in zip(statuses, steps, strict=True)
    ]
