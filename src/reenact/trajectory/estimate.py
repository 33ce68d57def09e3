"""What it may cost to run on live from a step: what the recorded run asked of models from there on."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from reenact.providers import Usage
from reenact.providers.prices import Price, dollars, price_of
from reenact.trajectory.walk import Trajectory


class Estimate(msgspec.Struct, frozen=True):
    """`calls` to models with so many tokens, for so many `dollars`; of the models `unpriced` nobody knows the price."""

    calls: int
    input: int
    output: int
    dollars: float
    unpriced: tuple[str, ...]

    def times(self, count: int) -> Estimate:
        """That of so many runs of the same."""
        return Estimate(
            self.calls * count, self.input * count, self.output * count, self.dollars * count, self.unpriced
        )


def estimate(
    trajectory: Trajectory, event: int, own: Mapping[str, Price] = {}, model: str = "", *, given: bool = False
) -> Estimate:
    """That of the steps from `event` on, by what they took when they were recorded.

    `model` is asked instead of theirs; the answer of `event` itself may be `given`.
    """
    calls = read = written = 0
    cost = 0.0
    unpriced: dict[str, None] = {}
    for step in trajectory.steps:
        if step.attempts[-1] < event + given:
            continue
        calls += 1
        name = model or step.served or step.model
        price = price_of(name, own) or price_of(model or step.model, own)
        usage = step.usage or Usage()
        read, written = read + usage.input, written + usage.output
        if price is None or step.usage is None:
            unpriced[name] = None
        else:
            cost += dollars(usage, price)
    return Estimate(calls, read, written, cost, tuple(unpriced))
