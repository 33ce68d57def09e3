"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Steps and repetitions; the histories and tapes are told by their number of steps."""

    histories: tuple[int, ...]
    short: int  # steps that every recorder takes
    short_times: int
    long_times: int
    shape_steps: int
    record_times: int
    rounds: int
    draw_times: int
    replays: tuple[int, ...]
    replay_times: int
    fork_times: int
    forked: int  # steps of a run
    forked_at_once: int
    forks: int  # from a checkpoint
    branches: int
    tapes: tuple[int, ...]
    starts: int
    seek_steps: int
    seek_times: int
    seeks: int


FULL = Scale(
    histories=(1, 50, 200, 1000),
    short=220,
    short_times=12,
    long_times=20,
    shape_steps=80,
    record_times=6,
    rounds=8,
    draw_times=12,
    replays=(50, 200),
    replay_times=12,
    fork_times=4,
    forked=200,
    forked_at_once=8,
    forks=20,
    branches=100,
    tapes=(10, 50, 200, 1000),
    starts=25,
    seek_steps=1000,
    seek_times=6,
    seeks=100,
)

QUICK = Scale(
    histories=(1, 50),
    short=60,
    short_times=1,
    long_times=0,
    shape_steps=30,
    record_times=1,
    rounds=3,
    draw_times=1,
    replays=(10,),
    replay_times=2,
    fork_times=2,
    forked=10,
    forked_at_once=4,
    forks=5,
    branches=4,
    tapes=(10, 50),
    starts=3,
    seek_steps=60,
    seek_times=1,
    seeks=40,
)
