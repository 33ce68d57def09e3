"""`reenact debug`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from reenact.cli import options

if TYPE_CHECKING:
    from types import FrameType

    from reenact.debugger.commands import Commands
    from reenact.debugger.results import Result
    from reenact.debugger.session import Debugger, Position

_HISTORY = 1_000  # lines


@click.command()
@click.argument("run")
@click.option("--step", type=int, metavar="N", help="Begin where step N begins. RUN@N means the same.")
@click.option("--event", type=int, metavar="N", help="Begin where event N is about to be made.")
@click.option("--eval", "-e", "given", multiple=True, metavar="COMMAND", help="Do this, and end; may be given often.")
@click.option("-x", "--commands", "file", type=click.File(encoding="utf-8"), help="Do what a file says, and end.")
@click.option("--interactive", "-i", is_flag=True, help="With --eval or -x: go on at the prompt.")
@options.as_json
@options.store
def command(  # noqa: PLR0913  its options
    run: str,
    step: int | None,
    event: int | None,
    given: tuple[str, ...],
    file: Iterable[str] | None,
    store_dir: str | None,
    *,
    interactive: bool,
    as_json: bool,
) -> None:
    """Move about in a run, forward and back, and look at what its program held.

    The program runs again, offline, on what its tape holds, and stands still wherever you want: at a step of the run,
    at a line, before the line that changed a value. Commands are named as in gdb and pdb; `h` at the prompt lists them.

    \b
    reenact debug last
    reenact debug support-agent-7f3a@12
    reenact debug last --step 12 -e "when messages[0]" -e locals
    echo "b tool refund, c, p amount" | tr , '\\n' | reenact debug last --json

    Commands are read from the terminal, from standard input, from a file (-x) or from the command line (--eval).

    Exit status 0; 1: one of the commands that were not typed at a terminal failed; 2: misuse.

    --json prints one object per command (docs/debug.md): command, result or error, position
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.rerun import tell_if_from_elsewhere
    from reenact.cli.show import place
    from reenact.debugger.commands import Commands
    from reenact.debugger.session import Debugger
    from reenact.errors import UsageError
    from reenact.launch import manifest
    from reenact.launch.settings import Settings
    from reenact.tape.reader import read

    name, number = place(run)
    if (number is not None) + (step is not None) + (event is not None) > 1:
        raise UsageError("one place to begin at: RUN@N, --step N or --event N")
    store = options.open_store(store_dir)
    recording = read(store.resolve(name))
    tell_if_from_elsewhere(recording, store)
    settings = Settings.of_run(manifest.decode(recording.manifest).cwd)
    with settings.importable(), Debugger(recording, settings) as debugger, _interrupting(debugger):
        commands = Commands(debugger)
        screen: _Screen = _Json(commands) if as_json else _Text(commands)
        begin = f"j {step or number}" if step or number else f"j e{event}" if event is not None else ""
        scripted = [*given, *(line.rstrip("\n") for line in file or ())]
        screen.welcome(brief=bool(scripted))
        if begin:
            screen.show("", commands.do(begin))
        failed, over = _do(commands, screen, scripted)
        if not over and (interactive or not (given or file)):
            typed = sys.stdin.isatty()
            failed_too, _ = _do(commands, screen, _typed(debugger, screen) if typed else _read(), echo=not typed)
            failed = failed or (failed_too and not typed)
    if failed:
        click.get_current_context().exit(1)


def _do(commands: Commands, screen: _Screen, lines: Iterable[str], *, echo: bool = True) -> tuple[bool, bool]:
    """Does what lines say; whether any of it failed, and whether one of them ended the debugger."""
    from reenact.debugger.results import Over
    from reenact.errors import UsageError

    failed = False
    for line in lines:
        if echo:
            if not line.strip():  # which repeats only where somebody types it
                continue
            screen.echo(line)
        try:
            result = commands.do(line)
        except UsageError as error:
            failed = True
            screen.fail(line, error)
            continue
        if isinstance(result, Over):
            return failed, True
        if result is not None:
            screen.show(line, result)
    return failed, False


def _read() -> Iterator[str]:
    for line in sys.stdin:
        yield line.rstrip("\n")


def _typed(debugger: Debugger, screen: _Screen) -> Iterator[str]:
    """Lines that are typed at a terminal, with a history and completion where there is a readline."""
    with _readline(debugger):
        while True:
            try:
                yield input(screen.prompt())
            except KeyboardInterrupt:  # the line is given up
                click.echo()
            except EOFError:
                click.echo()
                return


@contextlib.contextmanager
def _readline(debugger: Debugger) -> Iterator[None]:
    try:
        import readline
    except ImportError:
        yield
        return
    from reenact.debugger.completion import completions

    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    history = Path(state) / "reenact" / "debug_history"
    with contextlib.suppress(OSError):
        history.parent.mkdir(parents=True, exist_ok=True)
        readline.read_history_file(history)
    found: list[str] = []

    def complete(_word: str, at: int) -> str | None:
        if at == 0:
            found[:] = completions(debugger, readline.get_line_buffer()[: readline.get_endidx()])
        return found[at] if at < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n()[]{}=,")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        readline.set_history_length(_HISTORY)
        with contextlib.suppress(OSError):
            readline.write_history_file(history)


@contextlib.contextmanager
def _interrupting(debugger: Debugger) -> Iterator[None]:
    """Ctrl-C ends what goes on in the run; where nothing does, it is an exception as ever."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if debugger.busy:
            debugger.interrupt()
        else:
            signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Screen(Protocol):
    """Where results go."""

    def welcome(self, *, brief: bool) -> None:
        """The first words."""

    def prompt(self) -> str:
        """What stands before a line that is typed."""
        ...

    def echo(self, line: str) -> None:
        """A line that nobody has typed here."""

    def show(self, line: str, result: Result | None) -> None:
        """What it gave."""

    def fail(self, line: str, error: Exception) -> None:
        """Why it gave nothing."""


class _Text:
    """For people."""

    def __init__(self, commands: Commands) -> None:
        from reenact.cli.screen import Screen
        from reenact.report.debugging import View

        self._commands = commands
        self._screen = Screen()
        self._view = View(commands.debugger.course, width=self._screen.width, paint=self._screen.paint)

    def welcome(self, *, brief: bool) -> None:
        from reenact.debugger.results import Info

        info = self._commands.do("info")
        assert isinstance(info, Info)  # noqa: S101  it gives that
        if brief:
            self._screen.write(self._view.told(info))
        else:
            self._screen.write(self._view.welcome(info, self._commands.brief()))

    def prompt(self) -> str:
        bold = ("\x01\x1b[1m\x02", "\x01\x1b[0m\x02") if self._screen.paint.on else ("", "")
        return f"{bold[0]}{self._place}>{bold[1]} "

    def echo(self, line: str) -> None:
        self._screen.write(f"{self._screen.paint.bold(f'{self._place}>')} {line}\n")

    def show(self, line: str, result: Result | None) -> None:
        if result is not None:
            self._screen.write(self._view.told(result))

    def fail(self, line: str, error: Exception) -> None:
        from reenact.report.terminal import plain

        self._screen.write(self._screen.paint.bad(f"! {plain(str(error))}") + "\n")

    @property
    def _place(self) -> str:
        return self._view.prompt(self._commands.debugger.position)


class _Json:
    """For programs: one object per command, in a line."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def welcome(self, *, brief: bool) -> None:
        self.show("info", self._commands.do("info"))

    def prompt(self) -> str:
        return ""

    def echo(self, line: str) -> None:
        pass

    def show(self, line: str, result: Result | None) -> None:
        self._write(line, result=result)

    def fail(self, line: str, error: Exception) -> None:
        self._write(line, error=str(error))

    def _write(self, line: str, **given: Any) -> None:
        import msgspec

        position: Position = self._commands.debugger.position
        click.echo(msgspec.json.encode({"command": line, **given, "position": position}))
        sys.stdout.flush()
