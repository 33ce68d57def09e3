"""`reenact fsck`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from reenact.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from reenact.tape.store import Store


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN…]")
@click.option("--all", "every", is_flag=True, help="Check all tapes of the store.")
@options.key
@options.as_json
@options.store
def command(runs: tuple[str, ...], key_file: Path | None, store_dir: str | None, *, every: bool, as_json: bool) -> None:
    """Check tapes from end to end: every bit, body and row. Exit 1 when one is damaged.

    A tape whose process was killed is closed on the way, so that it can be queried like any other. One that is still
    being recorded is left alone. With --key, a tape that is not signed by that key is damaged, too. What a crash has
    left beside tapes of the store is named, and swept where nobody needs it.

    \b
    reenact fsck last
    reenact fsck --all --key team.key.pub
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import Screen
    from reenact.launch import closing, leftovers
    from reenact.report import checked, leftover
    from reenact.report.terminal import plain
    from reenact.tape.check import State, Wanted, check

    key = options.public_key(key_file)
    store = options.open_store(store_dir)
    screen = Screen()
    damaged = 0
    paths = _paths(store, runs, every=every)
    if not paths and not as_json:
        click.echo(f"No runs in {plain(str(store.root))} yet.")
    for path in paths:
        found = check(path, closing.close, Wanted(store.run_of(path), key))
        damaged += found.state is State.DAMAGED
        if as_json:
            click.echo(checked.json(found))
        else:
            screen.write(checked.text(found, width=screen.width, paint=screen.paint))
    for run in [""] if every else [run for run in map(store.run_of, paths) if run]:
        for left in leftovers.sweep(store, run):
            click.echo(leftover.json(left) if as_json else leftover.text(left))
    sys.exit(1 if damaged else 0)


def _paths(store: Store, runs: tuple[str, ...], *, every: bool) -> list[Path]:
    from reenact.errors import UsageError

    if every == bool(runs):
        raise UsageError("say which runs, by name, or --all" if not every else "give runs by name, or --all, not both")
    names = store.ids() if every else runs
    return list(dict.fromkeys(store.path(name) if every else store.resolve(name) for name in names))
