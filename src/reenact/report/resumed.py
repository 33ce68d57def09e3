"""What is told of a run that is resumed: what is to be decided first, what came of it, and why it did not go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reenact.launch.spec import Report
from reenact.report import divergence
from reenact.report.figures import counted
from reenact.report.terminal import plain
from reenact.tape.continuing import lost_with
from reenact.tape.event import Kind
from reenact.tape.recording import Event, Recording

_WHAT = {Kind.HTTP: "request", Kind.TOOL: "tool", Kind.PROCESS: "child process", Kind.EXEC: "program"}


def open_text(recording: Recording, events: Sequence[Event], store: str) -> str:
    """The calls that have no outcome on tape, and what can be done about them."""
    run, first = plain(recording.path.stem), events[0].id
    lines = [
        f"reenact: {run} was killed while {'this was' if len(events) == 1 else 'these were'} under way.",
        "What has become of it is not on tape, and it may have had its effect:",
        *(line for event in events for line in _open(recording, event)),
        "Nothing was started. Say what is to be done:",
        f"    reenact resume {run}{store} --retry              asks again",
        f"    reenact resume {run}{store} --skip               tells the program that it failed",
        f"    reenact resume {run}{store} --answer {first}=FILE     gives the program that answer",
        "    (each takes an event, as in --retry 12 --skip 14)",
    ]
    return "".join(f"{line}\n" for line in lines)


def _open(recording: Recording, event: Event) -> Iterator[str]:
    where = f"  at {plain(event.site.file)}:{event.site.line}" if event.site is not None else ""
    came = f", of which {counted(len(event.parts), 'part')} had come" if event.kind is Kind.HTTP and event.parts else ""
    yield f"    event {event.id}: {_WHAT.get(event.kind, 'call')} {plain(event.name)}{came}{where}"
    lost = lost_with(recording, event)
    if lost:
        names = ", ".join(str(other.id) for other in lost)
        yield f"        to ask it again is to ask again what its lane did after it, too: event {names}"


def text(recording: Recording, report: Report, *, quiet: bool) -> str:
    """What came of a run that went on."""
    lines = []
    if not quiet:
        lines.append(
            f"reenact: resumed {plain(recording.path.stem)}: {counted(report.asked, 'call')} answered from its tape, "
            "the others live"
        )
    for path, copy in report.aside.items():
        lines.append(
            f"reenact: {plain(path)} looked otherwise when the run was resumed than the run had left it: it is as the "
            f"run knows it, and what stood there is in {plain(copy)}"
        )
    lines += [f"reenact: {plain(line)}" for line in report.unrestored]
    return "".join(f"{line}\n" for line in lines)


def failed_text(recording: Recording, report: Report) -> str:
    """Why a run did not go on."""
    run = plain(recording.path.stem)
    lines = [
        f"reenact: {run} was not resumed: it did not come to where it was killed.",
        "Nothing live was done, and the files are as they were.",
    ]
    if report.divergences:
        lines.append(divergence.text(report.divergences[0], width=100).rstrip("\n"))
    elif report.error:
        lines.append(f"    it ended by {plain(report.error)}")
    lines += [f"    {plain(line)}" for line in (*report.unrestored, *report.faults)]
    return "".join(f"{line}\n" for line in lines)
