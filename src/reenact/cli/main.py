"""The command line: the group, and how errors become exit statuses."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
from typing import NoReturn

import click

from reenact import __version__
from reenact.errors import InternalError, ReenactError, UsageError

_INTERRUPTED = 128 + signal.SIGINT
_OBJECTS = 100_000  # made until garbage is looked for: what a command loads and reads, it needs to its end
_EPILOG = "Begin with:  reenact demo"

COMMANDS = {
    "record": "Run a Python program and record it.",
    "replay": "Run a recorded program again, offline, on what its tape holds.",
    "verify": "Replay and compare everything; exit 1 on the first difference.",
    "fork": "Run on from a step of a run, another way.",
    "branches": "Show the branches of a run as a tree.",
    "resume": "Go on with a run that was killed, where it died.",
    "doctor": "Tell what of a run, a program or this machine would not replay, and why.",
    "explore": "Replay with outcomes in other orders; exit 1 when one changes the run.",
    "runs": "List the recorded runs.",
    "show": "Show what a run did, step by step.",
    "state": "Show what a program's functions and variables held at a step.",
    "debug": "Move about in a run, forward and back, and look at what its program held.",
    "diff": "Compare two runs, step by step; exit 1 when they differ.",
    "origin": "Tell where a text came from: where it first came into a run.",
    "scan": "Look for what looks like a secret in tapes; exit 1 when there is something.",
    "scrub": "Make a clean copy of a run, to share: without secrets.",
    "fsck": "Check tapes from end to end, and close those of killed runs.",
    "import": "Put cassettes of vcrpy and HAR files onto tapes.",
    "sign": "Sign tapes with a key, so that nobody else can change them unnoticed.",
    "keygen": "Make a key to sign tapes with.",
    "dap": "Be a debugger of recorded runs for an editor, forward and back.",
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


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="reenact")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Re-enact agent runs: record once, replay bit-exact and offline."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(UsageError.exit_status)


def main() -> None:
    """Runs the command line. Misuse and unusable input exit with 2, a failed check with 1."""
    gc.set_threshold(_OBJECTS)
    try:
        sys.exit(cli.main(standalone_mode=False, prog_name="reenact"))
    except click.ClickException as error:
        _tell(UsageError(error.format_message()), _usage(error))
    except click.Abort:
        sys.exit(_INTERRUPTED)
    except ReenactError as error:
        _tell(error)
    except Exception as error:  # noqa: BLE001  whatever it says may be a stranger's words: it is escaped like the rest
        _tell_fault(error)
    finally:
        gc.freeze()  # or the end of the process looks through all that was loaded for garbage, again and again


def _usage(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"usage: {' '.join(context.get_usage().split()[1:])}" if context is not None else ""


def _tell(error: ReenactError, usage: str = "") -> NoReturn:
    from reenact.cli.screen import tell

    tell(error, usage)
    sys.exit(error.exit_status)


def _tell_fault(error: Exception) -> NoReturn:
    import traceback

    from reenact.cli.screen import Screen
    from reenact.report.terminal import lines

    told = "".join(traceback.format_exception(error)).rstrip("\n")
    Screen(err=True).write(lines(told))
    _tell(InternalError("reenact itself failed, for the reason above. Please report it, with these lines."))
