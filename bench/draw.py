"""What a reading of clock or entropy costs more when it is recorded, with its share of the commit that it rides on."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from bench.agents.draws import AFTER, BATCH, KINDS, PLAIN, SEEDED
from bench.figure import AtMost, Figure, Quantity
from bench.launch import agent, recorded, run
from bench.scale import Scale

LIMIT = AtMost(Quantity(1000))


Took = dict[str, list[int]]


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures."""
    bare: list[Took] = []
    kept: list[Took] = []
    out = folder / "draws.json"
    for time in range(scale.draw_times):
        for found, name in ((bare, "bare"), (kept, "kept")):
            words = (str(out), f"{url}/draws-{name}-{time}/v1", str(scale.rounds))
            run(agent("draws", *words) if found is bare else recorded(folder / "draws", "draws", *words), folder)
            found.append(json.loads(out.read_text(encoding="utf-8")))
    return [_figure(kind, bare, kept) for kind in KINDS]


def _figure(kind: str, bare: list[Took], kept: list[Took]) -> Figure:
    before, now = ([_one(kind, took) for took in runs] for runs in (bare, kept))
    more = tuple(after - earlier for earlier, after in zip(before, now, strict=True))
    what = f"{kind}: beyond the bare one, of the processor"
    base = median(before)
    # The numbers of a seeded generator are not draws: its seed is
    target = LIMIT if kind not in SEEDED else None
    return Figure("A draw", what, Quantity(median(more)), f"bare {Quantity(base)}", median(now) / base, target, more)


def _one(kind: str, took: Took) -> float:
    """One draw and its share of the next exchange, in ns."""
    share = median(took[AFTER.format(kind)]) - median(took[PLAIN])
    return (median(took[kind]) + share) / BATCH
