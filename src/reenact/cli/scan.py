"""`reenact scan`."""

from __future__ import annotations

import sys

import click

from reenact.cli import options


@click.command()
@click.argument("run", required=False)
@click.option("--redact", "patterns", metavar="PATTERN", multiple=True, help="Look for this regular expression, too.")
@click.option("--pii", is_flag=True, help="Look for data of persons, too (needs the extra pii).")
@options.as_json
@options.store
def command(run: str | None, store_dir: str | None, patterns: tuple[str, ...], *, pii: bool, as_json: bool) -> None:
    """Look for what looks like a secret in the tapes of a store, or in RUN; exit 1 when there is something.

    Looked for are the forms that services give their keys, values beside names such as "password", private keys, and
    passwords in URLs. Of what is found the first letters are shown, and never all.

    \b
    reenact scan
    reenact scan last --pii
    """  # noqa: D301  \b tells click not to wrap
    import msgspec

    from reenact.report import scanned
    from reenact.tape import scan
    from reenact.tape.contents import Contents

    store = options.open_store(store_dir)
    paths = [store.resolve(run)] if run is not None else [store.path(run_id) for run_id in store.ids()]
    contents = Contents(patterns, pii=pii) if patterns or pii else None
    found = [one for path in paths for one in scan.scan(path, contents)]
    if as_json:
        click.echo(msgspec.json.encode({"tapes": len(paths), "found": found}))
    else:
        click.echo(scanned.text(len(paths), found), nl=False)
    sys.exit(1 if found else 0)
