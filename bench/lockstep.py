"""Leads several programs step by step, in turns, so that what the machine does meanwhile meets them all alike."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.launch import environment

_LOOK = 1.0  # seconds between two looks whether a program is still there


@dataclass(frozen=True, slots=True)
class Step:
    """What a step took, in ns: by the clock on the wall and of the processor, and what of both its commits took."""

    wall: int
    cpu: int
    commits: int = 0
    commits_wall: int = 0
    commits_cpu: int = 0


class Program:
    """A program that is led through `bench.agents.pace.Pace`; the folder of its pipes comes after `command`."""

    def __init__(self, command: Sequence[str], folder: Path, words: Sequence[str]) -> None:
        folder.mkdir(parents=True)
        self._log = folder / "log"
        for name in ("go", "done"):
            os.mkfifo(folder / name)
        # Opened for both directions, so that opening waits for nobody
        self._go, self._done = (os.open(folder / name, os.O_RDWR) for name in ("go", "done"))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [*command, str(folder), *words], env=environment(), cwd=folder, stdout=log, stderr=log
            )
        self.steps: list[Step] = []

    def step(self) -> None:
        """Lets it take one step, and keeps how long that took.

        Raises:
            RuntimeError: it has ended.
        """
        os.write(self._go, b"g")
        while not select.select([self._done], [], [], _LOOK)[0]:
            if self._process.poll() is not None:
                raise RuntimeError(self._failure("has ended"))
        self.steps.append(Step(*map(int, os.read(self._done, 200).split())))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        os.write(self._go, b"q")
        status = self._process.wait()
        os.close(self._go)
        os.close(self._done)
        if kind is None and status != 0:
            raise RuntimeError(self._failure(f"ended with {status}"))

    def _failure(self, what: str) -> str:
        return f"{self._process.args!r} {what}: {self._log.read_text(errors='replace')[-2000:]}"


def in_turns(programs: Mapping[str, Program], steps: int) -> dict[str, list[Step]]:
    """All take `steps` steps, one after the other, a different one first each time."""
    names = list(programs)
    for step in range(steps):
        shift = step % len(names)
        for name in names[shift:] + names[:shift]:
            programs[name].step()
    return {name: program.steps for name, program in programs.items()}
