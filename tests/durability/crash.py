"""Recordings that are stopped at their writes, syncs, renames and so on: at each of them, or at some."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.durability.programs import PROGRAMS
from tests.durability.stopped import Stop, Tried, logged, tried
from tests.durability.watch import How
from trust.tally import Tally

WAYS = {
    "its process is killed": (How.PROCESS, False),
    "all is killed": (How.ALL, False),
    "a write is done by half": (How.PROCESS, True),
    "its recorder is killed": (How.RECORDER, False),
}
CASES = [
    (name, way)
    for name, program in PROGRAMS.items()
    for way, (how, _) in WAYS.items()
    if program.recorded or how is not How.RECORDER  # it is its own recorder
]
BEYOND = 12  # a slow machine has a run commit more often: operations that are tried past those that were counted


def crashes(name: str, way: str, watching: Path, folder: Path, some: int = 0) -> Tally:
    """Stops recordings of one program in one way: at every operation, or at `some`."""
    program, (how, half) = PROGRAMS[name], WAYS[way]
    count = len(logged(program, watching, folder / "whole").ops)
    points = range(1, count + BEYOND + 1) if not some else [(2 * n + 1) * count // (2 * some) for n in range(some)]
    stops = [Stop(at, how, half) for at in points]
    with ThreadPoolExecutor(2) as pool:
        each = list(pool.map(lambda stop: tried(program, watching, folder / str(stop.at), stop), stops))
    return tally_of(f"crash points: {name}, {way}", each, some or count // 2, whole=not some)


def tally_of(what: str, each: Sequence[Tried], least: int, *, whole: bool) -> Tally:
    """What came of stops, of which the last is past the end when they are all that there are (`whole`)."""
    stopped = [came for came in each if came.stopped]
    wrong = [came.problem for came in each if came.problem]
    if whole and each[-1].stopped:
        wrong.append("the run had more operations than were tried")
    if len(stopped) < least:
        wrong.append(f"it was stopped only {len(stopped)} times")
    survived = sum(not came.problem for came in stopped)
    resumed = sum(came.resumed for came in stopped)
    return Tally(what, len(stopped), survived, "survived", wrong, f"{resumed:,} resumed" if resumed else "")
