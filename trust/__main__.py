"""`./task trust`: tries everything that is to shake a tape, and prints one table of what came of it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench import machine
from trust import page
from trust.parts import PARTS, Size
from trust.tally import timed


def main() -> int:
    """Tries all; 1 when something is not as it should be, 2 for a part that is not there."""
    asked = _parser().parse_args()
    unknown = [name for name in asked.only if name not in PARTS]
    if unknown:
        sys.stderr.write(f"trust: no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}\n")
        return 2
    before = machine.commit(), machine.load()
    size = Size(asked.quick, 10 if asked.quick and asked.seconds is None else asked.seconds or 300)
    rows: list[page.Row] = []
    with tempfile.TemporaryDirectory(prefix="reenact-trust-") as folder:
        for name in asked.only or PARTS:
            (place := Path(folder) / name).mkdir()
            sys.stderr.write(f"trust: {PARTS[name].what}\n")
            rows.append(page.Row(PARTS[name], list(timed(PARTS[name].tried(place, size), sys.stderr))))
        text = page.page(rows, machine.lines(Path(folder), before), quick=asked.quick).replace(f"{folder}/", "")
    sys.stdout.write(text)
    if asked.write is not None:
        asked.write.write_text(text, encoding="utf-8")
    return int(any(row.wrong for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./task trust", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=f"{', '.join(PARTS)}; repeatable")
    parser.add_argument("--quick", action="store_true", help="little of each: does it run?")
    parser.add_argument("--seconds", type=int, metavar="N", help="for how long to fuzz (default: 300; quick: 10)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to a file, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
