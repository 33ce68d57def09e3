"""How long a whole recorded run takes, from before its process starts until its tape is closed."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from bench.agents.pace import UNLED
from bench.figure import Figure, Quantity
from bench.launch import Ran, agent, recorded, run
from bench.scale import Scale

_BARE = "bare"


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures."""
    figures: list[Figure] = []
    for steps in scale.replays:
        took: dict[str, list[Ran]] = {}
        for time in range(scale.record_times):
            for who, ran in _each(url, folder, steps, time).items():
                took.setdefault(who, []).append(ran)
        bare = took.pop(_BARE)
        figures += [_figure(f"plain httpx, {steps} steps, {who}", ran, bare) for who, ran in took.items()]
    return figures


def _figure(what: str, ran: list[Ran], bare: list[Ran]) -> Figure:
    wall, base = ([float(each.wall) for each in runs] for runs in (ran, bare))
    ratio = median(one / other for one, other in zip(wall, base, strict=True))
    reference = f"{_BARE} {Quantity(median(base))}"
    return Figure("A recording", what, Quantity(median(wall)), reference, ratio, None, tuple(wall))


def _each(url: str, folder: Path, steps: int, time: int) -> dict[str, Ran]:
    """One run of each; the model and the cassette are new each time."""
    name = f"record{steps}-{time}"
    cassette = str(folder / f"{name}.yaml")
    words = {who: (UNLED, f"{url}/json-{name}-{who}/v1", str(steps), "json") for who in (_BARE, "reenact", "vcrpy")}
    commands = {
        _BARE: agent("growing", *words[_BARE]),
        "reenact": recorded(folder / name, "growing", *words["reenact"]),
        "vcrpy": agent("under_vcr", cassette, *words["vcrpy"]),
    }
    return {who: run(command, folder) for who, command in commands.items()}
