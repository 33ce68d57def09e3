"""How the programs that are measured are started, and what one run of one costs as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reenact import _real

_LEFT_OUT = ("REENACT_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Ran:
    """A whole process, in ns: from before its start until its end, and of the processor, with its children."""

    wall: int
    cpu: int


def environment() -> dict[str, str]:
    """The environment of what is measured.

    It finds this package from any folder, keeps its bytecode as an ordinary Python does, and nothing asks it to record.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {**kept, "PYTHONPATH": str(_ROOT), "OPENAI_API_KEY": "any"}


def agent(name: str, *words: str) -> list[str]:
    """The command line of a program of `bench.agents`."""
    return [sys.executable, "-m", f"bench.agents.{name}", *words]


def recorded(store: Path, name: str, *words: str) -> list[str]:
    """The same, being recorded."""
    return [sys.executable, "-m", "reenact", "record", "--store", str(store), "-m", f"bench.agents.{name}", *words]


def replayed(store: Path) -> list[str]:
    """The replay of the only run in a store."""
    return [sys.executable, "-m", "reenact", "replay", "last", "--store", str(store)]


def run(command: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None) -> Ran:
    """Runs it to its end.

    Raises:
        RuntimeError: it failed.
    """
    began = _real.perf_counter_ns()
    with (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(  # noqa: S603
            command, env=environment() | dict(extra or {}), cwd=folder, stdout=subprocess.DEVNULL, stderr=errors
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        took = _real.perf_counter_ns() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"{command} ended with {process.returncode}: {errors.read()[-2000:].decode()}")
    return Ran(took, round((usage.ru_utime + usage.ru_stime) * 1e9))


def in_turns(
    commands: Mapping[str, tuple[Sequence[str], Callable[[], Mapping[str, str]]]], folder: Path, times: int
) -> dict[str, list[Ran]]:
    """Runs each of them that many times, one after the other, and once before that does not count.

    The values are a command and what gives what it has in its environment besides, each time.
    """
    found: dict[str, list[Ran]] = {name: [] for name in commands}
    for _ in range(times + 1):
        for name, (command, extra) in commands.items():
            found[name].append(run(command, folder, extra()))
    return {name: ran[1:] for name, ran in found.items()}
