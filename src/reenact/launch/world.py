"""The world around a run: what of it goes on tape, and how it is set up again."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from reenact import __version__, _real
from reenact.launch import interpreter, seed
from reenact.launch.command import Command
from reenact.launch.manifest import Machine, Manifest
from reenact.tape import nature
from reenact.tape.redact import PLACEHOLDER, is_secret_name
from reenact.tape.vault import Vault

_OURS = "REENACT_"
_MAX_DIFF = 1 << 20
_OWN = "reenact"


def survey(
    command: Command,
    run_id: str,
    name: str,
    vault: Vault,
    boundaries: Iterable[str] = (),
    side_traffic: Iterable[str] = (),
) -> Manifest:
    """The manifest of a run that is about to start, whose secrets the `vault` knows from then on."""
    commit, diff = _git(Path.cwd())
    environment, secrets = _environment(vault, tell=False)
    vault.learn(nature.of_arguments(command.target), nature.is_long)
    runs_it = interpreter.of(command.python)
    return Manifest(
        run_id=run_id,
        name=name,
        started=_real.time_ns(),
        reenact=__version__,
        python=runs_it.version,
        executable=command.python,
        platform=sys.platform,
        cwd=str(Path.cwd()),
        flags=list(command.flags),
        target=list(command.target),
        hash_seed=seed.chosen(os.environ.get(seed.NAME)),
        hash_seed_set=seed.NAME in os.environ,
        environment=environment,
        secrets=secrets,
        packages=runs_it.packages,
        sources=_sources(command.target),
        git_commit=commit,
        git_diff=diff,
        terminal=(_real.isatty(0), _real.isatty(1), _real.isatty(2)),
        machine=_machine(),
        boundaries=list(boundaries),
        side_traffic=list(side_traffic),
    )


def inherited(run: Manifest, command: Command, vault: Vault, **own: Any) -> Manifest:
    """The manifest of this process, which a run has started: what it has of its own, and the rest as that has it."""
    environment, secrets = _environment(vault, tell=True)
    vault.learn(nature.of_arguments(command.target), nature.is_long)
    same_packages = Path(command.python).parent == Path(run.executable).parent
    return msgspec.structs.replace(
        run,
        started=_real.time_ns(),
        python=platform.python_version(),
        executable=command.python,
        cwd=str(Path.cwd()),
        flags=list(command.flags),
        target=list(command.target),
        entry="",
        environment=environment,
        secrets=secrets,
        packages={} if same_packages else interpreter.of(command.python).packages,
        sources=_sources(command.target),
        git_commit="",
        git_diff="",
        terminal=(_real.isatty(0), _real.isatty(1), _real.isatty(2)),
        machine=_machine(),
        **own,
    )


def _environment(vault: Vault, *, tell: bool) -> tuple[dict[str, str], list[str]]:
    """The environment of this process as it goes on tape, and the names of the variables that are secret in it."""
    found = {key: value for key, value in os.environ.items() if not key.startswith(_OURS)}
    vault.learn_environment(found, tell=tell)
    secrets = sorted(key for key in found if is_secret_name(key))
    shown = {
        key: vault.stands_for(value) if key in secrets else vault.clean_text(value) for key, value in found.items()
    }
    return shown, secrets


def _machine() -> Machine:
    return Machine(
        uname=list(os.uname()) if hasattr(os, "uname") else [],
        processors=os.cpu_count(),
        usable=sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
    )


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


def _sources(target: tuple[str, ...]) -> dict[str, str]:
    return {target[0]: digest_of(Path(target[0]))} if target and Path(target[0]).is_file() else {}


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


def _git(folder: Path) -> tuple[str, str]:
    git = shutil.which("git")
    if git is None or not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return "", ""
    commit = _run(git, "rev-parse", "HEAD")
    return commit.strip(), _run(git, "diff", "HEAD")[:_MAX_DIFF] if commit else ""


def _run(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
