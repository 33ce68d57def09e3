"""`reenact doctor`."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reenact.cli import options

if TYPE_CHECKING:
    from reenact.doctor.finding import Diagnosis
    from reenact.tape.store import Store


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Look at a module, as python -m runs it.")
@options.as_json
@options.store
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[RUN | SCRIPT [ARGS]… | -- COMMAND…]")
def command(module: str | None, store_dir: str | None, words: tuple[str, ...], *, as_json: bool) -> None:
    """Tell what would not replay, and why. Exit 1 when a finding would break a replay.

    Of a RUN, its tape is read and replayed twice. A program is run once, for real, with what it says on stderr; its
    tape is looked at likewise and thrown away. With neither, this machine and installation are looked at.

    \b
    reenact doctor
    reenact doctor last
    reenact doctor agent.py --city Oslo
    reenact doctor --json -- python -X dev -m pytest -q
    """  # noqa: D301  \b tells click not to wrap
    store = options.open_store(store_dir)
    if module is None and words and words[-1] == "--json" and _is_run(store, words[:-1]):
        words, as_json = words[:-1], True
    if module is None and not words:
        from reenact.doctor import installation

        diagnosis = installation.diagnose(store, Path.cwd(), os.environ)
    elif module is None and _is_run(store, words):
        diagnosis = _of_run(store.resolve(words[0]), store)
    else:
        diagnosis = _of_command(words, module, store)
    _tell(diagnosis, as_json=as_json)
    sys.exit(1 if diagnosis.breaks else 0)


def _is_run(store: Store, words: tuple[str, ...]) -> bool:
    """Whether it names a run. A program of that name can be given as ./name, or after python."""
    from reenact.errors import RunNotFoundError

    if len(words) != 1:
        return False
    try:
        store.resolve(words[0])
    except RunNotFoundError:
        return False
    return True


def _of_run(path: Path, store: Store) -> Diagnosis:
    from reenact.cli.progress import Progress
    from reenact.cli.rerun import tell_if_from_elsewhere
    from reenact.doctor import run
    from reenact.tape.reader import read

    recording = read(path)
    tell_if_from_elsewhere(recording, store)
    with Progress(f"reenact: replaying {path.stem}") as progress:
        return run.diagnose(recording, progress)


def _of_command(words: tuple[str, ...], module: str | None, store: Store) -> Diagnosis:
    from reenact.errors import UsageError
    from reenact.launch import recorder
    from reenact.launch.command import parse
    from reenact.tape.store import Store

    try:
        program = parse(words, module=module)
    except UsageError as error:
        if len(words) != 1:
            raise
        raise UsageError(f"{words[0]} is no run in {store.root}, and no program: {error}") from error
    with tempfile.TemporaryDirectory(prefix="reenact-doctor-") as folder:
        with _output_to_stderr():
            _, recording = recorder.record(program, Store(Path(folder)), deep=True)
        return _of_run(recording.path, store)


@contextlib.contextmanager
def _output_to_stderr() -> Iterator[None]:
    """What a program writes to its stdout in here goes to our stderr: our stdout is the diagnosis."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _tell(diagnosis: Diagnosis, *, as_json: bool) -> None:
    from reenact.cli.screen import Screen
    from reenact.doctor import page
    from reenact.report import document

    if as_json:
        click.echo(document.encode(diagnosis))
    else:
        screen = Screen()
        screen.write(page.text(diagnosis, cwd=str(Path.cwd()), width=screen.width, paint=screen.paint))
