"""What a run was and how it ended: the head of a timeline, and part of the JSON of `reenact show --json`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from reenact.launch import manifest as manifests
from reenact.launch.manifest import Manifest
from reenact.providers import Usage
from reenact.report import moment
from reenact.report.figures import counted, inside, lasted, seconds, tagged
from reenact.report.note import LISTED, MEANING, last_line, side
from reenact.report.terminal import Paint, clip, columns, plain, preview
from reenact.tape import branching
from reenact.tape.close import labels_of, outcome
from reenact.tape.event import UNKNOWN_STATUS
from reenact.tape.recording import Recording
from reenact.tape.whole import every, whole
from reenact.trajectory import Place, Trajectory
from reenact.trajectory.exchange import class_of, message_of

_LABEL: Final = 10


class Lane(msgspec.Struct, frozen=True):
    """A strand of the run: its birth path, its name, and how many events it has. `process` is empty for the first."""

    path: str
    name: str
    events: int
    process: str = ""


class Process(msgspec.Struct, frozen=True):
    """A process that the run has started: the birth path of its main lane, its name, and how many events it has.

    `whole` is false when it was killed, so that the tape holds it until then only.
    """

    lane: str
    name: str
    events: int
    whole: bool


class Noted(msgspec.Struct, frozen=True):
    """Something to be told of the recording. `slug` says what sort: "unseen", "fault" and the like."""

    slug: str
    text: str
    site: Place | None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a whole.

    `program` is its command line. `started` is ns since 1970, `duration` ns. `recording` says that it still goes on;
    `outcome` is "ok", "failed", "exit N", "killed…" or "recording". `exit_status` is negative for a signal, None where
    nobody saw it. `error` is the exception that ended the program. `model_calls` counts requests to models, failed
    ones too; `usage` is the tokens of all but the `uncounted` answers, which do not tell theirs. `lanes` are those
    that have events, `processes` what the run has started; `side_traffic` counts, by host, the requests that are no
    part of the run. `digest` is the head of the tape's chain. `session` is empty for none; `tags` without a value have
    an empty one. A branch has a `parent`, which it leaves at `parent_step` (0: at none), where `edited` is what is
    other; its first `inherited` events were asked in the parent.
    """

    id: str
    name: str
    program: tuple[str, ...]
    cwd: str
    python: str
    reenact: str
    started: int
    started_at: str
    duration: int
    recording: bool
    outcome: str
    exit_status: int | None
    error: str
    steps: int
    model_calls: int
    events: int
    usage: Usage
    uncounted: int
    lanes: tuple[Lane, ...]
    processes: tuple[Process, ...]
    notes: tuple[Noted, ...]
    side_traffic: dict[str, int]
    digest: str
    session: str = ""
    tags: dict[str, str] = {}
    parent: str = ""
    parent_step: int = 0
    edited: str = ""
    inherited: int = 0


def run(recording: Recording, trajectory: Trajectory, *, live: bool = False) -> Run:
    """The head of a recording. `live` says that its process still writes."""
    manifest = manifests.decode(recording.manifest)
    together = whole(recording)
    first, *processes = every(recording)
    ended = recording.ended
    status = recording.status
    session, tags = labels_of(together)
    return Run(
        id=manifest.run_id,
        name=manifest.name,
        program=_program(manifest),
        cwd=manifest.cwd,
        python=manifest.python,
        reenact=manifest.reenact,
        started=manifest.started,
        started_at=moment.iso(manifest.started),
        duration=lasted(recording),
        recording=live,
        outcome="recording" if live else outcome(recording),
        exit_status=None if status == UNKNOWN_STATUS else status,
        error=f"{class_of(ended.error)}: {message_of(ended.error)}" if ended is not None and ended.error else "",
        steps=len(trajectory.steps),
        model_calls=trajectory.model_calls,
        events=len(together.events),
        usage=total(entry.usage for entry in trajectory.entries),
        uncounted=sum(step.complete and step.usage is None for step in trajectory.steps),
        lanes=tuple(
            Lane(lane.path, lane.name, len(lane.events), "" if process is first else process.name)
            for process in (first, *processes)
            for lane in process.lanes.values()
            if lane.events
        ),
        processes=tuple(Process(one.main, one.name, len(one.events), one.closed_by_itself) for one in processes),
        notes=tuple(
            Noted(note.slug, note.text, Place(site.place, site.file, site.line) if site is not None else None)
            for note, site in together.notes
        ),
        side_traffic=together.side_traffic,
        digest=recording.digest.hex(),
        session=session,
        tags=tags,
        inherited=recording.inherited,
        **branching.rows(recording.branch),  # type: ignore[arg-type]  # texts and a number, by their names
    )


def named(run: Run) -> dict[str, str]:
    """What the lanes are called, by their paths; those of a process with its name."""
    return {lane.path: _named(lane, {each.lane for each in run.processes}) for lane in run.lanes}


def _named(lane: Lane, mains: set[str]) -> str:
    return f"{lane.name} of {lane.process}" if lane.process and lane.path not in mains else lane.name


def text(run: Run, *, now: int, width: int, paint: Paint) -> Iterator[str]:
    """The head for a terminal, line by line."""
    good = paint.good if run.outcome == "ok" else paint.warn if run.recording else paint.bad
    yield f"{paint.bold(f'Run {plain(run.id)}')}  {good(clip(told(run.outcome), width - len(run.id) - 6))}"
    room = width - _LABEL - 2
    facts = [
        ("program", list(_started(run))),
        ("started", [_when(run, now)]),
        *(("branch of", [branched(run)]) for _ in filter(None, [run.parent])),
        ("holds", list(filter(None, (_holds(run), tokens(run.usage) + _untold(run))))),
        *(("session", [plain(told)]) for told in filter(None, [run.session])),
        *(("tags", [told]) for told in filter(None, [tagged(run.tags)])),
        *(("beside it", [told]) for told in side(run.side_traffic)),
    ]
    for label, values in facts:
        rows = _rows(values, room)
        yield from (f"  {paint.dim(('' if row else label).ljust(_LABEL))}{value}" for row, value in enumerate(rows))
    if run.error:
        for row, line in enumerate(preview(run.error, room, 3)):
            yield f"  {paint.bad(('' if row else 'error').ljust(_LABEL))}{line}"
    yield from _notes(run, paint, width)


def branched(run: Run) -> str:
    """Where a branch leaves its parent, and how."""
    where = f" at step {run.parent_step}" if run.parent_step else ""
    return f"{plain(run.parent)}{where}: {plain(run.edited)}"


def _started(run: Run) -> Iterator[str]:
    yield plain(shlex.join(run.program))
    if run.python:  # an imported run has had none
        yield f"(Python {plain(run.python)}, in {plain(run.cwd)})"


def _rows(values: Sequence[str], room: int) -> list[str]:
    """Values side by side where there is room, else each on a row of its own."""
    whole = "   ".join(values)
    return [whole] if columns(whole) <= room else [clip(value, room) for value in values]


def told(outcome: str) -> str:
    """An outcome in words that say what it means."""
    if outcome == "recording":
        return "still being recorded"
    if outcome.startswith("killed"):
        return f"{outcome}: the tape holds all until then"
    return outcome


def tokens(usage: Usage | None) -> str:
    """Tokens in words; empty for none."""
    if usage is None or usage == Usage():
        return ""
    if not usage.output:
        return counted(usage.input, "token")
    cached = f" ({usage.cached_input:,} cached)" if usage.cached_input else ""
    reasoning = f" ({usage.reasoning:,} reasoning)" if usage.reasoning else ""
    return f"{usage.input:,} tokens in{cached}, {usage.output:,} out{reasoning}"


def where(site: Place | None, cwd: str) -> str:
    """A line of source, by a path from the run's working directory where it is inside."""
    if site is None:
        return ""
    return plain(f"{inside(site.file, cwd)}:{site.line}")


def _program(manifest: Manifest) -> tuple[str, ...]:
    if manifest.entry:
        return (manifest.entry,)
    return (Path(manifest.executable).name or "python", *manifest.flags, *manifest.target)


def _when(run: Run, now: int) -> str:
    ago = moment.ago(run.started, now)
    took = f", took {seconds(run.duration)}" if not run.recording else ""
    return f"{moment.local(run.started)}{f' ({ago})' if ago else ''}{took}"


def _holds(run: Run) -> str:
    lanes = f" in {counted(len(run.lanes), 'lane')}" if len(run.lanes) > 1 else ""
    calls = f", {counted(run.model_calls, 'model call')}" if run.model_calls != run.steps else ""
    processes = f" and {counted(len(run.processes), 'process')}" if run.processes else ""
    return f"{counted(run.steps, 'step')}{calls}, {counted(run.events, 'event')}{lanes}{processes}"


def _untold(run: Run) -> str:
    if not run.uncounted:
        return ""
    return f"{'; ' if tokens(run.usage) else ''}{counted(run.uncounted, 'answer')} without a count of tokens"


def total(usages: Iterable[Usage | None]) -> Usage:
    """The tokens of all of them."""
    given = [usage for usage in usages if usage is not None]
    return Usage(*(sum(getattr(usage, name) for usage in given) for name in Usage.__struct_fields__))


def _notes(run: Run, paint: Paint, width: int) -> Iterator[str]:
    for slug in dict.fromkeys(note.slug for note in run.notes):
        noted = [note for note in run.notes if note.slug == slug]
        yield f"  {paint.warn('!')} {clip(MEANING.get(slug, plain(slug)), width - 4)}"
        for note in noted[:LISTED]:
            site = where(note.site, run.cwd)
            yield clip(f"      {plain(last_line(note.text))}{f'  at {site}' if site else ''}", width)
        if len(noted) > LISTED:
            yield f"      … and {len(noted) - LISTED:,} more"
