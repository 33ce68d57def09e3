"""What of a recorded run's world its replay sets up again, and what it cannot."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Container, Iterator
from pathlib import Path

from reenact.launch import interpreter
from reenact.launch.manifest import Manifest
from reenact.tape.redact import PLACEHOLDER

_OWN = "reenact"


def environment_for(manifest: Manifest) -> dict[str, str]:
    """The environment of a replay: as it was, with what stands for secrets in their place."""
    return {**dict.fromkeys(manifest.secrets, PLACEHOLDER), **manifest.environment}


def python_for(manifest: Manifest) -> str:
    """The interpreter to replay with: the recorded one, or ours where that is gone."""
    return manifest.executable if Path(manifest.executable).is_file() else sys.executable


def cannot_restore(manifest: Manifest, restored: Container[str] = ()) -> list[str]:
    """What of the recorded world is not as it was, one line each; but for the paths that a replay has `restored`."""
    return [*_other_python(manifest), *_other_packages(manifest), *_other_files(manifest, restored)]


def digest_of(path: Path) -> str:
    """SHA-256 of a file in hex; empty when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _inside(cwd: str, path: str) -> Path:
    return Path(path) if Path(path).is_absolute() else Path(cwd) / path


def _other_python(manifest: Manifest) -> Iterator[str]:
    python = python_for(manifest)
    if python != manifest.executable:
        yield f"the interpreter {manifest.executable} is gone; replayed with {python}"
    version = interpreter.of(python).version
    if version != manifest.python:
        yield f"Python was {manifest.python}, now {version or 'unknown'}"
    if sys.platform != manifest.platform:
        yield f"the platform was {manifest.platform}, now {sys.platform}"


def _other_packages(manifest: Manifest) -> Iterator[str]:
    if not manifest.packages:
        return
    here = interpreter.of(python_for(manifest)).packages
    for name in sorted({*manifest.packages, *here} - {_OWN}, key=lambda name: (name not in manifest.packages, name)):
        was, now = manifest.packages.get(name), here.get(name)
        if was is None:
            yield f"{name} {now} was not installed"
        elif was != now:
            yield f"{name} was {was}, now {now or 'not installed'}"


def _other_files(manifest: Manifest, restored: Container[str]) -> Iterator[str]:
    if not Path(manifest.cwd).is_dir() and manifest.cwd not in restored:
        yield f"the working directory {manifest.cwd} is gone; replayed in {Path.cwd()}"
    for path, digest in manifest.sources.items():
        whole = _inside(manifest.cwd, path)
        now = digest_of(whole)
        if now != digest and str(whole) not in restored:
            yield f"{path} has changed since the recording" if now else f"{path} is gone"
