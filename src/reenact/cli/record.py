"""`reenact record`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from reenact.cli import options

if TYPE_CHECKING:
    from reenact.launch.command import Command


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
@click.option("--name", help="What to call the run (default: the program's name).")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@click.option("--deep", is_flag=True, help="Keep digests of the program's variables, for verify --deep.")
@click.option("--session", metavar="ID", help="The conversation that this run belongs to, with others.")
@click.option("--tag", "tags", metavar="KEY[=VALUE]", multiple=True, help="A tag, to find the run by; may be repeated.")
@click.option(
    "--sample", metavar="RATE", help="Record this share of runs, 0 to 1 (default: each); run the others as is."
)
@click.option("--keep-failed", is_flag=True, help="With --sample: keep each run that does not end well, too.")
@click.option(
    "--redact", "patterns", metavar="PATTERN", multiple=True, help="Redact what this regular expression matches."
)
@click.option("--redact-pii", "pii", is_flag=True, help="Redact e-mail addresses, phone and card numbers, IBANs.")
@options.store
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]… | -- COMMAND…")
def command(  # noqa: PLR0913  one for each option
    module: str | None,
    name: str | None,
    store_dir: str | None,
    words: tuple[str, ...],
    patterns: tuple[str, ...],
    *,
    pii: bool,
    session: str | None,
    tags: tuple[str, ...],
    sample: str | None,
    keep_failed: bool,
    deep: bool,
    quiet: bool,
) -> None:
    """Run a Python program and record everything that could answer differently next time.

    What the program writes, and its exit status, are what they would be without reenact, whose own words go to stderr.
    REENACT_ENABLED=false has it run as it is.

    \b
    reenact record agent.py --city Oslo
    reenact record -m pkg.agent --city Oslo
    reenact record -- python -X dev -m pytest -q
    reenact record --session support-4711 --tag env=prod --tag beta agent.py
    reenact record --redact 'CASE-[0-9]+' --redact-pii agent.py
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import tell
    from reenact.errors import TapeUnwrittenError
    from reenact.launch import recorder
    from reenact.launch.command import parse
    from reenact.launch.labels import Labels
    from reenact.launch.sampling import ENABLED, is_off, is_sampled, rate_of
    from reenact.launch.settings import Settings
    from reenact.tape.labels import parsed

    command = parse(words, module=module)
    if is_off():
        _bare(command, f"{ENABLED} turns reenact off", quiet=quiet)
    settings = Settings.near(Path.cwd())
    contents = settings.redacting(patterns, pii=pii)
    labels = Labels.around(settings).with_(Labels.given(session, parsed(tags)))
    sampled = is_sampled(rate_of(sample, "--sample") if sample is not None else 1, labels.session)
    if not sampled and not keep_failed:
        _bare(command, "this run is not in the sample", quiet=quiet)
    store = options.open_store(store_dir)
    try:
        status, recording = recorder.record(command, store, name, deep=deep, labels=labels, contents=contents)
    except TapeUnwrittenError as error:
        tell(error)
        _end_as(error.status)
    from reenact.report import recorded
    from reenact.tape.close import outcome

    if not sampled and outcome(recording) == "ok":
        store.remove(recording.path)
        if not quiet:
            click.echo("reenact: nothing is kept: this run is not in the sample, and ended well", err=True)
        sys.exit(0)
    option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
    click.echo(recorded.text(recording, recording.path.stat().st_size, option, quiet=quiet), nl=False, err=True)
    _end_as(status)


def _end_as(status: int) -> NoReturn:
    """Ends as the program did."""
    from reenact.launch import supervise

    supervise.die_as(status)
    sys.exit(supervise.mirror(status))


def _bare(command: Command, why: str, *, quiet: bool) -> NoReturn:
    from reenact.launch import recorder

    if not quiet:
        click.echo(f"reenact: nothing is recorded: {why}", err=True)
    recorder.bare(command)
