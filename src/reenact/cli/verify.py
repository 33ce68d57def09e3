"""`reenact verify`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from reenact.cli import options


@click.command()
@click.argument("run")
@click.option("--observe", is_flag=True, help="Go on past differences, and list them all.")
@click.option("--deep", is_flag=True, help="Compare the program's variables, too (of a run recorded with --deep).")
@click.option("-v", "--verbose", is_flag=True, help="Tell more of the program and its world.")
@options.key
@options.as_json
@options.store
def command(  # noqa: PLR0913  one for each option
    run: str,
    key_file: Path | None,
    store_dir: str | None,
    *,
    observe: bool,
    deep: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Replay RUN offline and compare everything; exit 1 on the first difference.

    Every request that the program makes, every byte that it writes, and the way it ends are compared with the tape;
    with --deep, what its own variables hold at each of its calls, too. With --key, the tape has to be signed by that
    key.

    \b
    reenact verify last
    reenact verify support-agent-7f3a --observe --json
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.rerun import rerun
    from reenact.launch.launcher import Manner

    key = options.public_key(key_file)
    _, certificate = rerun(run, store_dir, Manner(observe=observe, deep=deep, quiet=True), key)
    from reenact.cli.screen import Screen
    from reenact.report import certificate as certificates

    if as_json:
        click.echo(certificates.json(certificate))
    else:
        screen = Screen()
        screen.write(certificates.text(certificate, width=screen.width, paint=screen.paint, verbose=verbose))
    sys.exit(0 if certificates.passed(certificate) else 1)
