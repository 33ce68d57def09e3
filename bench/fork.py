"""What a branch costs: its tape next to its parent's, and the whole of a fork next to a replay of the same steps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figure import AtMost, AtMostTimes, Figure, Quantity, Unit
from bench.launch import in_turns, recorded, run
from bench.scale import Scale
from reenact.tape.event import PartKind
from reenact.tape.reader import Recording, read

GROUP = "A fork"
ONE_STEP = AtMost(Quantity(20_000, Unit.BYTES))
TOGETHER = AtMostTimes(2.0)


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures."""
    folder = folder / "fork"
    folder.mkdir()
    store, steps = folder / "store", scale.forked
    run(recorded(store, "sdk", f"{url}/json-fork/v1", str(steps)), folder)
    (parent,) = store.glob("*.tape")
    fork = _fork(store, parent, steps)
    took = in_turns(
        {
            "replay": ([sys.executable, "-m", "reenact", "replay", parent.stem, "--store", str(store)], dict),
            "fork": (fork, dict),
        },
        folder,
        scale.replay_times,
    )
    figures = []
    for clock in ("wall", "cpu"):
        forks, replays = ([getattr(ran, clock) for ran in took[who]] for who in ("fork", "replay"))
        ratios = tuple(one / other for one, other in zip(forks, replays, strict=True))
        what = f"from the last of {steps} steps, {'processor' if clock == 'cpu' else clock}"
        reference = f"a replay of all {Quantity(median(replays))}"
        spread = tuple(map(float, forks))
        figures.append(Figure(GROUP, what, Quantity(median(forks)), reference, median(ratios), None, spread))
    return [*figures, *_sizes(scale, store, parent, folder)]


def _sizes(scale: Scale, store: Path, parent: Path, folder: Path) -> Iterator[Figure]:
    for left in store.glob("*.tape"):
        if left != parent:
            left.unlink()
    run([*_fork(store, parent, scale.forked), "--n", str(scale.branches)], folder)
    branches = [path for path in store.glob("*.tape") if path != parent]
    if len(branches) != scale.branches:
        raise RuntimeError(f"there are {len(branches)} branches, and not {scale.branches}")
    held, sizes = parent.stat().st_size, [path.stat().st_size for path in branches]
    reference = f"its parent of {scale.forked} steps {Quantity(held, Unit.BYTES)}"
    size = Quantity(median(sizes), Unit.BYTES)
    what = "a branch with one step of its own"
    yield Figure(GROUP, what, size, reference, size.value / held, ONE_STEP, tuple(map(float, sizes)))
    together = held + sum(sizes)
    news = sum(_news(read(path)) for path in branches)
    what = f"{len(branches)} such branches and their parent"
    reference = f"the parent {Quantity(held, Unit.BYTES)}; without {Quantity(news, Unit.BYTES)} of news of their own"
    yield Figure(GROUP, what, Quantity(together, Unit.BYTES), reference, (together - news) / held, TOGETHER)


def _news(branch: Recording) -> int:
    """Bytes that a branch alone has: of its own answers, and what its requests do not take from those before."""
    own = [event for event in branch.events if event.id >= branch.inherited]
    anew = [branch.events[branch.branch.event]] if branch.branch is not None else []
    asked = sum(len(event.delta.middle) + len(event.head) for event in own)
    parts = (part for event in (*own, *anew) for _, part in event.parts if part.kind in (PartKind.HEAD, PartKind.CHUNK))
    return asked + sum(len(part.data) for part in parts)


def _fork(store: Path, parent: Path, step: int) -> list[str]:
    words = ("fork", f"{parent.stem}@{step}", "--live", "--quiet", "--name", "branch", "--store", str(store))
    return [sys.executable, "-m", "reenact", *words]
