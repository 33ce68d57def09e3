"""`reenact dap`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from reenact.cli import options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from reenact.debugger.course import Course
    from reenact.debugger.results import Result

_WIDTH = 100  # of what the debug console is told


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Listen there, on this machine; 0 takes any that is free.")
@click.option(
    "--log",
    "log_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep what is said, in both directions.",
)
@options.store
def command(port: int | None, log_file: Path | None, store_dir: str | None) -> None:
    """Be a debugger of recorded runs for an editor: a server of the Debug Adapter Protocol.

    The editor launches a run by its name, sets breakpoints, and steps through its replay, forward and back. Without
    --port, the protocol is spoken over the standard streams: the editor starts this command. With it, editors connect.
    docs/dap.md has what to tell VS Code and nvim-dap.

    \b
    reenact dap
    reenact dap --port 4711 --log dap.log
    """  # noqa: D301  \b tells click not to wrap
    from reenact.debugger.dap import serving
    from reenact.debugger.dap.adapter import serve
    from reenact.report.debugging import View
    from reenact.report.terminal import Paint

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    log = _log(log_file)

    def say(course: Course) -> Callable[[Result], Iterator[str]]:
        return View(course, width=_WIDTH, paint=Paint(on=False)).told

    if port is None:
        serving.over_streams(lambda stream: serve(stream, log, store_dir, say))
        return
    with serving.listen(port) as listener:
        click.echo(f"listening on {serving.LOOPBACK}:{listener.getsockname()[1]}")
        sys.stdout.flush()
        serving.over_port(listener, lambda stream: serve(stream, log, store_dir, say))


def _log(path: Path | None) -> Callable[[str], None]:
    """What writes a line to that file; without one, what does nothing."""
    from reenact.errors import UsageError

    if path is None:
        return lambda _line: None
    try:
        file: TextIO = path.open("w", encoding="utf-8", buffering=1)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error

    def write(line: str) -> None:
        file.write(f"{line}\n")

    return write


def _leave(_number: int, _frame: object) -> NoReturn:
    """A signal that asks us to end: what has been started is ended first."""
    sys.exit(0)
