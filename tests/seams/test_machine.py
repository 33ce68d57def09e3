"""What the machine says of itself: a replay elsewhere sees the machine of the recording."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reenact.tape.event import Kind
from tests.runs import Bench, Done, Run

PROGRAM = """
    import os, platform, socket
    from concurrent.futures import ThreadPoolExecutor
    print(platform.uname(), platform.processor(), platform.node(), platform.platform(), socket.gethostname())
    print(os.cpu_count(), sorted(os.sched_getaffinity(0)), sorted(os.sched_getaffinity(os.getpid())))
    print(getattr(os, "process_cpu_count", os.cpu_count)(), ThreadPoolExecutor()._max_workers)
    os.sched_setaffinity(0, {0, 1})
    print(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, {100_000})
    except OSError as error:
        print(error)
"""
ELSEWHERE = """#!/bin/sh
exec unshare --uts sh -c 'hostname elsewhere && exec taskset -c 0 "$@"' sh {python} "$@"
"""


@pytest.fixture
def elsewhere(bench: Bench, tmp_path: Path) -> Bench:
    """The same folder on a machine of another name, with one processor."""
    script = tmp_path / "elsewhere"
    script.write_text(ELSEWHERE.format(python=sys.executable))
    script.chmod(0o755)
    try:
        said = subprocess.check_output([script, "-c", "import os; print(os.uname().nodename)"])
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no other machine can be had here: {error}")
    assert said == b"elsewhere\n"
    if os.cpu_count() == 1:
        pytest.skip("it would have as many processors")
    return Bench(bench.folder, str(script))


def test_a_replay_elsewhere_sees_the_machine_of_the_recording(bench: Bench, elsewhere: Bench) -> None:
    assert b"elsewhere" in elsewhere.plain(PROGRAM).stdout
    run = bench.record(PROGRAM)
    assert run.status == 0, run.stderr.decode()
    assert os.uname().nodename in run.text
    Run(elsewhere, run.path, Done(run.status, run.stdout, run.stderr)).reproduced()


def test_what_platform_starts_is_no_child_of_the_agents(bench: Bench) -> None:
    program = "import platform; print([platform.processor()])"
    plain, run = bench.plain(program), bench.record(program)
    assert (run.stdout, run.stderr) == (plain.stdout, b"")
    assert not [event for event in run.tape.events if event.kind is Kind.PROCESS]
    run.reproduced()
