"""`reenact runs`."""

from __future__ import annotations

import shutil
import sys

import click

from reenact.cli import options


@click.command()
@options.as_json
@options.store
def command(store_dir: str | None, *, as_json: bool) -> None:
    """List the recorded runs, the newest first.

    STEPS are decisions of a model, each with the tool calls that it caused; EVENTS is everything that crossed a
    boundary of the program. OUTCOME is ok, exit N, failed (an exception, in spite of exit status 0), killed, or
    recording. A star says that reenact itself failed, so that the tape is incomplete.
    """
    from reenact import _real
    from reenact.cli.screen import Screen
    from reenact.report import document, table
    from reenact.report.terminal import plain
    from reenact.tape.listing import listing

    store = options.open_store(store_dir)
    found = listing(store)
    if as_json:
        click.echo(document.encode(table.rows(found)))
    elif not found:
        click.echo(f"No runs in {plain(str(store.root))} yet. Record one with:  reenact record agent.py")
    else:
        screen = Screen()
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        screen.write(table.text(found, now=_real.time_ns(), width=width, paint=screen.paint))
