"""`reenact sign`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reenact.cli import options


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--key",
    "key_file",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The private key, as `reenact keygen` makes it.",
)
@options.store
def command(runs: tuple[str, ...], key_file: Path, store_dir: str | None) -> None:
    """Sign the tapes of runs: who changes one after that is found out, even if all else on it is made to fit.

    A tape is checked first, as by fsck, and one that is damaged is not signed. The signature becomes a part of its
    file, and changes nothing of what it signs; several people may sign one tape. What a signature says is in
    docs/signatures.md.

    \b
    reenact sign last --key team.key
    reenact verify last --key team.key.pub
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import Screen
    from reenact.launch import closing
    from reenact.report import checked
    from reenact.report.terminal import plain
    from reenact.tape import signatures
    from reenact.tape.check import State, Wanted, check

    key = signatures.private_key(key_file, options.passphrase)
    store = options.open_store(store_dir)
    screen = Screen(err=True)
    damaged = 0
    for path in dict.fromkeys(store.resolve(name) for name in runs):
        found = check(path, closing.close, Wanted(store.run_of(path)))
        if found.state is State.DAMAGED:
            damaged += 1
            screen.write(checked.text(found, width=screen.width, paint=screen.paint))
            continue
        by = signatures.sign(path, found.sealed(), key)
        click.echo(f"signed {plain(path.stem)} by {signatures.name_of(by)}")
    sys.exit(1 if damaged else 0)
