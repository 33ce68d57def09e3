"""How an agent is led step by step from outside, so that several can take turns: two named pipes."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

UNLED = "-"


def _untouched(name: str) -> ModuleType:
    """A second copy of a built-in module: its functions are the machine's, whether the program is recorded or not."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None  # noqa: PT018, S101  it is built in
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_TIME = _untouched("time")


def clocks() -> tuple[int, int]:
    """By the clock on the wall, and by that of this thread's use of the processor, in ns."""
    return _TIME.perf_counter_ns(), _TIME.thread_time_ns()


def since(began: tuple[int, int]) -> tuple[int, int]:
    """What has passed on both clocks."""
    now = clocks()
    return now[0] - began[0], now[1] - began[1]


class Ledger:
    """What the durable commits of a program have cost so far, where somebody keeps count."""

    count = wall = cpu = 0

    @classmethod
    def enter(cls, wall: int, cpu: int) -> None:
        """A commit took that long."""
        cls.count += 1
        cls.wall += wall
        cls.cpu += cpu

    @classmethod
    def told(cls) -> tuple[int, int, int]:
        """Number, ns on the wall, ns of the processor."""
        return cls.count, cls.wall, cls.cpu


class Pace:
    """Waits for a byte on the pipe `go` of a folder before each step, and tells on `done` what it took.

    That is five numbers: ns on the wall and of the processor, and commits with the ns of both that were theirs.
    Without a folder (`-`) the agent goes at its own pace.
    """

    def __init__(self, folder: str) -> None:
        self.led = folder != UNLED
        self._go = os.open(Path(folder) / "go", os.O_RDONLY) if self.led else -1
        self._done = os.open(Path(folder) / "done", os.O_WRONLY) if self.led else -1
        self._began = (0, 0)
        self._before = Ledger.told()

    def steps(self, count: int) -> Iterator[int]:
        """The numbers of the steps, each when it is its turn."""
        for step in range(count):
            if self.led and os.read(self._go, 1) != b"g":
                return
            yield step

    def start(self) -> None:
        """What is measured begins."""
        self._before = Ledger.told()
        self._began = clocks()

    def stop(self) -> None:
        """What is measured is over."""
        took = since(self._began)
        commits = (now - before for now, before in zip(Ledger.told(), self._before, strict=True))
        if self.led:
            os.write(self._done, b"%d %d %d %d %d\n" % (*took, *commits))
