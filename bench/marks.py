"""What marks cost, and functions that are recorded only now and then: in a program that is not recorded, and in one."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from bench.agents.marks import AGENT, BLOCK, CALL, FUNCTION, RATE, SESSION, STEP
from bench.figure import AtMost, Figure, Quantity
from bench.launch import agent, recorded, run
from bench.scale import Scale

_GROUP = "Marks and samples"
_LIMIT = AtMost(Quantity(1000))
_ROUNDS = 20
_BESIDE = {STEP: BLOCK, AGENT: BLOCK, FUNCTION: CALL, RATE: CALL, SESSION: CALL}


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """The figures, of the processor: each beyond an empty block or call, by the quickest round of a process."""
    bare: list[dict[str, float]] = []
    kept: list[dict[str, float]] = []
    out = folder / "marks.json"
    for _ in range(scale.draw_times):
        for found in (bare, kept):
            words = (str(out), str(_ROUNDS))
            run(agent("marks", *words) if found is bare else recorded(folder / "marks", "marks", *words), folder)
            found.append(json.loads(out.read_text(encoding="utf-8")))
    return [
        *(_figure(f"{what}, without a run", what, bare, _LIMIT) for what in (STEP, AGENT, FUNCTION)),
        *(_figure(f"{what}, not in the sample", what, bare, None) for what in (RATE, SESSION)),
        *(_figure(f"{what}, in a run", what, kept, None) for what in (STEP, AGENT, FUNCTION)),
    ]


def _figure(told: str, what: str, runs: list[dict[str, float]], target: AtMost | None) -> Figure:
    beside = _BESIDE[what]
    more = tuple(took[what] - took[beside] for took in runs)
    base = median(took[beside] for took in runs)
    return Figure(_GROUP, told, Quantity(median(more)), f"{beside} {Quantity(base)}", median(more) / base, target, more)
