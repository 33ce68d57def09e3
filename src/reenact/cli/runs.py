"""`reenact runs`."""

from __future__ import annotations

import shutil
import sys

import click

from reenact.cli import options


@click.command()
@click.option("--session", metavar="ID", help="Only the runs of a session.")
@click.option("--tag", "tags", metavar="KEY[=VALUE]", multiple=True, help="Only runs with this tag; may be repeated.")
@options.as_json
@options.store
def command(session: str | None, tags: tuple[str, ...], store_dir: str | None, *, as_json: bool) -> None:
    """List the recorded runs, the newest first.

    STEPS are decisions of a model, each with the tool calls that it caused; EVENTS is everything that crossed a
    boundary of the program. OUTCOME is ok, exit N, failed (an exception, in spite of exit status 0), killed, or
    recording. A star says that reenact itself failed, so that the tape is incomplete.

    \b
    reenact runs --session support-4711
    reenact runs --tag env=prod --tag beta --json
    """  # noqa: D301  \b tells click not to wrap
    from reenact import _real
    from reenact.cli.screen import Screen
    from reenact.report import document, table
    from reenact.report.terminal import plain
    from reenact.tape.labels import parsed, session_id
    from reenact.tape.listing import Wanted, listing

    store = options.open_store(store_dir)
    wanted = Wanted(session_id(session) if session is not None else "", parsed(tags))
    found = listing(store, wanted)
    if as_json:
        click.echo(document.encode(table.rows(found)))
    elif not found and wanted != Wanted():
        click.echo(f"No such runs in {plain(str(store.root))}.")
    elif not found:
        click.echo(f"No runs in {plain(str(store.root))} yet. Record one with:  reenact record agent.py")
    else:
        screen = Screen()
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        screen.write(table.text(found, now=_real.time_ns(), width=width, paint=screen.paint))
