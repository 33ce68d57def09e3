"""`reenact origin`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reenact.cli import options

if TYPE_CHECKING:
    from reenact.tape.recording import Recording
    from reenact.trajectory import Trajectory
    from reenact.trajectory.origin import Start
    from reenact.trajectory.passage import Passage


@click.command()
@click.argument("run")
@click.option("--text", "sought", metavar="TEXT", help="The text to look for.")
@click.option("--at", "pointer", metavar="POINTER", help="The text there: /answer/… or /request/… (JSON pointer).")
@click.option("--step", type=int, metavar="N", help="Where it is met: a step. RUN@N means the same.")
@click.option("--event", type=int, metavar="N", help="Where it is met: an event.")
@options.as_json
@options.store
def command(  # noqa: PLR0913  its options
    run: str,
    sought: str | None,
    pointer: str | None,
    step: int | None,
    event: int | None,
    store_dir: str | None,
    *,
    as_json: bool,
) -> None:
    """Tell where a text came from: where it first came into a run, and by which way.

    The way begins where the text is met: in what the run wrote or gave back at its end, or else in the last place that
    holds it; with --step or --event there. It goes back to what the model was told, the tool result, the file, the
    answer, the prompt, the argument or the draw that held it before, until nothing does. → crossed the boundary out of
    the program, ← into it. What holds it in another form (1,234.50 for 1234.5), or a part of it, says so.

    \b
    reenact origin last --text "1,234.50"
    reenact origin last@3 --text Oslo
    reenact origin last --step 3 --at /answer/choices/0/message/content
    reenact origin last --event 7 --at /request/customer/id

    Exit status 0: it was found; 1: no text on the tape holds it, or none there; 2: misuse.

    --json prints one object (docs/origin.md): origin, run, found
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import Screen
    from reenact.cli.show import place
    from reenact.errors import UsageError
    from reenact.report import origins
    from reenact.report import run as runs
    from reenact.report.document import encode
    from reenact.tape.reader import outline
    from reenact.trajectory import trajectory
    from reenact.trajectory.origin import Start, origin
    from reenact.trajectory.passage import passages

    name, number = place(run)
    if number is not None and step is not None and number != step:
        raise UsageError(f"{run} already names a step; leave out --step {step}")
    step = number if step is None else step
    if step is not None and event is not None:
        raise UsageError("--step and --event are two places; choose one")
    if (sought is None) == (pointer is None) or sought == "":
        raise UsageError('say what to look for: --text "TEXT", or --at POINTER')
    recording = outline(options.open_store(store_dir).resolve(name))
    found = trajectory(recording)
    start = _start(recording, found, Start(step, event), pointer)
    text = sought if sought is not None else _pointed(recording, found, start, pointer or "")
    told = runs.run(recording, found)
    came = origin(text, [*_given(recording), *passages(recording, found)], found.steps, start)
    if as_json:
        click.echo(encode(origins.OriginDocument(run=told.id, found=came)))
    else:
        screen = Screen()
        screen.write(origins.text(told, came, width=screen.width, paint=screen.paint))
    if not came.hops:
        click.get_current_context().exit(1)


def _start(recording: Recording, found: Trajectory, start: Start, pointer: str | None) -> Start:
    """Where the way begins, which has to be there. A pointer without a step or an event points into the last step."""
    from msgspec.structs import replace

    from reenact.cli.show import has
    from reenact.errors import UsageError
    from reenact.tape.whole import whole
    from reenact.trajectory.passage import Way

    steps, events = len(found.steps), len(whole(recording).events)
    if start.step is not None and not 1 <= start.step <= steps:
        raise UsageError(f"there is no step {start.step}: {has(recording, steps, 'step', 1)}")
    if start.event is not None and not 0 <= start.event < events:
        raise UsageError(f"there is no event {start.event}: {has(recording, events, 'event', 0)}")
    if pointer is None:
        return start
    if start.step is None and start.event is None:
        if not steps:
            raise UsageError("the run has no steps to point into; name an event with --event")
        start = replace(start, step=steps)
    return replace(start, way=Way.OUT if pointer.startswith("/request") else Way.IN)


def _pointed(recording: Recording, found: Trajectory, start: Start, pointer: str) -> str:
    """The text that the pointer means."""
    from reenact.errors import UsageError
    from reenact.tape.whole import whole
    from reenact.trajectory.exchanges import Exchanges
    from reenact.trajectory.pointed import pointed

    together = whole(recording)
    steps = (one for one in found.steps if start.step == one.number or start.event in one.attempts)
    step = next(steps, None)
    event = start.event if start.event is not None or step is None else step.attempts[-1]
    exchange = Exchanges(together).of(together.events[event or 0])
    try:
        return pointed(exchange, step.answer if step is not None else None, pointer)
    except LookupError as error:
        raise UsageError(error.args[0]) from None


def _given(recording: Recording) -> list[Passage]:
    """What the run began with, and the Pythons that it has started."""
    from reenact.launch import manifest as manifests
    from reenact.tape.whole import every
    from reenact.trajectory.moments import began
    from reenact.trajectory.passage import given

    found: list[Passage] = []
    starts = began(recording)
    for part in every(recording):
        if not part.manifest:  # a process of multiprocessing begins with what it is sent
            continue
        manifest = manifests.decode(part.manifest)
        place = (part.main, starts.get(part.main, 0)) if part is not recording else ()
        words = [*manifest.flags, *manifest.target]
        found += given(words, manifest.environment.items(), manifest.arguments, *place)
    return found
