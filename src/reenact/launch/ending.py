"""How a process ended: in words, and where a replay ended in another way than its recording."""

from __future__ import annotations

import signal

from reenact.engine.divergence import Datum, Divergence, What
from reenact.launch.manifest import describe
from reenact.launch.spec import Report
from reenact.tape.event import UNKNOWN_STATUS, Kind
from reenact.tape.recording import Recording

_LEFT_TAPE = "DivergenceError"
_SHOWN = 6  # last lines of stderr that tell why a process crashed


def gone(recording: Recording) -> str:
    """Why the tape may not hold all of the run; empty where it does."""
    if recording.closed_by_itself:
        return ""
    return became(recording) or (
        f"the recorded process was gone before its end ({told(recording.status)}); the tape holds all until then"
    )


def became(recording: Recording) -> str:
    """That another program took the place of the recorded one; empty where none did."""
    for event in recording.events:
        if event.kind is Kind.EXEC and not event.parts:
            return f"the program became another ({event.name}): the tape holds all until then, and nothing of that"
    return ""


def known(status: int | None) -> int:
    """An exit status on tape; 0 where nobody saw it."""
    return 0 if status is None or status == UNKNOWN_STATUS else status


def told(status: int | None) -> str:
    """An exit status in words."""
    if status is None or status == UNKNOWN_STATUS:
        return "exit status unknown"
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def difference(recording: Recording, report: Report, status: int, stderr: bytes = b"") -> Divergence | None:
    """Where the replay's end differs from the recorded one, if it does.

    A run that left its tape ends there, so its end is not compared; nor is that of a recording that was cut, unless the
    replaying process was gone without a report, too. `stderr` is the end of what the replay wrote there, if known.
    """
    if not report.complete:
        return None if _gone_alike(recording, report, status) else _gone(recording, report, status, stderr)
    if report.cut or _ended_by_us(report, status) or not recording.closed_by_itself:
        return None
    if recording.status not in (None, UNKNOWN_STATUS, status):
        notes = (*_errors(recording, report), *_tail(report, stderr))
        return _other_end(recording.main, told(recording.status), told(status), notes)
    before = recorded_error(recording)
    if report.error != before:
        return _other_end(recording.main, before or "no exception", report.error or "no exception", ())
    return None


def recorded_error(recording: Recording) -> str:
    """The exception that ended the recorded program, in a line; empty for none."""
    error = recording.ended.error if recording.ended is not None else None
    return describe(error) if error is not None else ""


def on_the_way(divergence: Divergence) -> bool:
    """Whether the program was told of it while it ran; what is missing shows at the end, and a variable to us alone."""
    unwritten = divergence.what is What.OUTPUT and isinstance(divergence.actual, Datum) and not divergence.actual.data
    return divergence.what not in (What.MISSING, What.LOCAL) and not unwritten


def _ended_by_us(report: Report, status: int) -> bool:
    told_so = any(map(on_the_way, report.divergences))
    return told_so and (_LEFT_TAPE in report.error if report.error else status == 1)


def _errors(recording: Recording, report: Report) -> tuple[str, ...]:
    pairs = (("when recorded", recorded_error(recording)), ("now", report.error))
    return tuple(f"{when}, it was ended by {error}" for when, error in pairs if error)


def _tail(report: Report, stderr: bytes) -> tuple[str, ...]:
    lines = stderr.decode("utf-8", "replace").rstrip().splitlines()
    return tuple(line.rstrip() for line in lines[-_SHOWN:]) if report.error or not report.complete else ()


def _gone_alike(recording: Recording, report: Report, status: int) -> bool:
    """Whether both processes were gone in the same way before their end, and the replay had done all on tape."""
    same_end = recording.status in (None, UNKNOWN_STATUS, status) and not recording.closed_by_itself
    return same_end and report.begun and (report.asked, report.written) == _whole(recording)


def _gone(recording: Recording, report: Report, status: int, stderr: bytes) -> Divergence:
    notes = [f"the replaying process was gone ({told(status)}) before it could report"]
    if report.begun:
        events, output = _whole(recording)
        notes.append(f"it had made {report.asked:,} of the {events:,} calls on tape")
        notes.append(f"it had written {report.written:,} of the {output:,} bytes of output on tape")
    end = told(recording.status) + (", at its end" if recording.closed_by_itself else "")
    return _other_end(recording.main, end, f"{told(status)}, before its end", (*notes, *_tail(report, stderr)))


def _whole(recording: Recording) -> tuple[int, int]:
    """How many calls are on tape, and how many bytes of output."""
    return len(recording.compared), recording.output


def _other_end(lane: str, before: str, after: str, notes: tuple[str, ...]) -> Divergence:
    return Divergence(
        What.EXIT,
        lane,
        expected=Datum("exit", "exit", before.encode()),
        actual=Datum("exit", "exit", after.encode()),
        notes=notes,
    )
