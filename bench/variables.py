"""What a look at the agent's variables costs: `reenact record --deep` takes one at each event."""

from __future__ import annotations

import json
from statistics import median

from bench.conversation import OPENING, after, said
from bench.figure import Figure, Quantity, Unit, compared
from bench.scale import Scale
from reenact import _real
from reenact.engine.digest import SIZE
from reenact.engine.locals import Look
from reenact.tape.vault import Vault

_GROUP = "A look at variables"
_TIMES = 20
_RECORD = SIZE + 3  # bytes of a digest in msgpack, with the header of its name


def measure(scale: Scale) -> list[Figure]:
    """The figures, each next to making JSON of the same history: what an agent does to send it."""
    return [figure for steps in scale.histories for figure in _figures(steps)]


def _figures(steps: int) -> list[Figure]:
    history: list[object] = [*OPENING]
    for step in range(steps):
        history += after(step, said(step))
    agent = _Agent(history)
    looks = [agent.step(Look(bytes(16), Vault().clean)) for _ in range(_TIMES)]
    encoded = []
    for _ in range(_TIMES):
        began = _real.perf_counter_ns()
        json.dumps(history)
        encoded.append(_real.perf_counter_ns() - began)
    what = f"history of {steps:,} step{'s' if steps > 1 else ''}"
    took, size = Quantity(median(took for took, _ in looks)), Quantity(looks[0][1], Unit.BYTES)
    raw = Quantity(len(json.dumps(history)), Unit.BYTES)
    return [
        compared(_GROUP, f"{what}: time", took, Quantity(median(encoded)), "json.dumps of it"),
        compared(_GROUP, f"{what}: names and digests, before the tape packs them", size, raw, "history as JSON"),
    ]


class _Agent:
    """Has what agents have: a history, some settings, some variables in each of three functions."""

    def __init__(self, history: list[object]) -> None:
        self.history = history
        self.model = "bench-1"
        self.limits = {"steps": 1000, "tokens": 100_000}
        self.names = {"search", "read_page", "ask_database"}

    def step(self, look: Look) -> tuple[int, int]:
        """One step: how long the look took, in ns, and how many bytes of names and digests it found."""
        number = len(self.history)
        return self._ask(look, number)

    def _ask(self, look: Look, number: int) -> tuple[int, int]:
        request = {"model": self.model, "messages": self.history, "seed": number}
        began = _real.perf_counter_ns()
        frames = look(_real.getframe(0))
        took = _real.perf_counter_ns() - began
        names = [name for frame in frames for name in frame.digests]
        assert request["seed"] == number  # noqa: S101  it is there to be looked at
        return took, sum(len(name) + _RECORD for name in names)
