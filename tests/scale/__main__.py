"""`python -m tests.scale`: puts a recording under all of it, and prints one table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.scale.cases import CASES, LONG, MIB, SHORT, Row

_WHO = ("bare", "recorded", "recorder", "fsck", "show", "verify", "replay")
_HEAD = f"| what | bare | recorded | {' | '.join(_WHO)} | outcome |\n| --- | ---: | ---: |{' ---: |' * len(_WHO)} --- |"


def main() -> int:
    """Runs them; 1 when something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"only these: {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="little of each: does it run?")
    asked = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="reenact-scale-") as folder:
        for name in asked.cases or CASES:
            sys.stderr.write(f"scale: {name}\n")
            row = CASES[name](Path(folder) / name, SHORT if asked.quick else LONG)
            rows.append(row)
            sys.stderr.write(f"{_line(row)}\n")
    sys.stdout.write(table(rows) + "\n")
    return int(any(row.wrong for row in rows))


def table(rows: Sequence[Row]) -> str:
    """Seconds, and the most memory that each process had in MiB: the program, bare and recorded, and commands of ours."""
    return "\n".join([_HEAD, *map(_line, rows)])


def _line(row: Row) -> str:
    times = [f"{seconds:.1f} s" if seconds else "" for seconds in (row.bare, row.recorded)]
    memory = [f"{row.memory[who] / MIB:.0f} MiB" if row.memory.get(who) else "" for who in _WHO]
    told = " ".join(row.outcome.split()) if not row.wrong else f"**WRONG**: {'; '.join(row.wrong)}"
    return f"| {' | '.join([row.what, *times, *memory, told])} |"


if __name__ == "__main__":
    sys.exit(main())
