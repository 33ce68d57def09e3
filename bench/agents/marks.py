"""A program that marks what it does, and has functions that are recorded, but for those that no sample is to have.

python -m bench.agents.marks OUT ROUNDS     OUT gets JSON: ns of each, by what was done; the least of the rounds
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import reenact
from bench.agents.pace import clocks, since

TIMES = 2000
BLOCK, CALL = "an empty block", "an empty call"
STEP, AGENT, FUNCTION = "with reenact.step(…)", "with reenact.agent(…, role=…)", "@reenact.step"
RATE, SESSION = "@reenact.record(sample=0.0)", "@reenact.record(sample=…, session=…)"


def main(out: str, rounds: str) -> None:
    """Each in turn, that many rounds."""
    least: dict[str, float] = {}
    actions = {
        BLOCK: _blocks(contextlib.nullcontext),
        CALL: _calls(lambda function: function),
        STEP: _blocks(lambda: reenact.step("look")),
        AGENT: _blocks(lambda: reenact.agent("planner", role="plans")),
        FUNCTION: _calls(reenact.step),
        RATE: _calls(reenact.record(sample=0.0)),
        SESSION: _calls(reenact.record(sample=1e-12, session=lambda: "support-4711")),
    }
    for _ in range(int(rounds)):
        for what, action in actions.items():
            began = clocks()
            action()
            least[what] = min(least.get(what, float("inf")), since(began)[1] / TIMES)
    Path(out).write_text(json.dumps(least), encoding="utf-8")


def _blocks(made: Callable[[], contextlib.AbstractContextManager[object]]) -> Callable[[], None]:
    def action() -> None:
        for _ in range(TIMES):
            with made():
                pass

    return action


def _calls(decorator: Callable[[Callable[[], None]], Callable[[], None]]) -> Callable[[], None]:
    @decorator
    def called() -> None:
        """Does nothing."""

    def action() -> None:
        for _ in range(TIMES):
            called()

    return action


if __name__ == "__main__":
    main(*sys.argv[1:])
