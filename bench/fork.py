"""What a branch costs: its tape next to its parent's, and the whole of a fork next to a replay of the same steps.

And how long it takes until it asks a model: begun at a checkpoint, together with others, and by itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from bench.figure import AtMost, AtMostTimes, Figure, Quantity, Unit
from bench.launch import environment, in_turns, recorded, run
from bench.scale import Scale
from bench.server import Answers
from reenact import _real
from reenact.launch import forking
from reenact.launch.points import Edits, Planned, planned
from reenact.launch.settings import Settings
from reenact.launch.tail import Tail
from reenact.launch.together import Together
from reenact.tape.event import PartKind
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.testing.listener import Listener
from reenact.testing.request import Request
from reenact.testing.response import Response
from reenact.trajectory import trajectory

GROUP = "A fork"
ONE_STEP = AtMost(Quantity(20_000, Unit.BYTES))
TOGETHER = AtMostTimes(2.0)
BEFORE_LIVE = AtMost(Quantity(100e6))


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
        scale.fork_times,
    )
    figures = []
    for clock in ("wall", "cpu"):
        forks, replays = ([getattr(ran, clock) for ran in took[who]] for who in ("fork", "replay"))
        ratios = tuple(one / other for one, other in zip(forks, replays, strict=True))
        what = f"from the last of {steps} steps, {'processor' if clock == 'cpu' else clock}"
        reference = f"a replay of all {Quantity(median(replays))}"
        spread = tuple(map(float, forks))
        figures.append(Figure(GROUP, what, Quantity(median(forks)), reference, median(ratios), None, spread))
    return [
        *figures,
        *_at_once(scale, fork, folder),
        *_until_live(scale, folder),
        *_sizes(scale, store, parent, folder),
    ]


def _at_once(scale: Scale, fork: list[str], folder: Path) -> Iterator[Figure]:
    """Several by one command, next to as many commands."""
    count = scale.forked_at_once
    took = in_turns({"all": ([*fork, "--n", str(count)], dict), "one": (fork, dict)}, folder, scale.fork_times)
    for clock in ("wall", "cpu"):
        together, single = ([getattr(ran, clock) for ran in took[who]] for who in ("all", "one"))
        ratios = [one / (other * count) for one, other in zip(together, single, strict=True)]
        what = f"{count} of them by --n {count}, {'processor' if clock == 'cpu' else clock}"
        reference = f"{count} single forks, each {Quantity(median(single))}"
        yield Figure(
            GROUP, what, Quantity(median(together)), reference, median(ratios), None, tuple(map(float, together))
        )


class _Model:
    """Answers as that of the bench, and knows when it was asked."""

    def __init__(self) -> None:
        self._answers = Answers()
        self.asked: list[int] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(_real.monotonic_ns())
        return self._answers(request)


def _until_live(scale: Scale, folder: Path) -> Iterator[Figure]:
    """From when a branch is asked for until its model is asked, in this process, which has loaded all that it takes."""
    model, store = _Model(), folder / "live"
    os.environ |= environment()  # as the command has it: a branch has the secrets of the day
    listener = Listener(model)
    listener.start()
    try:
        run(recorded(store, "sdk", f"http://127.0.0.1:{listener.port}/json-live/v1", str(scale.forked)), folder)
        (parent,) = store.glob("*.tape")
        recording = read(parent)
        plan = planned(recording, [Edits(trajectory(recording).steps[-1].number)], Tail())
        branch = partial(_branch, recording, Store(store), plan)
        with Together([]) as together:
            branch(together)  # which has what lies before served
            copies = [_took(partial(branch, together), model) for _ in range(scale.forks)]
        alone = [_took(branch, model) for _ in range(scale.fork_times)]
    finally:
        listener.stop()
    what = f"from a checkpoint after {scale.forked - 1} steps, until its model is asked"
    reference = f"by itself {Quantity(median(alone))}"
    ratio = median(copies) / median(alone)
    yield Figure(GROUP, what, Quantity(median(copies)), reference, ratio, BEFORE_LIVE, tuple(map(float, copies)))


def _took(branch: Callable[[], None], model: _Model) -> int:
    before, began = len(model.asked), _real.monotonic_ns()
    branch()
    return model.asked[before] - began


def _branch(parent: Recording, store: Store, plan: Planned, together: Together | None = None) -> None:
    done = forking.fork(parent, store, Settings(None, {}), plan.point, plan.tail, "live", quiet=True, together=together)
    if done.recording is None or done.status or done.alone:
        raise RuntimeError(f"a branch ended with {done.status}: {done.report} {done.alone}")


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
