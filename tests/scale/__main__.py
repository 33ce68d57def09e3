"""`./task scale`: puts a recording under all of it: long exchanges, many steps, full disks and more."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.scale.cases import CASES, LONG, MIB, SHORT, Row
from trust.tally import Tally, ended

_WHO = ("bare", "recorded", "recorder", "fsck", "show", "verify", "replay")


def main() -> int:
    """Runs them; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="./task scale", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"only these: {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="little of each: does it run?")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reenact-scale-") as folder:
        return ended(tallies(asked.cases or CASES, Path(folder), quick=asked.quick))


def tallies(names: Iterable[str], folder: Path, *, quick: bool) -> Iterator[Tally]:
    """One of each case."""
    for name in names:
        row = CASES[name](folder / name, SHORT if quick else LONG)
        yield Tally(row.what, 1, int(not row.wrong), "unharmed", row.wrong, _told(row))


def _told(row: Row) -> str:
    """Seconds, and the most memory that each process had: the program, bare and recorded, and commands of ours."""
    times = [f"{row.bare:.1f} s bare, {row.recorded:.1f} s recorded"] if row.bare and row.recorded else []
    memory = [f"{row.memory[who] / MIB:.0f} MiB {who}" for who in _WHO if row.memory.get(who)]
    return "; ".join(filter(None, [" ".join(row.outcome.split()), *times, ", ".join(memory)]))


if __name__ == "__main__":
    sys.exit(main())
