"""What files, child processes, lanes and bare sockets cost more when they are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from bench.agents.acts import BYTES
from bench.figure import Figure, Quantity
from bench.launch import agent, recorded, run
from bench.scale import Scale

_GROUP = "Files, children, lanes, sockets"
_TIMES = 40


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures: medians of one run each, beyond the bare one, by the clock."""
    bare: list[dict[str, float]] = []
    kept: list[dict[str, float]] = []
    out = folder / "acts.json"
    for time in range(scale.draw_times):
        for found, name in ((bare, "bare"), (kept, "kept")):
            files = folder / f"acts-{name}-{time}"
            files.mkdir()
            for number in range(_TIMES):
                (files / f"{number}.txt").write_bytes(bytes([number]) * BYTES)
            words = (str(out), f"{url}/acts-{name}-{time}/v1", str(files), str(_TIMES))
            run(agent("acts", *words) if found is bare else recorded(folder / "acts", "acts", *words), folder)
            took = json.loads(out.read_text(encoding="utf-8"))
            found.append({what: median(times) for what, times in took.items()})
    return [_figure(what, [took[what] for took in bare], [took[what] for took in kept]) for what in bare[0]]


def _figure(what: str, bare: list[float], kept: list[float]) -> Figure:
    more = tuple(now - before for before, now in zip(bare, kept, strict=True))
    base = median(bare)
    return Figure(_GROUP, what, Quantity(median(more)), f"bare {Quantity(base)}", median(kept) / base, None, more)
