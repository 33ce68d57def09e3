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

    Its output passes through, and it ends us as it ends: by its exit status, or by the signal that killed it. The
    status is 1 when the program left its tape.
    """
    from reenact.cli.rerun import rerun
    from reenact.cli.screen import Screen
    from reenact.launch import supervise
    from reenact.launch.ending import known
    from reenact.launch.launcher import Manner
    from reenact.report import certificate as certificates
    from reenact.report.certificate import Verdict

    status, certificate = rerun(run, store_dir, Manner())
    if not certificates.passed(certificate) and certificate.verdict is not Verdict.FORENSIC:
        screen = Screen(err=True)
        screen.write("\n" + certificates.text(certificate, width=screen.width, paint=screen.paint))
        sys.exit(1)
    if not quiet or certificate.verdict is Verdict.FORENSIC:
        click.echo(certificates.line(certificate), err=True)
    end = status if certificate.verdict is not Verdict.CUT else known(certificate.ending.recorded)
    supervise.die_as(end)
    sys.exit(supervise.mirror(end))
