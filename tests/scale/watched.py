"""A command that is watched while it runs: how long it takes, and how much memory each of its processes has at most."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 900.0  # seconds after which a command is taken to hang
_EVERY = 0.005


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that is over. `stdout` is the digest of what it wrote there.

    `own` is the most memory that the command itself had, in bytes, and `below` the most that one of its children had.
    """

    status: int
    stdout: str
    stderr: str
    seconds: float
    own: int
    below: int


@dataclass(slots=True)
class _Peaks:
    root: int
    of: dict[int, int] = field(default_factory=dict)

    def look(self) -> None:
        for pid in _tree(self.root):
            self.of[pid] = max(self.of.get(pid, 0), _peak(pid))


def watched(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Ran:
    """Runs a command to its end. Fails when it hangs."""
    out, err = folder / "stdout", folder / "stderr"
    began = time.perf_counter()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
        )
        peaks = _Peaks(process.pid)
        while process.poll() is None:
            peaks.look()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_EVERY)
            if time.perf_counter() - began > PATIENCE:
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError(f"{command} hangs: {err.read_text(errors='replace')[-2000:]}")
    seconds = time.perf_counter() - began
    with out.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    below = max((peak for pid, peak in peaks.of.items() if pid != process.pid), default=0)
    told = err.read_text(encoding="utf-8", errors="replace")
    return Ran(process.returncode, digest, told, seconds, peaks.of.get(process.pid, 0), below)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  numbers
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split():
                yield from _tree(int(child))


def _peak(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
