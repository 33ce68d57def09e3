"""`reenact scrub`."""

from __future__ import annotations

import click

from reenact.cli import options


@click.command()
@click.argument("run")
@click.option(
    "--redact", "patterns", metavar="PATTERN", multiple=True, help="Redact what this regular expression matches."
)
@click.option("--pii", is_flag=True, help="Redact data of persons, too (needs the extra pii).")
@click.option("--name", help="What to call the copy (default: the run's name and -clean).")
@options.store
def command(run: str, store_dir: str | None, patterns: tuple[str, ...], name: str | None, *, pii: bool) -> None:
    """Make a clean copy of RUN, to share: without what looks like a secret.

    Taken out are what `reenact scan` finds, the values of the secret variables of the environment that this is called
    in, and what the project's `redact` and the options here name. The run itself is left as it is. What stands for a
    value is as long as it was, so the copy replays where the run does.

    \b
    reenact scrub last
    reenact scrub last --redact 'CASE-[0-9]+' --pii
    """  # noqa: D301  \b tells click not to wrap
    from pathlib import Path

    from reenact.launch import copying
    from reenact.launch.settings import Settings
    from reenact.report.figures import counted
    from reenact.report.terminal import plain

    store = options.open_store(store_dir)
    contents = Settings.near(Path.cwd()).redacting(patterns, pii=pii)
    path = store.resolve(run)
    recording, count = copying.scrubbed(store, path, contents, name)
    taken = f"without {counted(count, 'value')}" if count else "as it was: nothing was found that had to be taken out"
    click.echo(f"{plain(recording.path.stem)} is {plain(path.stem)} {taken}")
    if recording.lost:
        click.echo("it is forensic-only: what the program was given was redacted, and a replay may go another way")
