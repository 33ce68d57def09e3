"""`python -m fidelity`: records and verifies one real program per framework, and prints a table."""

from __future__ import annotations

import argparse
import datetime
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from fidelity import environment, table
from fidelity.case import CASES, Case
from fidelity.environment import Environment
from fidelity.trial import Trial, run

DEFAULT = "3.11"
KEPT = Path(__file__).parent.parent / ".venv-fidelity"


def main() -> int:
    """Runs the cases; 1 when one of them is not verified, 2 for a Python that is not there."""
    asked = _parser().parse_args()
    found = {version: _python(version) for version in asked.python or [DEFAULT]}
    missing = [version for version, path in found.items() if path is None]
    if missing:
        sys.stderr.write(f"fidelity: no Python {', '.join(missing)} on this machine\n")
        return 2
    cases = _chosen(asked.cases)
    if not cases:
        sys.stderr.write(f"fidelity: no such case; there are {', '.join(case.package for case in CASES)}\n")
        return 2
    trials: dict[Case, dict[str, Trial]] = {case: {} for case in cases}
    versions: dict[Case, str] = {}
    for version, base in found.items():
        for name in dict.fromkeys(case.environment for case in cases):
            here = [case for case in cases if case.environment == name]
            assert base is not None  # noqa: S101  that was checked
            made = environment.make(name, base, asked.environments)
            versions |= dict(zip(here, made.versions(*(case.package for case in here)), strict=True))
            with ThreadPoolExecutor(asked.jobs) as pool:
                for case, trial in zip(here, pool.map(partial(_tried, made), here), strict=True):
                    trials[case][version] = trial
                    sys.stderr.write(table.line(case, versions[case], version, trial))
    rows = [table.Row(case, versions[case], trials[case]) for case in cases]
    page = table.page(rows, tuple(found), datetime.datetime.now(tz=datetime.UTC).date().isoformat())
    sys.stdout.write(page)
    if asked.write is not None:
        asked.write.write_text(page, encoding="utf-8")
    return int(not all(row.passed for row in rows))


def _tried(made: Environment, case: Case) -> Trial:
    with tempfile.TemporaryDirectory(prefix="reenact-fidelity-") as folder:
        return run(case, made, Path(folder))


def _chosen(names: Sequence[str]) -> list[Case]:
    return [case for case in CASES if not names or case.package in names or case.environment in names]


def _python(version: str) -> Path | None:
    """A Python of that version: this one, one on PATH, or one of pyenv's."""
    if sys.version.startswith(version + "."):
        return Path(sys.base_exec_prefix) / "bin" / "python3"
    on_path = shutil.which(f"python{version}")
    candidates = [*([Path(on_path)] if on_path else ()), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for candidate in candidates:
        done = subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True, check=False)
        if done.returncode == 0:
            return candidate
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fidelity", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="PACKAGE", help="only these, or those of an environment (a, b, c)")
    parser.add_argument(
        "--python", action="append", metavar="3.X", help="on this Python (default: 3.11); may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many programs side by side (default: 1)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to a file, too")
    parser.add_argument("--environments", type=Path, default=KEPT, metavar="DIR", help="where environments are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
