"""`./task durability`: stops recordings at every write, loses power in many ways, and kills at random moments."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.durability import power, resumes
from tests.durability.crash import CASES, WAYS, crashes
from tests.durability.kills import KILLS, kills
from tests.durability.programs import ALONE, PROGRAMS
from tests.durability.watch import CannotWatchError, library
from trust.tally import Tally, ended

SAMPLED = 24


def _crash(folder: Path, *, quick: bool) -> Iterator[Tally]:
    for name, way in [("alone", way) for way in WAYS] if quick else CASES:
        yield crashes(name, way, library(folder), folder / f"{name}-{way}", some=2 * quick)


def _resume(folder: Path, *, quick: bool) -> Iterator[Tally]:
    """At every operation by one way; by the others, each of which takes as long, at some that lie between."""
    for number, way in enumerate(WAYS):
        some = 2 if quick else SAMPLED if number else 0
        yield resumes.resumes(way, library(folder), folder / way, some)


def _power(folder: Path, *, quick: bool) -> Iterator[Tally]:
    ways, least = (power.FEW, power.SAMPLE) if quick else (power.MANY, 1000)
    for name, program in {"alone": ALONE}.items() if quick else PROGRAMS.items():
        yield power.tally_of(name, power.recorded(program, library(folder), folder / name, ways), least)
    yield power.tally_of("resume", resumes.power(library(folder), folder / "resume", ways), least)
    (alone := folder / "writer").mkdir()
    yield power.tally_of("the writer alone", power.committing(library(folder), alone, ways), least)


def _kills(folder: Path, *, quick: bool) -> Iterator[Tally]:
    yield kills(4 if quick else KILLS, folder)


PARTS: dict[str, Callable[..., Iterator[Tally]]] = {
    "crash": _crash,
    "resume": _resume,
    "power": _power,
    "kill": _kills,
}


def tallies(name: str, folder: Path, *, quick: bool) -> Iterator[Tally]:
    """Those of one part, in an empty folder."""
    try:
        yield from PARTS[name](folder, quick=quick)
    except CannotWatchError as error:
        yield Tally(name, 0, 0, "survived", [str(error)])


def main() -> int:
    """Tells what was tried and what it outlived; 1 when something was lost."""
    parser = argparse.ArgumentParser(prog="./task durability", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="little of each: does it run?")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reenact-durability-") as name:
        folders = {part: Path(name) / part for part in asked.parts or PARTS}
        for folder in folders.values():
            folder.mkdir()
        return ended(one for part, folder in folders.items() for one in tallies(part, folder, quick=asked.quick))


if __name__ == "__main__":
    sys.exit(main())
