"""What it may cost to run on live from a step, by what the run asked of models from there on; and what it did cost."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import msgspec

from reenact.providers import Usage
from reenact.providers.prices import Price, dollars, price_of
from reenact.tape.recording import Recording
from reenact.trajectory.decision import Step
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
    trajectory: Trajectory, event: int, own: Mapping[str, Price] = {}, model: str = "", given: Container[int] = ()
) -> Estimate:
    """That of the steps from `event` on, by what they took when they were recorded.

    `model` is asked instead of theirs; the answers of some events are `given`.
    """
    steps = [step for step in trajectory.steps if step.attempts[-1] >= event and step.attempts[-1] not in given]
    return _priced(steps, own, model)


def spent(branch: Recording, trajectory: Trajectory, own: Mapping[str, Price] = {}, model: str = "") -> Estimate:
    """What a branch took of models when it was live; it asked `model` where that is given."""
    anew = branch.branch.event if branch.branch is not None and not branch.branch.before else -1
    steps = [
        step
        for step in trajectory.steps
        if (step.attempts[-1] >= branch.inherited or step.attempts[-1] == anew)
        and step.attempts[-1] not in branch.given
    ]
    return _priced(steps, own, model)


def _priced(steps: Iterable[Step], own: Mapping[str, Price], model: str) -> Estimate:
    calls = read = written = 0
    cost = 0.0
    unpriced: dict[str, None] = {}
    for step in steps:
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
