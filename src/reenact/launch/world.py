"""The world around a run: what of it goes on tape."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from reenact import __version__, _real
from reenact.launch import interpreter, seed
from reenact.launch.command import Command
from reenact.launch.manifest import Machine, Manifest
from reenact.launch.restored import digest_of
from reenact.tape import nature
from reenact.tape.redact import is_secret_name
from reenact.tape.vault import Vault

_OURS = "REENACT_"
_MAX_DIFF = 1 << 20


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


def _sources(target: tuple[str, ...]) -> dict[str, str]:
    return {target[0]: digest_of(Path(target[0]))} if target and Path(target[0]).is_file() else {}


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
