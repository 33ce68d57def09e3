"""What the commands share that run a tape's program again: its project's settings, and a word on what is run."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reenact.cli import options
from reenact.cli.progress import Progress
from reenact.engine import normalize
from reenact.errors import SignatureError, TapeCorruptError
from reenact.launch import interpreter, launcher, manifest, restored
from reenact.launch.launcher import Manner
from reenact.launch.settings import Settings
from reenact.tape.reader import outline
from reenact.tape.recording import Recording
from reenact.tape.store import MISNAMED, Store

if TYPE_CHECKING:
    from reenact.report.certificate import Certificate
    from reenact.tape.recording import Recording
    from reenact.tape.store import Store


def rerun(run: str, store_dir: str | None, manner: Manner, key: bytes = b"") -> tuple[int, Certificate]:
    """Replays a run, which `key` has to have signed; the replayed program's exit status, and what was found."""
    store = options.open_store(store_dir)
    recording = _recording(store, run, key)
    tell_if_from_elsewhere(recording, store)
    settings = Settings.of_run(manifest.decode(recording.manifest).cwd)
    with settings.importable():
        normalizers = normalize.load(settings.table)
        with Progress(f"reenact: replaying {recording.path.stem}") as progress:
            done = launcher.replay(
                recording,
                manner,
                settings=settings,
                waiting=progress if manner.quiet else None,
                meanwhile=functools.partial(_get_ready, recording),
            )
        from reenact.report.certificate import certify

        return done.status, certify(done, normalizers)


def _recording(store: Store, run: str, key: bytes) -> Recording:
    path = store.resolve(run)
    recording = outline(path)
    held = manifest.decode(recording.manifest).run_id
    if store.run_of(path) not in ("", held):
        raise TapeCorruptError(f"{path} is another tape: {MISNAMED.format(run=held)}")
    if key or (recording.seal is not None and recording.seal.signatures):
        from reenact.tape import signatures

        try:
            signatures.check(recording.seal, key)
        except SignatureError as error:
            raise SignatureError(f"{path} cannot be believed: {error}") from error
    return recording


def tell_if_from_elsewhere(recording: Recording, store: Store) -> None:
    """A tape may name any program: one that was recorded outside of this project and folder says first what it runs."""
    told = manifest.decode(recording.manifest)
    if not any(Path(told.cwd).is_relative_to(folder) for folder in (store.root.parent, Path.cwd())):
        from reenact.report.terminal import plain

        line = f"reenact: recorded elsewhere: this runs  {told.command}  in {told.cwd}, with {told.executable}"
        click.echo(plain(line), err=True)


def _get_ready(recording: Recording) -> None:
    """For the certificate, while the program that replays is on its way: what makes it, and what its Python has."""
    import reenact.report.certificate  # noqa: F401

    interpreter.of(restored.python_for(manifest.decode(recording.manifest)))
