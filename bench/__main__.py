"""`python -m bench`: measures everything and prints one table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench import (
    acts,
    draw,
    exchange,
    fork,
    machine,
    marks,
    record,
    replay,
    seek,
    start,
    table,
    tape,
    variables,
    vault,
)
from bench.figure import Figure, Verdict
from bench.scale import FULL, QUICK
from bench.server import serving
from reenact import _real

PARTS = ("exchange", "draw", "acts", "marks", "variables", "vault", "record", "replay", "fork", "seek", "tape", "start")


def main() -> int:  # noqa: C901, PLR0912  one case for each part
    """Measures; 1 when `--check` is asked for and a target is not met."""
    asked = _parser().parse_args()
    scale = QUICK if asked.quick else FULL
    before = machine.commit(), machine.load()
    figures: list[Figure] = []
    where: list[str] = []
    with serving() as url, tempfile.TemporaryDirectory(prefix="reenact-bench-", dir=asked.folder) as name:
        folder = Path(name)
        for part in asked.parts or PARTS:
            sys.stderr.write(f"bench: {part}\n")
            known, began = len(figures), _real.monotonic_ns()
            match part:
                case "exchange":
                    figures += exchange.measure(scale, url, folder)
                case "draw":
                    figures += draw.measure(scale, url, folder)
                case "acts":
                    figures += acts.measure(scale, url, folder)
                case "marks":
                    figures += marks.measure(scale, folder)
                case "variables":
                    figures += variables.measure(scale)
                case "vault":
                    figures += vault.measure(scale)
                case "record":
                    figures += record.measure(scale, url, folder)
                case "replay":
                    figures += replay.measure(scale, url, folder)
                case "fork":
                    figures += fork.measure(scale, url, folder)
                case "seek":
                    figures += seek.measure(scale, url, folder)
                case "tape":
                    found, where = tape.measure(scale, url, folder)
                    figures += found
                case _:
                    figures += start.measure(scale, folder)
            sys.stderr.write(
                f"bench: {part} took {(_real.monotonic_ns() - began) / 1e9:.0f} s\n{table.plain(figures[known:])}"
            )
        about = machine.lines(folder, before)
    page = table.markdown(figures, about, where)
    sys.stdout.write(table.as_json(figures, about, where) + "\n" if asked.json else page)
    if asked.write is not None:
        asked.write.write_text(page, encoding="utf-8")
    return int(asked.check and any(figure.verdict is Verdict.MISSED for figure in figures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"measure only these: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="little of everything: does it run?")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is not met")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to a file, too")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where tapes are made: which disk is measured")
    return parser


if __name__ == "__main__":
    sys.exit(main())
