"""`reenact replay`."""

from __future__ import annotations

import sys

import click

from reenact.cli import options


@click.command()
@click.argument("run")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something differs.")
@options.store
def command(run: str, store_dir: str | None, *, quiet: bool) -> None:
    """Run a recorded program again, offline, on what its tape holds.

    Its output passes through, and its exit status is ours; it is 1 when the program left its tape.
    """
    from reenact.cli.rerun import rerun
    from reenact.launch import supervise
    from reenact.report import certificate as certificates
    from reenact.report.certificate import Verdict

    status, certificate = rerun(run, store_dir)
    if not certificates.passed(certificate):
        click.echo("\n" + certificates.text(certificate, color=options.colored(sys.stderr)), nl=False, err=True)
        sys.exit(1)
    if not quiet:
        click.echo(certificates.line(certificate), err=True)
    recorded = certificate.ending.recorded
    if certificate.verdict is Verdict.VERIFIED:
        supervise.die_as(status)
    sys.exit(supervise.mirror(status if certificate.verdict is Verdict.VERIFIED or recorded is None else recorded))
