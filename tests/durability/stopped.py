"""A recording that is stopped at one of its operations, or logged to its end; and what came of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reenact.tape.event import Kind
from reenact.tape.reader import read
from reenact.testing import ModelServer
from tests.durability import promise
from tests.durability.disk import Disk
from tests.durability.programs import Program, answer
from tests.durability.promise import Seen
from tests.durability.watch import How, Op, Watch
from tests.runs import PATIENCE, Bench, Done, settings


@dataclass(frozen=True, slots=True)
class Stop:
    """Where and how a recording is stopped: before an operation, or when a write is `half` done."""

    at: int
    how: How = How.PROCESS
    half: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it: whether it was `stopped` there, and then `resumed`; and what was wrong, if anything was."""

    stopped: bool
    resumed: bool = False
    problem: str = ""


def tried(program: Program, library: Path, folder: Path, stop: Stop) -> Tried:
    """Records in a new folder, stops it there, and checks what is left. What is wrong can be looked at there."""
    bench, watch = ready(program, library, folder)
    resumed = False
    try:
        with ModelServer(answer) as server:
            environment = settings(server) | watch.environment(stop.at, stop.how, half=stop.half)
            done = ended(bench, program.command, environment)
            assert done.status == 0 or watch.stopped, done.stderr.decode()
            stopped = watch.stopped
            watch.end()
            promise.check(bench.store.root, seen(server, done))
            if stopped and program.resumable:
                resumed = _resumes(bench, server)
    except AssertionError as error:
        return Tried(watch.stopped, resumed, f"{stop}: {error} (see {folder})")
    shutil.rmtree(folder)
    return Tried(stopped, resumed)


def _resumes(bench: Bench, server: ModelServer) -> bool:
    """Goes on with what was stopped, if it did not come to its end: it asks nothing again of which it has the answer."""
    tapes = [tape for tape in map(read, bench.store.root.glob("*.tape")) if tape.lanes and not tape.closed_by_itself]
    if not tapes:
        return False
    (tape,) = tapes
    whole = sum(event.complete for event in tape.events if event.kind is Kind.HTTP)
    before = len(server.requests)
    done = ended(bench, ("-m", "reenact", "resume", "--retry", "--quiet", tape.path.stem), settings(server))
    assert done.status == 0, f"it cannot be resumed: {done.stderr.decode()}"
    said = seen(server, done)
    assert len(said.answered) == 3, f"resumed, it said {done.stdout!r}"
    assert len(said.asked) - before == 3 - whole, f"{whole} of 3 answers were on tape"
    promise.check(bench.store.root, said)
    return True


@dataclass(frozen=True, slots=True)
class Logged:
    """A recording that came to its end: what the world saw of it, all that it did, and the disk as it was before."""

    seen: Seen
    ops: Sequence[Op]
    disk: Disk


def logged(program: Program, library: Path, folder: Path) -> Logged:
    """Records in a new folder, checks it, and lists what was done."""
    bench, watch = ready(program, library, folder)
    disk = Disk(bench.folder)
    with ModelServer(answer) as server:
        done = ended(bench, program.command, settings(server) | watch.environment())
    assert done.status == 0, done.stderr.decode()
    said, ops = seen(server, done), watch.ops()
    promise.check(bench.store.root, said)
    assert len(said.asked) == len(said.answered) == 3
    assert len(ops) == watch.count
    return Logged(said, ops, disk)


def ready(program: Program, library: Path, folder: Path) -> tuple[Bench, Watch]:
    """A new project with the program, whose files are watched."""
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "agent.py").write_text(program.source, encoding="utf-8")
    bench = Bench(project)
    bench.store.root.rmdir()  # it is made by the recording, and may be lost with it
    return bench, Watch(library, project, folder)


def ended(bench: Bench, command: Sequence[str], environment: dict[str, str]) -> Done:
    """A command that is over, and with it whoever has gone on without it."""
    with bench.start(*command, env=environment) as process:
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"{command} hangs") from None
    return Done(process.returncode, stdout, stderr)


def seen(server: ModelServer, done: Done) -> Seen:
    """What the world has seen of a run."""
    return promise.seen([request.body for request in server.requests], done.stdout)
