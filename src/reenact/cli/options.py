"""Options that mean the same on every command."""

from __future__ import annotations

from pathlib import Path

import click

from reenact.tape.store import Store

store = click.option(
    "--store", "store_dir", metavar="DIR", help="The folder with the tapes (default: the nearest .reenact)."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def open_store(chosen: str | None) -> Store:
    """The store that the command works on."""
    return Store.find(Path.cwd(), chosen)
