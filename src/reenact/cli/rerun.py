"""What `replay` and `verify` share: a run replayed under its project's settings, and its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reenact.cli import options
from reenact.cli.progress import Progress
from reenact.engine import normalize
from reenact.launch import launcher, manifest
from reenact.launch.launcher import Manner
from reenact.launch.settings import Settings
from reenact.tape.reader import outline

if TYPE_CHECKING:
    from reenact.report.certificate import Certificate


def rerun(run: str, store_dir: str | None, manner: Manner) -> tuple[int, Certificate]:
    """Replays a run; the replayed program's exit status, and what was found."""
    recording = outline(options.open_store(store_dir).resolve(run))
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


def _load_report() -> None:
    """It takes a while, in which the program that replays can be on its way."""
    import reenact.report.certificate  # noqa: F401
