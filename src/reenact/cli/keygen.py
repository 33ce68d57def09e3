"""`reenact keygen`."""

from __future__ import annotations

from pathlib import Path

import click

from reenact.cli import options


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--passphrase", "wanted", is_flag=True, help="Encrypt the private half with a passphrase.")
def command(file: Path, *, wanted: bool) -> None:
    """Make a key to sign tapes with: its private half in FILE, and the public one in FILE.pub.

    They are Ed25519 keys as PEM, as OpenSSL writes them. Keep FILE to yourself; give FILE.pub to those who check your
    tapes, by a way on which nobody can replace it, or compare with them what names the key. --passphrase asks for one,
    or takes it from REENACT_PASSPHRASE.

    \b
    reenact keygen team.key
    reenact sign last --key team.key
    reenact verify last --key team.key.pub
    """  # noqa: D301  \b tells click not to wrap
    from reenact.report.terminal import plain
    from reenact.tape import signatures

    key = signatures.new_key(file, options.passphrase(confirm=True) if wanted else b"")
    click.echo(f"{signatures.name_of(key)}: private half in {plain(str(file))}, public one in {plain(str(file))}.pub")
