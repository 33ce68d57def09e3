"""`reenact fork`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from reenact.cli import options
from reenact.errors import UsageError


@click.command()
@click.argument("run")
@click.option("--step", type=int, required=True, help="The step, as `reenact show` numbers it.")
@click.option("--response", "response", metavar="FILE", help="The model answers this; - is the standard input.")
@click.option(
    "--allow", metavar="HAZARD", multiple=True, help="Let it do this to the world, as in tool:refund; * matches."
)
@click.option(
    "--from-tape", metavar="HAZARD", multiple=True, help="Answer this as the parent's tape does, if that has it."
)
@click.option("--live-endpoint", "endpoint", metavar="URL", default="", help="Ask models there, not where the run did.")
@click.option("--name", help="What the branch is called.")
@click.option("--live", is_flag=True, help="Let it go live without asking.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@options.store
def command(
    run: str,
    store_dir: str | None,
    step: int,
    response: str | None,
    allow: tuple[str, ...],
    from_tape: tuple[str, ...],
    endpoint: str,
    name: str | None,
    *,
    live: bool,
    quiet: bool,
) -> None:
    """Run on from a step of a run, another way."""
    from reenact.launch import forking, supervise
    from reenact.launch.fate import Fate, Way, parts_of
    from reenact.launch.settings import Settings
    from reenact.launch.tail import Tail
    from reenact.report import recorded, resumed
    from reenact.tape.reader import read
    from reenact.trajectory import trajectory

    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    manifest = forking.check(recording)
    steps = trajectory(recording).steps
    if not 1 <= step <= len(steps):
        raise UsageError(f"{recording.path.stem} has no step {step}: it has {len(steps)}")
    event = steps[step - 1].attempts[-1]
    edits = parts_of(recording, recording.events[event], Fate(Way.ANSWER, Path(response))) if response else []
    home = Path(manifest.cwd)
    done = forking.fork(
        recording,
        store,
        Settings.near(home if home.is_dir() else Path.cwd()),
        event,
        edits,
        Tail([*allow], [*from_tape], endpoint),
        name or "",
    )
    if done.recording is None:
        click.echo(resumed.failed_text(recording, done.report), nl=False, err=True)
        sys.exit(1)
    option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
    size = done.recording.path.stat().st_size
    click.echo(recorded.text(done.recording, size, option, quiet=quiet), nl=False, err=True)
    supervise.die_as(done.status)
    sys.exit(supervise.mirror(done.status))
