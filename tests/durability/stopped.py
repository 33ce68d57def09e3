"""A recording that is stopped at one of its operations, or logged to its end; and what came of it."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from reenact.testing import ModelServer
from tests.durability.disk import Disk
from tests.durability.programs import Program, answer
from tests.durability.promise import Seen, seen
from tests.durability.watch import How, Op, Watch
from tests.runs import PATIENCE, Bench, settings


@dataclass(frozen=True, slots=True)
class Stop:
    """Where and how a recording is stopped: before an operation, or when a write is `half` done."""

    at: int
    how: How = How.PROCESS
    half: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """A recording that is over: whether it was `stopped`, and what the world saw of it before."""

    store: Path
    stopped: bool
    count: int
    seen: Seen


def stopped(program: Program, library: Path, folder: Path, stop: Stop) -> Ran:
    """Records in a new folder, and stops it there."""
    bench, watch = _ready(program, library, folder)
    return _ran(program, bench, watch, watch.environment(stop.at, stop.how, half=stop.half))


@dataclass(frozen=True, slots=True)
class Logged:
    """A recording that came to its end, with all that it did, and the disk as it was before."""

    ran: Ran
    ops: list[Op]
    disk: Disk


def logged(program: Program, library: Path, folder: Path) -> Logged:
    """Records in a new folder, and lists what was done."""
    bench, watch = _ready(program, library, folder)
    disk = Disk(bench.folder)
    ran = _ran(program, bench, watch, watch.environment())
    return Logged(ran, watch.ops(), disk)


def _ready(program: Program, library: Path, folder: Path) -> tuple[Bench, Watch]:
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "agent.py").write_text(program.source, encoding="utf-8")
    bench = Bench(project)
    bench.store.root.rmdir()  # it is made by the recording, and may be lost with it
    return bench, Watch(library, project, folder)


def _ran(program: Program, bench: Bench, watch: Watch, environment: dict[str, str]) -> Ran:
    with ModelServer(answer) as server:
        with bench.start(*program.command, env=settings(server) | environment) as process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE)  # of whoever goes on, too
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        asked = [request.body for request in server.requests]
    assert process.returncode == 0 or watch.stopped, stderr.decode()
    return Ran(bench.store.root, watch.stopped, watch.count, seen(asked, stdout))
