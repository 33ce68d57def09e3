"""`reenact replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from reenact.cli import options


@click.command()
@click.argument("run")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- SCRIPT [ARGS]…]")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something differs.")
@click.option("--by-url", is_flag=True, help="Of an imported run: match requests whatever their bodies, as vcrpy does.")
@options.store
def command(run: str, words: tuple[str, ...], store_dir: str | None, *, quiet: bool, by_url: bool) -> None:
    """Run a recorded program again, offline, on what its tape holds.

    Its output passes through, and it ends us as it ends: by its exit status, or by the signal that killed it. The
    status is 1 when the program left its tape.

    A run that was imported (reenact import) has HTTP alone, and names no program. It answers the HTTP of the one that
    is given; all else of that is live, and is recorded.

    \b
    reenact replay last
    reenact replay cassette-7f3a -- agent.py --city Oslo
    """  # noqa: D301  \b tells click not to wrap
    if by_url and not words:
        raise click.UsageError("--by-url is for a program that an imported run answers: -- SCRIPT")
    if words:
        _answered(run, words, store_dir, quiet=quiet, by_url=by_url)
    from reenact.cli.rerun import rerun
    from reenact.launch.launcher import Manner

    status, certificate = rerun(run, store_dir, Manner())
    from reenact.cli.screen import Screen
    from reenact.launch import supervise
    from reenact.launch.ending import known
    from reenact.report import certificate as certificates
    from reenact.report.certificate import Verdict

    if not certificates.passed(certificate) and certificate.verdict is not Verdict.FORENSIC:
        screen = Screen(err=True)
        screen.write("\n" + certificates.text(certificate, width=screen.width, paint=screen.paint))
        sys.exit(1)
    if not quiet or certificate.verdict is Verdict.FORENSIC:
        click.echo(certificates.line(certificate), err=True)
    end = status if certificate.verdict is not Verdict.CUT else known(certificate.ending.recorded)
    supervise.die_as(end)
    sys.exit(supervise.mirror(end))


def _answered(run: str, words: tuple[str, ...], store_dir: str | None, *, quiet: bool, by_url: bool) -> NoReturn:
    from reenact.cli.screen import Screen
    from reenact.engine import normalize
    from reenact.launch import supervise
    from reenact.launch.answered import answered
    from reenact.launch.command import parse
    from reenact.launch.settings import Settings
    from reenact.report import answered as reports
    from reenact.tape.reader import read

    store = options.open_store(store_dir)
    program = parse(words)
    settings = Settings.near(Path.cwd())
    with settings.importable():
        normalizers = normalize.load(settings.table)
        done = answered(program, read(store.resolve(run)), store, by_url=by_url)
        found = reports.document(done, normalizers)
    screen = Screen(err=True)
    if found.verdict != "answered" or not quiet:
        screen.write(reports.text(found, width=screen.width, paint=screen.paint))
    if found.verdict != "answered":
        sys.exit(1)
    supervise.die_as(done.status)
    sys.exit(supervise.mirror(done.status))
