"""How long it takes to go to any moment of a run, with checkpoints and without, next to a replay of all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.agents.pace import UNLED
from bench.figure import AtMost, AtMostTimes, Figure, Quantity, compared
from bench.launch import recorded, replayed, run
from bench.scale import Scale
from reenact import _real
from reenact.debugger.timeline import Timeline
from reenact.launch.settings import Settings
from reenact.probe.messages import Moment, Stops
from reenact.tape.reader import read
from reenact.tape.recording import Recording

LIMIT = AtMost(Quantity(50e6))
LIMIT_WITHOUT = AtMostTimes(1.2)
GROUP = "Going to a step"
_END = Stops()
_FAR = 6_700_417  # a prime: so many steps on from each goal, over the end and from the beginning, is the next


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures."""
    here = folder / "seek"
    here.mkdir()
    steps = scale.seek_steps
    run(recorded(here / "store", "growing", UNLED, f"{url}/json-seek/v1", str(steps), "json"), here)
    (tape,) = (here / "store").glob("*.tape")
    recording = read(tape)
    run(replayed(here / "store"), here)  # which does not count
    name = f"of {steps:,} steps"
    replays, without = _without(recording, name, lambda: run(replayed(here / "store"), here).wall, scale)
    return [*_with_checkpoints(recording, name, steps, median(replays), scale), *without]


def _with_checkpoints(recording: Recording, name: str, steps: int, replay: float, scale: Scale) -> list[Figure]:
    highs: list[float] = []
    middles: list[float] = []
    first: list[float] = []
    count = 0
    for _ in range(scale.seek_times):
        began = _real.perf_counter_ns()
        with Timeline(recording, Settings(None, {})) as timeline:
            timeline.forward(_END)
            first.append(_real.perf_counter_ns() - began)
            took = []
            for turn in range(scale.seeks):
                began = _real.perf_counter_ns()
                timeline.seek(Moment(1 + turn * _FAR % steps))
                took.append(_real.perf_counter_ns() - began)
            count = len(timeline.checkpoints)
        took.sort()
        highs.append(took[int(len(took) * 0.95)])
        middles.append(median(took))
    whole = Quantity(replay)
    high = Quantity(median(highs))
    told = f"a replay {whole}"
    return [
        compared(GROUP, f"the first pass {name}, which leaves checkpoints", Quantity(median(first)), whole, "a replay"),
        Figure(GROUP, f"{name}, any, with {count} checkpoints: p95", high, told, high.value / replay, LIMIT, (*highs,)),
        compared(GROUP, "the same: median", Quantity(median(middles)), whole, "a replay"),
    ]


def _without(
    recording: Recording, name: str, replay: Callable[[], int], scale: Scale
) -> tuple[list[int], list[Figure]]:
    """What replays took, and the figures. In turns, and before there are any copies, which take a while to be gone."""
    replays, took = [], []
    for _ in range(scale.seek_times):
        replays.append(replay())
        began = _real.perf_counter_ns()
        with Timeline(recording, Settings(None, {}), checkpoints=False) as timeline:
            timeline.forward(_END)
        took.append(_real.perf_counter_ns() - began)
    ratios = tuple(one / other for one, other in zip(took, replays, strict=True))
    told = f"a replay {Quantity(median(replays))}"
    what = f"{name}, the last, without checkpoints"
    return replays, [Figure(GROUP, what, Quantity(median(took)), told, median(ratios), LIMIT_WITHOUT, ratios)]
