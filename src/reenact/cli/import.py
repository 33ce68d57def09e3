"""`reenact import`."""

from __future__ import annotations

from pathlib import Path

import click

from reenact.cli import options


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--name", help="What to call the run (default: the name of the file).")
@options.as_json
@options.store
def command(files: tuple[Path, ...], name: str | None, store_dir: str | None, *, as_json: bool) -> None:
    """Put what other tools have recorded of HTTP onto tapes: cassettes of vcrpy, and HAR files.

    Each file becomes a run, to be shown like any, and to answer the HTTP of a program. It has no clock, and no order
    but that of its file. Credentials are left out, as in a recording.

    \b
    reenact import tests/cassettes/*.yaml trace.har
    reenact show last
    reenact replay last -- agent.py
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import Screen
    from reenact.errors import ForeignError
    from reenact.foreign.files import load
    from reenact.foreign.onto import keep
    from reenact.report import imported as reports

    store = options.open_store(store_dir)
    screen = Screen()
    wrong = []
    for path in files:
        try:
            recording = keep(load(path), path, store, name)
        except ForeignError as error:
            wrong.append(f"{path}: {error}")
            continue
        if as_json:
            click.echo(reports.json(recording, path))
        else:
            screen.write(reports.text(recording, path))
    if wrong:
        raise ForeignError("; ".join(wrong))
