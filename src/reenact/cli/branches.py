"""`reenact branches`."""

from __future__ import annotations

import click

from reenact.cli import options


@click.command()
@click.argument("run")
@options.as_json
@options.store
def command(run: str, store_dir: str | None, *, as_json: bool) -> None:
    """Show the branches of a run as a tree, and the run that it is itself a branch of.

    \b
    reenact branches last
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import Screen
    from reenact.errors import UsageError
    from reenact.report import branches, document
    from reenact.tape.listing import listing

    store = options.open_store(store_dir)
    name = store.run_of(store.resolve(run))
    found = listing(store)
    if name not in {one.run for one in found}:
        raise UsageError(f"{run} is not a run of this store: its branches lie beside it")
    tree = branches.rows(found, name)
    if as_json:
        click.echo(document.encode(tree))
        return
    screen = Screen()
    screen.write(branches.text(tree, name, screen.paint))
    if len(tree) == 1:
        click.echo(f"no branches; make one with:  reenact fork {name} --step N", err=True)
