"""`reenact demo`."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def command(folder: Path | None) -> None:
    """See all of it on a small agent: record, show, replay, verify, and a change that is caught.

    The agent stays in FOLDER (default: reenact-demo), to look at and try commands on. Nothing reaches the network.
    """
    from reenact.cli.screen import Screen
    from reenact.demo.play import play

    screen = Screen()
    sys.exit(play(folder, screen.stream, screen.paint))
