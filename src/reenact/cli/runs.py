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

    CALLS are requests to models, failed ones too; EVENTS is everything that crossed a boundary of the program.
    OUTCOME is ok, exit N, failed (an exception, in spite of exit status 0), killed, or recording. A star says that
    reenact itself failed, so that the tape is incomplete.
    """
    from reenact import _real
    from reenact.report import document, table
    from reenact.report.divergence import plain
    from reenact.report.terminal import Paint, encodable
    from reenact.tape.listing import listing

    store = options.open_store(store_dir)
    found = listing(store)
    if as_json:
        click.echo(document.encode(table.rows(found)))
    elif not found:
        click.echo(f"No runs in {plain(str(store.root))} yet. Record one with:  reenact record agent.py")
    else:
        paint = Paint(on=options.colored(sys.stdout))
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        lines = table.text(found, now=_real.time_ns(), width=width, paint=paint)
        click.echo(encodable("\n".join(lines), sys.stdout))
