"""What `replay` and `verify` share: a run replayed under its project's settings, and its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reenact.cli import options
from reenact.cli.progress import Progress
from reenact.engine import normalize
from reenact.errors import SignatureError, TapeCorruptError
from reenact.launch import launcher, manifest
from reenact.launch.launcher import Manner
from reenact.launch.settings import Settings
from reenact.tape import signatures
from reenact.tape.reader import Recording, outline
from reenact.tape.store import MISNAMED, Store

if TYPE_CHECKING:
    from reenact.report.certificate import Certificate


def rerun(run: str, store_dir: str | None, manner: Manner, key: bytes = b"") -> tuple[int, Certificate]:
    """Replays a run, which `key` has to have signed; the replayed program's exit status, and what was found."""
    recording = _recording(options.open_store(store_dir), run, key)
    home = Path(manifest.decode(recording.manifest).cwd)
    settings = Settings.near(home if home.is_dir() else Path.cwd())
    with settings.importable():
        normalizers = normalize.load(settings.table)
        with Progress(f"reenact: replaying {recording.path.stem}") as progress:
            done = launcher.replay(
                recording,
                manner,
                settings=settings,
                waiting=progress if manner.quiet else None,
                meanwhile=_load_report,
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
        try:
            signatures.check(recording.seal, key)
        except SignatureError as error:
            raise SignatureError(f"{path} cannot be believed: {error}") from error
    return recording


def _load_report() -> None:
    """It takes a while, in which the program that replays can be on its way."""
    import reenact.report.certificate  # noqa: F401
