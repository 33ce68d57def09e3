"""What an exchange costs more when it is recorded, beyond the durable commits that it cannot do without.

The agent bare, the agent with two bare commits around each exchange, the agent recorded, and the agent under vcrpy take
each step in turn. One way to take the durable commits away is recorded - with two bare commits. A witness in the
recorded one times its own commits, for the other: recorded - its commits - bare leaves the disk out, but not that a
processor sleeps while the disk works, and that agent and server wake up otherwise after that than in a bare exchange.
The target is judged in both.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import conversation
from bench.figure import AtMost, Figure, Quantity, Unit
from bench.launch import agent, recorded
from bench.lockstep import Program, Step, in_turns
from bench.sample import percentile
from bench.scale import Scale

GROUP = "An exchange"
LIMIT = AtMost(Quantity(500_000))
COMMITS = AtMost(Quantity(2, Unit.COUNT))
_AROUND, _SHARE = 10, 20
_REHEARSED = 30
_SHAPES = {"stream": f"streamed in {len(conversation.streamed(0))} pieces", "async": "on an event loop"}


@dataclass(frozen=True, slots=True)
class Turn:
    """The same exchange of several programs."""

    bare: Step
    kept: Step
    committing: Step
    vcrpy: Step | None = None

    @property
    def beyond(self) -> int:
        """What recording cost more than two bare commits (ns on the wall)."""
        return self.kept.wall - self.committing.wall

    @property
    def beyond_own(self) -> int:
        """What recording cost, less the time in its own commits (ns on the wall)."""
        return self.kept.wall - self.kept.commits_wall - self.bare.wall

    @property
    def beyond_cpu(self) -> int:
        """The same as `beyond_own`, of the processor."""
        return self.kept.cpu - self.kept.commits_cpu - self.bare.cpu


@dataclass(frozen=True, slots=True)
class Bench:
    """Where to measure."""

    url: str
    folder: Path

    def together(self, name: str, shape: str, steps: int, *, with_vcr: bool = False) -> list[Turn]:
        """Each step of all programs."""
        sizes = self._sizes(name, shape)
        folder = self.folder / name
        commands = {
            "bare": agent("growing"),
            "kept": recorded(folder / "store", "witness"),
            "committing": agent("committing"),
        }
        if with_vcr:
            commands["vcrpy"] = agent("under_vcr", str(folder / "cassette.yaml"))
        words = {who: [self._model(name, shape, who), str(steps), shape] for who in commands}
        words["committing"].append(",".join(map(str, sizes)))
        with ExitStack() as stack:
            programs = {
                who: stack.enter_context(Program(command, folder / who, words[who]))
                for who, command in commands.items()
            }
            took = in_turns(programs, steps)
        return [Turn(**dict(zip(took, each, strict=True))) for each in zip(*took.values(), strict=True)]

    def _model(self, name: str, shape: str, who: str) -> str:
        return f"{self.url}/{'stream' if shape == 'stream' else 'json'}-{name}-{who}/v1/chat/completions"

    def _sizes(self, name: str, shape: str) -> list[int]:
        """How large the rows of a tape are that is being written, in order, from the second step on."""
        folder = self.folder / f"{name}-rehearsal"
        words = [self._model(name, shape, "rehearsal"), str(_REHEARSED), shape]
        with Program(recorded(folder / "store", "growing"), folder / "pipes", words) as program:
            program.step()
            before = _rows(folder / "store")
            for _ in range(_REHEARSED - 1):
                program.step()
            return _rows(folder / "store")[len(before) :]


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures."""
    bench = Bench(url, folder)
    short = [bench.together(f"short{each}", "json", scale.short, with_vcr=True) for each in range(scale.short_times)]
    longest = max(scale.histories) + _reach(max(scale.histories))
    long = [bench.together(f"long{each}", "json", longest) for each in range(scale.long_times)]
    figures: list[Figure] = []
    for history in scale.histories:
        where = f"history of {history:,} step{'s' * (history > 1)}"
        figures += _beyond(where, _around(history, [*short, *long]))
    every = [turn for run in short for turn in run[1:]]
    figures += [_tail(f"first {scale.short} steps: p99 without commits, beyond the bare p99", every), *_commits(every)]
    for shape, name in _SHAPES.items():
        runs = [bench.together(f"{shape}{each}", shape, scale.shape_steps)[1:] for each in range(scale.short_times)]
        figures += _beyond(f"{name}, history up to {scale.shape_steps}", runs)
    return figures + [_vcr(history, short) for history in scale.histories if history < scale.short]


def _rows(store: Path) -> list[int]:
    (tape,) = store.glob("*.tape")
    with closing(sqlite3.connect(tape)) as db:
        return [size for (size,) in db.execute("SELECT length(data) FROM piece ORDER BY id")]


def _reach(history: int) -> int:
    """How many steps before it, and from it on, are steps around a history."""
    return max(_AROUND, history // _SHARE)


def _around(history: int, runs: Sequence[Sequence[Turn]]) -> list[Sequence[Turn]]:
    """The steps around a history, of each run that has them. The first of a run is left out: it connects."""
    steps = slice(max(1, history - _reach(history)), history + _reach(history))
    return [run[steps] for run in runs if len(run) > history]


def _over(turns: Sequence[Turn], value: Callable[[Turn], float]) -> float:
    return median(map(value, turns))


def _beyond(where: str, runs: Sequence[Sequence[Turn]]) -> list[Figure]:
    """Beyond the durable commits, in both ways, and the second by the processor's time."""
    turns = [turn for run in runs for turn in run]
    bare, cpu = _over(turns, lambda turn: turn.bare.wall), _over(turns, lambda turn: turn.bare.cpu)
    two, own = _over(turns, lambda turn: turn.committing.wall), _over(turns, lambda turn: turn.kept.commits_wall)
    with_two, with_own = {"with 2 bare commits": two}, {"bare": bare, "own commits": own}
    return [
        _more(f"{where}: beyond two bare commits, median", runs, lambda turn: turn.beyond, with_two, LIMIT),
        _more(f"{where}: beyond its own commits, median", runs, lambda turn: turn.beyond_own, with_own, LIMIT),
        _more(f"{where}: the latter, of the processor", runs, lambda turn: turn.beyond_cpu, {"bare": cpu}),
    ]


def _more(
    what: str,
    runs: Sequence[Sequence[Turn]],
    value: Callable[[Turn], float],
    base: Mapping[str, float],
    target: AtMost | None = None,
) -> Figure:
    medians = tuple(_over(run, value) for run in runs)
    more = median(medians)
    reference = " + ".join(f"{name} {Quantity(part)}" for name, part in base.items())
    return Figure(GROUP, what, Quantity(more), reference, 1 + more / sum(base.values()), target, medians)


def _tail(what: str, turns: Sequence[Turn]) -> Figure:
    """The 99th percentile of a recorded exchange without its commits, next to that of a bare one."""
    bare = percentile([turn.bare.wall for turn in turns], 99)
    kept = percentile([turn.kept.wall - turn.kept.commits_wall for turn in turns], 99)
    return Figure(GROUP, what, Quantity(kept - bare), f"bare {Quantity(bare)}", kept / bare)


def _commits(turns: Sequence[Turn]) -> list[Figure]:
    most = max(turn.kept.commits for turn in turns)
    own = _over(turns, lambda turn: turn.kept.commits_wall)
    alone = _over(turns, lambda turn: turn.committing.commits_wall)
    return [
        Figure(GROUP, "most commits of one exchange", Quantity(most, Unit.COUNT), "commits 2", most / 2, COMMITS),
        Figure(GROUP, "its commits, median", Quantity(own), f"2 bare commits {Quantity(alone)}", own / alone),
    ]


def _vcr(history: int, runs: Sequence[Sequence[Turn]]) -> Figure:
    pairs = [(turn.vcrpy, turn.bare) for run in _around(history, runs) for turn in run if turn.vcrpy is not None]
    more, bare = median(kept.wall - bare.wall for kept, bare in pairs), median(bare.wall for _, bare in pairs)
    what = f"vcrpy, history of {history:,}: beyond the bare one, median (nothing durable)"
    return Figure(GROUP, what, Quantity(more), f"bare {Quantity(bare)}", 1 + more / bare)
