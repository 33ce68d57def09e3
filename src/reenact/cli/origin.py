"""`reenact origin`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reenact.cli import options

if TYPE_CHECKING:
    from reenact.tape.reader import Recording
    from reenact.trajectory.passage import Passage


@click.command()
@click.argument("run")
@click.option("--text", "sought", metavar="TEXT", help="The text whose origin is asked for.")
@click.option("--step", type=int, metavar="N", help="Begin at a step. RUN@N means the same.")
@click.option("--event", type=int, metavar="N", help="Begin at an event.")
@options.as_json
@options.store
def command(
    run: str, sought: str | None, step: int | None, event: int | None, store_dir: str | None, *, as_json: bool
) -> None:
    """Tell where a text came from: where it first came into the run.

    \b
    reenact origin last --text "1,234.50"
    reenact origin last@12 --text Oslo
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
    step = number if step is None else step
    if not sought:
        raise UsageError("say what to look for: --text TEXT")
    recording = outline(options.open_store(store_dir).resolve(name))
    found = trajectory(recording)
    told = runs.run(recording, found)
    crossed = [*_given(recording), *passages(recording, found)]
    came = origin(sought, crossed, found.steps, Start(step, event))
    if as_json:
        click.echo(encode(origins.OriginDocument(run=told.id, found=came)))
    else:
        screen = Screen()
        screen.write(origins.text(told, came, width=screen.width, paint=screen.paint))
    if not came.hops:
        click.get_current_context().exit(1)


def _given(recording: Recording) -> list[Passage]:
    """What the run began with."""
    from reenact.launch import manifest as manifests
    from reenact.trajectory.passage import given

    manifest = manifests.decode(recording.manifest)
    return list(given([*manifest.flags, *manifest.target], manifest.environment.items(), manifest.arguments))
