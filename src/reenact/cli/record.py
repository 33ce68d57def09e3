"""`reenact record`."""

from __future__ import annotations

import shlex
import sys

import click

from reenact.cli import options


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
@click.option("--name", help="What to call the run (default: the program's name).")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@click.option("--deep", is_flag=True, help="Keep digests of the program's variables, for verify --deep.")
@click.option("--session", metavar="ID", help="The conversation that this run belongs to, with others.")
@click.option("--tag", "tags", metavar="KEY[=VALUE]", multiple=True, help="A tag, to find the run by; may be repeated.")
@options.store
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]… | -- COMMAND…")
def command(
    module: str | None,
    name: str | None,
    store_dir: str | None,
    words: tuple[str, ...],
    *,
    session: str | None,
    tags: tuple[str, ...],
    deep: bool,
    quiet: bool,
) -> None:
    """Run a Python program and record everything that could answer differently next time.

    What the program writes, and its exit status, are what they would be without reenact, whose own words go to stderr.

    \b
    reenact record agent.py --city Oslo
    reenact record -m pkg.agent --city Oslo
    reenact record -- python -X dev -m pytest -q
    reenact record --session support-4711 --tag env=prod --tag beta agent.py
    """  # noqa: D301  \b tells click not to wrap
    from reenact.launch import launcher, supervise
    from reenact.launch.command import parse
    from reenact.launch.labels import Labels
    from reenact.report import recorded
    from reenact.tape.labels import parsed

    labels = Labels.given(session, parsed(tags))
    command, store = parse(words, module=module), options.open_store(store_dir)
    status, recording = launcher.record(command, store, name, deep=deep, labels=labels)
    option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
    click.echo(recorded.text(recording, recording.path.stat().st_size, option, quiet=quiet), nl=False, err=True)
    supervise.die_as(status)
    sys.exit(supervise.mirror(status))
