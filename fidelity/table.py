"""The table of what came of it, for the documents and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fidelity.case import Case
from fidelity.trial import Trial

_HEAD = """# Fidelity

<!-- Written by: ./task fidelity --python 3.11 --python 3.12 --python 3.13 --write docs/fidelity.md -->

One real program for each framework, none of which has heard of reenact: each has two tools (one reads clock and
entropy, one writes to a file) and takes at least four steps. `reenact record` runs it against a model server on the
same machine; then the server is stopped, and `reenact verify` runs it again. The programs are in `fidelity/programs/`,
the pinned environments in `fidelity/environments/`, and `./task fidelity` runs them all.

- **verified** is N of N calls, byte for byte, with the model gone.
- **effects** are files of the program, or of its home, that the replay has changed. There must be none.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One framework, by version of Python."""

    case: Case
    version: str
    trials: Mapping[str, Trial]

    @property
    def passed(self) -> bool:
        """On each Python."""
        return all(trial.passed for trial in self.trials.values())


def page(rows: Sequence[Row], pythons: Sequence[str], date: str) -> str:
    """The page, as Markdown."""
    passed = sum(row.passed for row in rows)
    head = ["framework", "version", "steps", *(f"verified on {python}" for python in pythons), "effects", "refused"]
    lines = [head, ["---"] * len(head), *(_cells(row, pythons) for row in rows)]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{_HEAD}\n{date}: **{passed} of {len(rows)} verified**.\n\n{body}\n"


def line(case: Case, version: str, python: str, trial: Trial) -> str:
    """One trial, for a terminal."""
    verdict = "verified" if trial.passed else "NOT VERIFIED"
    changed = f"; it changed {', '.join(trial.changed)}" if trial.changed else ""
    trouble = f"\n  {trial.trouble}" if trial.trouble else ""
    return f"{case.name} {version}, Python {python}: {verdict}, {trial.calls} calls{changed}{trouble}\n"


def _cells(row: Row, pythons: Sequence[str]) -> list[str]:
    trials = [row.trials[python] for python in pythons]
    verified = [f"{trial.calls}" if trial.passed else f"**no** ({trial.calls or 'nothing'})" for trial in trials]
    effects = str(max(len(trial.changed) for trial in trials))
    refused = "; ".join(dict.fromkeys(note for trial in trials for note in trial.refused)) or "–"
    return [row.case.name, row.version, str(row.case.steps), *verified, effects, refused]
