"""`python -m fuzz`: fuzzes every target for a while, and prints what was tried and found."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fuzz.targets import CORPUS, TARGETS
from trust.tally import Tally, ended

FINDINGS = Path("fuzz-findings")
WORDS = Path(__file__).parent / "words.txt"
_LONGEST_INPUT = 16_384
_SECONDS_EACH = 10  # that one input may take: a reader that hangs is a finding, too
_MEGABYTES = 2048


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What came of one target. `new` are inputs that reached code that none of the corpus did; `findings` are files."""

    name: str
    executions: int
    corpus: int
    new: int
    findings: Sequence[Path]
    told: str


def main() -> int:
    """Fuzzes; 1 when there is a finding."""
    asked = _parser().parse_args()
    return ended(tallies(asked.targets or list(TARGETS), asked.seconds, asked.jobs, keep=asked.keep))


def tallies(names: Sequence[str], seconds: int, jobs: int = 1, *, keep: bool = False) -> Iterator[Tally]:
    """Fuzzes these, for so many seconds together."""
    if importlib.util.find_spec("atheris") is None:
        yield Tally("fuzz", 0, 0, "findings", ["atheris is not installed; ./task fuzz installs it"])
        return
    share = max(1, round(seconds * jobs / len(names)))
    FINDINGS.mkdir(exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        yield from (_tally(one) for one in pool.map(lambda name: _fuzz(name, share, keep=keep), names))
    if not any(FINDINGS.iterdir()):
        FINDINGS.rmdir()


def _tally(one: Fuzzed) -> Tally:
    wrong = [f"{path}\n{one.told}" for path in one.findings]
    if not one.executions:
        wrong.append(f"it was not fuzzed:\n{one.told}")
    told = f"a corpus of {one.corpus:,}, {one.new:,} new"
    return Tally(f"fuzz: {one.name}", one.executions, len(one.findings), "findings", wrong, told)


def _fuzz(name: str, seconds: int, *, keep: bool) -> Fuzzed:
    with tempfile.TemporaryDirectory(prefix="reenact-fuzz-") as folder:
        before = set(FINDINGS.iterdir())
        command = [
            *(sys.executable, "-m", "fuzz.one", name, folder, str(CORPUS / name)),
            *(f"-max_total_time={seconds}", f"-timeout={_SECONDS_EACH}", f"-rss_limit_mb={_MEGABYTES}"),
            *(f"-max_len={_LONGEST_INPUT}", f"-dict={WORDS}", f"-artifact_prefix={FINDINGS}/{name}-"),
            *("-print_final_stats=1", "-verbosity=1", "-len_control=20"),
        ]
        # a fuzzer that ends itself is not to leave a core behind, nor to be recorded
        env = {key: value for key, value in os.environ.items() if not key.startswith("REENACT_")}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, check=False)
        told = done.stdout.decode("utf-8", "replace")
        new = sorted(Path(folder).iterdir())
        if keep:
            for path in new:
                shutil.copy(path, CORPUS / name / path.name[:16])
        findings = sorted(path for path in set(FINDINGS.iterdir()) - before if path.name.startswith(f"{name}-"))
        return Fuzzed(name, _executions(told), len(list((CORPUS / name).iterdir())), len(new), findings, _end(told))


def _executions(told: str) -> int:
    stats = re.search(r"stat::number_of_executed_units:\s*(\d+)", told)
    last = re.findall(r"^#(\d+)\s", told, re.MULTILINE)
    return int(stats[1]) if stats else int(last[-1]) if last else 0


def _end(told: str) -> str:
    """The traceback of what it ended with, or its last lines."""
    _, found, rest = told.partition(" === Uncaught Python exception: ===\n")
    lines = (rest if found else told).splitlines()
    return "\n".join(lines[:40] if found else lines[-15:])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"only these: {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=120, metavar="N", help="for how long (default: 120)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many at once (default: 1)")
    parser.add_argument("--keep", action="store_true", help="put inputs that reach more code into the corpus")
    return parser


if __name__ == "__main__":
    sys.exit(main())
