"""What is known of a replay whose process is gone before it could report."""

from __future__ import annotations

from pathlib import Path

import pytest

from reenact.engine.call import Call
from reenact.engine.divergence import Divergence, What
from reenact.engine.plan import replay
from reenact.engine.session import Session
from reenact.launch import ending, running
from reenact.launch.spec import Report
from reenact.tape.event import Kind, Stream
from reenact.tape.recording import Recording
from tests.engine.playbook import Journal


def tape(status: int, *, whole: bool = False) -> Recording:
    """Two calls and some output, of a program that ended like that."""
    journal = Journal()
    for number in range(2):
        journal.answered(journal.asked("POST http://h/", b"question"), b"answer %d" % number)
    journal.wrote(b"said\n")
    recording = journal.ended() if whole else journal.recording
    recording.status = status
    return recording


def replayed(recording: Recording, report: Path, calls: int, *findings: Divergence | str) -> Report:
    """What the parent finds of a replay that made so many calls, and is no more."""
    session = Session(replay(recording), None)
    running.begin(session, report)
    session.wrote(session.main, Stream.STDOUT, b"said\n")
    for _ in range(calls):
        session.boundary.enter("0", Call(Kind.HTTP, "POST http://h/", body=b"question"), None)
    for finding in findings:
        session.found(finding)
    return running.report_of(report)


def test_what_was_counted_and_found_outlives_the_process(tmp_path: Path) -> None:
    stuck = Divergence(What.STUCK, "0")
    report = replayed(tape(-9), tmp_path / "report.json", 1, stuck, "a fault")
    assert (report.begun, report.complete) == (True, False)
    assert (report.asked, report.written) == (1, 5)
    assert report.compared == len(b"question") + len("POST http://h/") + 5
    assert (report.divergences, report.faults) == ([stuck], ["a fault"])


def test_a_finding_that_was_not_written_to_its_end_is_left_out(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    replayed(tape(-9), report, 2, "a fault", "another")
    findings = report.with_suffix(".findings")
    findings.write_bytes(findings.read_bytes()[:-3])
    assert running.report_of(report).faults == ["a fault"]


def test_a_process_that_never_began_has_nothing_to_report(tmp_path: Path) -> None:
    assert running.report_of(tmp_path / "report.json") == Report()


def test_the_report_at_the_end_is_what_counts(tmp_path: Path) -> None:
    whole = Report(asked=7, begun=True, complete=True)
    running.end(tmp_path / "report.json", whole)
    replayed(tape(-9), tmp_path / "report.json", 1)
    assert running.report_of(tmp_path / "report.json") == whole


@pytest.mark.parametrize(
    ("recorded", "calls", "status", "alike"),
    [
        (tape(-9), 2, -9, True),
        (tape(-999), 2, -9, True),  # nobody saw how it ended
        (tape(-9), 2, -11, False),
        (tape(-9), 1, -9, False),
        (tape(-9, whole=True), 2, -9, False),
    ],
)
def test_an_end_without_a_report_is_as_recorded_when_all_on_tape_was_done(
    tmp_path: Path, recorded: Recording, calls: int, status: int, alike: bool
) -> None:
    report = replayed(recorded, tmp_path / "report.json", calls)
    found = ending.difference(recorded, report, status)
    assert (found is None) is alike
    if found is not None:
        assert f"it had made {calls} of the 2 calls on tape" in found.notes
