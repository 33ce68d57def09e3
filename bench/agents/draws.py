"""A program that reads clock and entropy in batches, with an exchange before and after each.

python -m bench.agents.draws OUT URL ROUNDS     OUT gets JSON: ns of the processor, by what was done
"""

from __future__ import annotations

import datetime
import json
import os
import random  # noqa: TID251  this and the next two are what is measured
import sys
import time  # noqa: TID251
import uuid  # noqa: TID251
from collections.abc import Callable
from pathlib import Path

import httpx

from bench.agents.pace import clocks, since

BATCH = 4000
SEEDED = ("random.random",)
PLAIN, AFTER = "exchange", "exchange after {}"


KINDS: dict[str, Callable[[], object]] = {
    "time.time": lambda: time.time(),  # noqa: PLW0108  looked up at each call, as programs do
    "datetime.now": lambda: datetime.datetime.now(datetime.UTC),
    "os.urandom": lambda: os.urandom(16),  # noqa: TID251
    "uuid.uuid4": lambda: uuid.uuid4(),  # noqa: PLW0108
    "random.random": lambda: random.random(),  # noqa: PLW0108, S311  no secret
}


def batch(draw: Callable[[], object]) -> None:
    """Many draws."""
    for _ in range(BATCH):
        draw()


def main(out: str, url: str, rounds: str) -> None:
    """Batches of each kind in turn; what an exchange costs more after a batch is what the commit of its draws costs."""
    took: dict[str, list[int]] = {}
    with httpx.Client() as client:

        def measure(name: str, action: Callable[[], object]) -> None:
            began = clocks()
            action()
            took.setdefault(name, []).append(since(began)[1])

        def exchange() -> None:
            _ = client.post(url, content=b"{}").content

        exchange()
        for _ in range(int(rounds)):
            for name, draw in KINDS.items():
                measure(PLAIN, exchange)
                measure(name, lambda draw=draw: batch(draw))  # type: ignore[misc]
                measure(AFTER.format(name), exchange)
    Path(out).write_text(json.dumps(took), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
