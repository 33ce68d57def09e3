"""Options that mean the same on every command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

import click

from reenact.tape.store import Store

store = click.option(
    "--store", "store_dir", metavar="DIR", help="The folder with the tapes (default: the nearest .reenact)."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def open_store(chosen: str | None) -> Store:
    """The store that the command works on."""
    return Store.find(Path.cwd(), chosen)


def colored(stream: TextIO) -> bool:
    """Whether to write colours there: on a terminal that has some, unless NO_COLOR (no-color.org) says no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
