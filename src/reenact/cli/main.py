"""The command line: the group, and how errors become exit statuses."""

from __future__ import annotations

import importlib
import sys

import click

from reenact import __version__
from reenact.errors import ReenactError

COMMANDS = {
    "record": "Run a Python program and record it.",
    "replay": "Run a recorded program again, offline, on what its tape holds.",
    "verify": "Replay and compare everything; exit 1 on the first difference.",
    "runs": "List the recorded runs.",
    "show": "Show what a run did, step by step.",
    "fsck": "Check tapes from end to end, and close those of killed runs.",
    "rm": "Delete the tapes of runs.",
    "demo": "See all of it on a small agent, with no network and no key.",
}


class _Lazy(click.Group):
    """Commands are modules of this package, loaded when called, so that `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"reenact.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reenact")
def cli() -> None:
    """Re-enact agent runs: record once, replay bit-exact and offline."""


def main() -> None:
    """Runs the command line. Misuse and unusable input exit with 2, a failed check with 1."""
    try:
        sys.exit(cli.main(standalone_mode=False, prog_name="reenact"))
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except ReenactError as error:
        click.echo(f"reenact: {error}", err=True)
        sys.exit(error.exit_status)
