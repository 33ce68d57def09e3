"""That the library which watches a recording misses nothing: the kernel's own account of it is the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from reenact.testing import ModelServer
from tests.durability.programs import ALONE, answer
from tests.durability.watch import Kind, Watch
from tests.runs import Bench, settings

CALLS = {
    Kind.WRITE: "write writev pwrite64 pwritev pwritev2 copy_file_range sendfile fallocate",
    Kind.SYNC: "fsync fdatasync sync_file_range msync syncfs",
    Kind.TRUNCATE: "ftruncate truncate",
    Kind.RENAME: "rename renameat renameat2",
    Kind.UNLINK: "unlink unlinkat",
    Kind.MAKE_FOLDER: "mkdir mkdirat",
    Kind.REMOVE_FOLDER: "rmdir",
    Kind.UNKNOWN: "link linkat symlink symlinkat io_uring_setup",
}
KIND_OF = {call: kind for kind, calls in CALLS.items() for call in calls.split()}


def test_the_kernel_saw_the_same(watching: Path, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if (
        strace is None
        or subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("strace, which would know better, is not here or not allowed")
    (project := tmp_path / "project").mkdir()
    (project / "agent.py").write_text(ALONE.source, encoding="utf-8")
    bench, watch, trace = Bench(project), Watch(watching, project, tmp_path), tmp_path / "trace"
    bench._before = (strace, "-f", "-qq", "-y", "-s", "0", "-o", str(trace), "-e", f"trace={','.join(KIND_OF)}")
    with ModelServer(answer) as server:
        assert bench.run(*ALONE.command, env=settings(server) | watch.environment()).status == 0
    seen = Counter(op.kind for op in watch.ops() if op.kind not in (Kind.SENT, Kind.SAID, Kind.CREATE))
    assert seen == known(trace.read_text(encoding="utf-8"), project)
    assert seen[Kind.SYNC] > 5


def known(trace: str, project: Path) -> Counter[Kind]:
    """What was done below the folder, by the kernel's account."""
    calls = [re.match(r"\d+ +(\w+)\((.*)", line) for line in trace.splitlines() if str(project) in line]
    done = [call for call in calls if call is not None and not re.search(r"= -1 E", call[2])]
    return Counter(KIND_OF[call[1]] for call in done)
