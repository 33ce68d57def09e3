"""`reenact show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reenact.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from reenact.tape.recording import Recording
    from reenact.trajectory import Trajectory


@click.command()
@click.argument("run")
@click.option("--step", type=int, metavar="N", help="One step in full. RUN@N means the same.")
@click.option("--agent", metavar="NAME", help="What an agent did that the program has marked (reenact.agent).")
@click.option("--event", type=int, metavar="N", help="One event byte for byte.")
@options.as_json
@options.store
def command(
    run: str, step: int | None, agent: str | None, event: int | None, store_dir: str | None, *, as_json: bool
) -> None:
    """Show what a run did, step by step.

    A step is one decision of a model and the tool calls that it caused. Of each request, what is new in it is shown:
    agents send their whole history every time. → is what the model was told, ← what it said, · what happened besides,
    and ! what went wrong. What the program has marked as done by an agent, or as a step of its own, is told with it.

    \b
    reenact show last
    reenact show support-agent-7f3a@12
    reenact show last --agent planner
    reenact show last --event 30
    reenact show last --json | jq '.steps[].answer'

    \b
    --json prints one object. Times are ns since the run began.
      whole run  run, steps, outside (events that belong to no step), marks
      --step     run, step, given (what its tools gave back), marks
      --event    run, step, entry, request, response, pieces, value, raised, marks
    """  # noqa: D301  \b tells click not to wrap
    from reenact.errors import UsageError
    from reenact.tape.reader import outline, read
    from reenact.tape.whole import whole
    from reenact.trajectory import trajectory

    name, number = place(run)
    if number is not None and step is not None and number != step:
        raise UsageError(f"{run} already names a step; leave out --step {step}")
    step = step if step is not None else number
    views = {"--step": step, "--event": event, "--agent": agent}
    chosen = [name for name, value in views.items() if value is not None]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are {len(chosen)} views; choose one")
    path = options.open_store(store_dir).resolve(name)
    recording = read(path) if event is not None else outline(path)
    found = trajectory(recording)
    if event is not None:
        _event(whole(recording), found, event, as_json=as_json)
    elif step is not None:
        _step(recording, found, step, as_json=as_json)
    else:
        _timeline(path, recording, found, agent, as_json=as_json)


def _timeline(path: Path, recording: Recording, found: Trajectory, agent: str | None, *, as_json: bool) -> None:
    from reenact import _real
    from reenact.cli.screen import Screen
    from reenact.report import run as runs
    from reenact.report import timeline
    from reenact.tape.close import being_written

    live = recording.status is None and being_written(path)
    run = runs.run(recording, found, live=live)
    if agent is not None:
        _check_agent(recording, found, agent)
        found = found.of_agent(agent)
    if as_json:
        _print_json(timeline.Timeline(run=run, steps=found.steps, outside=found.outside, marks=found.marks))
        return
    screen = Screen()
    now = _real.time_ns()
    screen.write(timeline.text(run, found, now=now, width=screen.width, paint=screen.paint, agent=agent or ""))


def _check_agent(recording: Recording, found: Trajectory, agent: str) -> None:
    from reenact.errors import UsageError
    from reenact.trajectory.mark import AGENT

    names = dict.fromkeys(mark.name for mark in found.marks if mark.kind == AGENT)
    if agent not in names:
        run = recording.summary.get("run_id", recording.path.stem)
        marked = f"marks {', '.join(map(repr, names))}" if names else "marks none (with reenact.agent)"
        raise UsageError(f"there is no agent {agent!r}: {run} {marked}")


def _step(recording: Recording, found: Trajectory, number: int, *, as_json: bool) -> None:
    from reenact.cli.screen import Screen
    from reenact.errors import UsageError
    from reenact.report import run as runs
    from reenact.report import step as steps
    from reenact.trajectory import way

    if not 1 <= number <= len(found.steps):
        raise UsageError(f"there is no step {number}: {has(recording, len(found.steps), 'step', 1)}")
    step = found.steps[number - 1]
    given, marks = steps.given(step, found.steps), tuple(way(found.marks, step.mark))
    document = steps.StepDocument(run=runs.run(recording, found), step=step, given=given, marks=marks)
    if as_json:
        _print_json(document)
    else:
        screen = Screen()
        screen.write(steps.text(document, width=screen.width, paint=screen.paint))


def _event(recording: Recording, found: Trajectory, number: int, *, as_json: bool) -> None:
    from reenact.cli.screen import Screen
    from reenact.errors import UsageError
    from reenact.launch import manifest as manifests
    from reenact.report import event as events
    from reenact.trajectory import way

    if not 0 <= number < len(recording.events):
        raise UsageError(f"there is no event {number}: {has(recording, len(recording.events), 'event', 0)}")
    manifest = manifests.decode(recording.manifest)
    places = {entry.event: (entry, step.number) for step in found.steps for entry in step.entries}
    entry, step = places.get(number) or (next(entry for entry in found.outside if entry.event == number), None)
    document = events.document(recording, entry, run=manifest.run_id, step=step, marks=way(found.marks, entry.mark))
    if as_json:
        _print_json(document)
        return
    lanes = {lane.path: lane.name for lane in recording.lanes.values()}
    screen = Screen()
    screen.write(events.text(document, cwd=manifest.cwd, lanes=lanes, width=screen.width, paint=screen.paint))


def place(run: str) -> tuple[str, int | None]:
    """A run, and the step of it that `run@12` means."""
    name, at, number = run.rpartition("@")
    is_number = number.isascii() and number.isdigit() and len(number) < 18
    return (name, int(number)) if at and name and is_number else (run, None)


def has(recording: Recording, count: int, what: str, first: int) -> str:
    """What a run has, for who asks for what it has not."""
    run = recording.summary.get("run_id", recording.path.stem)
    if not count:
        return f"{run} has no {what}s"
    return f"{run} has {what} {first} only" if count == 1 else f"{run} has {what}s {first} to {first + count - 1}"


def _print_json(value: object) -> None:
    from reenact.report.document import encode

    click.echo(encode(value))
