"""Runs a program on the exchanges of an imported run: these answer its HTTP, it has no network, and all else is live.

It is recorded as it goes: what comes of it is a tape with clock and order, which is replayed like any.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from reenact.errors import UsageError
from reenact.launch import entry, recorder, running
from reenact.launch import manifest as manifests
from reenact.launch.command import Command
from reenact.launch.spec import Report
from reenact.tape.recording import Recording
from reenact.tape.store import Store

RECORDED = "{run} was recorded with its program, and is replayed without naming one: reenact replay {run}"


class Answered(msgspec.Struct, frozen=True):
    """A run that is over. `kept` is its tape; None where it asked for what the `imported` run does not hold."""

    status: int
    imported: Recording
    report: Report
    by_url: bool
    kept: Recording | None


def answered(command: Command, imported: Recording, store: Store, *, by_url: bool = False) -> Answered:
    """Runs a program on the exchanges of an imported run.

    Raises:
        UsageError: it is no imported run, or the program could not be run.
    """
    manifest = manifests.decode(imported.manifest)
    if not entry.is_import(manifest.entry):
        raise UsageError(RECORDED.format(run=manifest.run_id))
    with tempfile.TemporaryDirectory(prefix="reenact-") as folder:
        answers = recorder.Answers(imported.path, Path(folder) / "report.json", by_url)
        status, recording = recorder.record(command, store, answers=answers)
        report = running.report_of(answers.report)
    if report.divergences or not report.complete:
        store.remove(recording.path)
        return Answered(status, imported, report, by_url, None)
    return Answered(status, imported, report, by_url, recording)
