"""Options that mean the same on every command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from reenact.tape.store import Store

store = click.option(
    "--store", "store_dir", metavar="DIR", help="The folder with the tapes (default: the nearest .reenact)."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

key = click.option(
    "--key",
    "key_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The public key that has to have signed it.",
)


def public_key(path: Path | None) -> bytes:
    """The key that the command is to check signatures with; empty for none."""
    if path is None:
        return b""
    from reenact.tape import signatures

    return signatures.public_key(path)


def passphrase(*, confirm: bool = False) -> bytes:
    """The passphrase of a key: REENACT_PASSPHRASE, or what is typed.

    Raises:
        UsageError: there is neither.
    """
    from reenact.errors import UsageError

    given = os.environ.get("REENACT_PASSPHRASE", "")
    if not given and not sys.stdin.isatty():
        raise UsageError("the key has a passphrase, and nobody is here to type it; give it in REENACT_PASSPHRASE")
    return (given or str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))).encode()


def open_store(chosen: str | None) -> Store:
    """The store that the command works on."""
    return Store.find(Path.cwd(), chosen)
