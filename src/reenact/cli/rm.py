"""`reenact rm`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from reenact.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from reenact.tape.store import Store


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.store
def command(runs: tuple[str, ...], store_dir: str | None, *, yes: bool) -> None:
    """Delete the tapes of runs, and what belongs to them. What is deleted cannot be had back.

    On a terminal it asks first. When one of the runs cannot be deleted, none is.

    \b
    reenact rm support-agent-7f3a
    reenact rm last --yes
    """  # noqa: D301  \b tells click not to wrap
    from reenact.errors import UsageError
    from reenact.launch import rewinding
    from reenact.report.figures import counted
    from reenact.report.terminal import plain

    store = options.open_store(store_dir)
    paths = list(dict.fromkeys(store.resolve(name) for name in runs))
    _refuse_open(paths)
    for path in paths:
        rewinding.refuse_lost(path)
    _refuse_parents(store, paths)
    if not yes and sys.stdin.isatty():
        names = ", ".join(plain(path.stem) for path in paths)
        if not click.confirm(f"Delete {counted(len(paths), 'run')} ({names})?", err=True):
            click.echo("Nothing was deleted.", err=True)
            sys.exit(1)
        _refuse_open(paths)
    for path in paths:
        try:
            store.remove(path)
            if store.run_of(path):
                rewinding.remove(path)
        except OSError as error:
            raise UsageError(f"cannot delete {path}: {error.strerror}") from error
        click.echo(f"deleted {plain(path.stem)}")


def _refuse_parents(store: Store, paths: list[Path]) -> None:
    """A branch holds only what is new: without its parent it cannot be read."""
    from reenact.errors import UsageError
    from reenact.tape.listing import listing

    gone = {store.run_of(path) for path in paths}
    for one in listing(store):
        if one.parent in gone and one.run not in gone:
            raise UsageError(
                f"{one.run} is a branch of {one.parent} and cannot be read without it. Delete both, or make a whole "
                f"tape of the branch first: reenact scrub {one.run}. Nothing was deleted."
            )


def _refuse_open(paths: list[Path]) -> None:
    from reenact.errors import TapeError, UsageError
    from reenact.tape.close import being_written
    from reenact.tape.reader import summary
    from reenact.tape.recording import RECORDING

    for path in paths:
        try:
            status = summary(path).get("status")
        except TapeError:
            continue  # what is no tape is not being recorded
        if status == RECORDING and being_written(path):
            raise UsageError(f"{path.stem} is still being recorded; end its program first. Nothing was deleted.")
