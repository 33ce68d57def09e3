"""`reenact explore`."""

from __future__ import annotations

import shlex
import signal
import sys
from typing import TYPE_CHECKING

import click

from reenact.cli import options

INTERRUPTED = 128 + signal.SIGINT

if TYPE_CHECKING:
    from reenact.launch.explore import Explored


@click.command()
@click.argument("run")
@click.option("--seed", type=int, default=0, show_default=True, help="Which orders chance tries.")
@click.option(
    "--runs", type=click.IntRange(min=1), default=50, show_default=True, help="How many orders to try at most."
)
@options.as_json
@options.store
def command(run: str, store_dir: str | None, *, seed: int, runs: int, as_json: bool) -> None:
    """Replay RUN with its outcomes in other orders; exit 1 when one changes what it does.

    Answers come, and sleeps and waits end, in other orders than when recorded. The first order that changes what the
    run asks, how it ends, or what it writes is kept as a tape, which replays it every time. The same seed tries the
    same orders.

    \b
    reenact explore last
    reenact explore support-agent-7f3a --seed 7 --runs 200
    """  # noqa: D301  \b tells click not to wrap
    from reenact import _real
    from reenact.cli.progress import Progress
    from reenact.cli.rerun import tell_if_from_elsewhere
    from reenact.cli.screen import Screen
    from reenact.engine import normalize
    from reenact.launch import manifest
    from reenact.launch.explore import explore
    from reenact.launch.settings import Settings
    from reenact.report import explored as reports
    from reenact.tape.reader import read

    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    tell_if_from_elsewhere(recording, store)
    settings = Settings.of_run(manifest.decode(recording.manifest).cwd)
    began = _real.monotonic()
    with settings.importable(), Progress(f"reenact: exploring {recording.path.stem}") as progress:
        normalizers = normalize.load(settings.table)

        def after(so_far: Explored) -> None:
            progress.doing = f"reenact: exploring {recording.path.stem}, {len(so_far.tried)} of {runs} orders"
            progress(_real.monotonic() - began)

        found = explore(recording, store, settings, seed=seed, runs=runs, after=after)
    if as_json:
        click.echo(reports.json(found, normalizers))
    else:
        screen = Screen()
        option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
        screen.write(reports.text(found, normalizers, width=screen.width, paint=screen.paint, store=option))
    sys.exit(INTERRUPTED if found.interrupted else 1 if found.findings else 0)
