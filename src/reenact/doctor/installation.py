"""What of this machine and installation keeps runs from being recorded or replayed as they should be."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from reenact.doctor.finding import Diagnosis, Finding, Severity, ranked
from reenact.engine import normalize
from reenact.errors import ReenactError, UsageError
from reenact.launch import interpreter
from reenact.launch.labels import SESSION, TAGS
from reenact.launch.sampling import ENABLED, SAMPLE, is_off, rate_of
from reenact.launch.settings import Settings
from reenact.tape.store import Store

TESTED: Final[Mapping[str, tuple[str, ...]]] = {
    "aiohttp": ("3.14.5",),
    "fastuuid": ("0.14.0",),
    "httpx": ("0.28.1",),
    "httpx2": ("2.16.2",),
    "urllib3": ("2.8.0",),
    "uuid-utils": ("0.19.0", "1.2.0"),
}
"""The libraries that a seam reaches into, and the versions with which the tests and the table of frameworks are run."""
PYTHONS: Final = ("3.11", "3.12", "3.13")
SETTINGS: Final = ("REENACT_RECORD", ENABLED, SAMPLE, SESSION, TAGS)
"""What a user may set in the environment."""
_OURS: Final = ("REENACT_SPEC", "REENACT_CALL")
_ENCLOSE: Final = (
    "import pathlib, sys; from reenact.launch.enclosure import enclose; enclose([], pathlib.Path(sys.argv[1]), [])"
)
_SECONDS: Final = 30


def diagnose(store: Store, folder: Path, environment: Mapping[str, str]) -> Diagnosis:
    """Everything, for programs that are started in `folder` with the Python that runs us."""
    python = interpreter.of(sys.executable)
    found = [
        *_hook(),
        *_python(python.version),
        *_store(store.root),
        *_namespaces(),
        *_settings(folder),
        *_environment(environment),
        *_libraries(python.packages),
    ]
    seams = ", ".join(f"{name} {python.packages[name]}" for name in TESTED if name in python.packages)
    return Diagnosis(
        subject="this installation",
        findings=ranked(found),
        looked_at=[
            f"Python {python.version} at {sys.executable}: its start-up hook",
            f"libraries with seams: {seams or 'none is installed here'}",
            f"the store {store.root}, the kernel's namespaces, REENACT_* and pyproject.toml from {folder}",
        ],
        not_looked_at=["runs and programs: name a run, or give a command, to look at one"],
    )


def _hook() -> Iterator[Finding]:
    if not interpreter.has_hook(sys.executable):
        yield Finding(
            severity=Severity.BREAKS,
            slug="hook",
            what="The start-up hook does not run.",
            place=sys.executable,
            seen="a process was started with it, and reenact was not loaded",
            why="Without it nothing can be recorded or replayed by this Python.",
            do="Install reenact into this interpreter again; its site-packages must hold reenact.pth.",
        )


def _python(version: str) -> Iterator[Finding]:
    if not version.startswith(tuple(f"{one}." for one in PYTHONS)):
        yield Finding(
            severity=Severity.MAY,
            slug="python",
            what=f"Python {version} is not one that reenact is tested with.",
            place=sys.executable,
            seen="its version",
            why="Seams reach into the standard library, which is another in each version.",
            do=f"Use Python {PYTHONS[0]} to {PYTHONS[-1]}, or run the tests with this one.",
        )


def _store(root: Path) -> Iterator[Finding]:
    nearest = next(folder for folder in (root, *root.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield Finding(
            severity=Severity.BREAKS,
            slug="store",
            what="The folder for tapes cannot be written.",
            place=str(root),
            seen=f"{nearest} {'may not be written by this user' if nearest.is_dir() else 'is no folder'}",
            why="No run can be recorded.",
            do="Choose another folder with --store, or change its owner.",
        )


def _namespaces() -> Iterator[Finding]:
    reason = _not_enclosed()
    if reason:
        yield Finding(
            severity=Severity.MAY,
            slug="namespaces",
            what="The kernel gives a replay no network and no files of its own.",
            place=sys.platform,
            seen=f"a process tried: {reason}",
            why="A replay's files are then redirected in Python, and Python's own connections are refused: C code "
            "that opens files or connections itself is not closed in.",
            do="On Linux, allow user namespaces (sysctl kernel.unprivileged_userns_clone, "
            "kernel.apparmor_restrict_unprivileged_userns), or replay in a container that has them.",
        )


def _not_enclosed() -> str:
    """Why a replay cannot be closed by the kernel; empty when it can."""
    with tempfile.TemporaryDirectory(prefix="reenact-") as scratch:
        env = {name: value for name, value in os.environ.items() if not name.startswith("REENACT_")}
        argv = [sys.executable, "-c", _ENCLOSE, scratch]
        try:
            done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def _settings(folder: Path) -> Iterator[Finding]:
    try:
        settings = Settings.near(folder)
        with settings.importable():
            normalize.load(settings.table)
        for name in ("boundaries", "side_traffic", "tags", "sample"):
            getattr(settings, name)  # to ask for it is to check it
    except (ReenactError, ValueError) as error:
        yield Finding(
            severity=Severity.BREAKS,
            slug="settings",
            what="What pyproject.toml asks of reenact cannot be read.",
            place=str(folder),
            seen=str(error),
            why="Nothing can be recorded or replayed from here.",
            do="Correct the table [tool.reenact]; docs/normalizers.md and docs/marks.md show what may stand there.",
        )


def _environment(environment: Mapping[str, str]) -> Iterator[Finding]:
    for name in sorted(environment):
        if name.startswith("REENACT_") and name not in SETTINGS:
            ours = name in _OURS
            yield Finding(
                severity=Severity.MAY,
                slug="variable",
                what=f"{name} is {'for reenact alone to set' if ours else 'no setting of reenact'}.",
                place=name,
                seen="it is in the environment",
                why="A program that is started with it records or replays what nobody asked for."
                if ours
                else "It does nothing, which is not what it was set for.",
                do=f"Unset it. Settings are {', '.join(SETTINGS)}.",
            )
    try:
        rate_of(environment.get(SAMPLE) or 1, SAMPLE)
    except UsageError as error:
        yield Finding(
            severity=Severity.BREAKS,
            slug="variable",
            what=f"{SAMPLE} is no share of runs.",
            place=SAMPLE,
            seen=str(error),
            why="Nothing is recorded but by reenact record.",
            do="Set it to a number from 0 to 1, or unset it.",
        )
    if is_off(environment):
        yield Finding(
            severity=Severity.BREAKS,
            slug="disabled",
            what="Recording is turned off.",
            place=ENABLED,
            seen=f"it is {environment[ENABLED]!r}",
            why="reenact record, @reenact.record and REENACT_RECORD=1 record nothing.",
            do="Unset it where runs are to be recorded.",
        )
    if "PYTHONHASHSEED" not in environment:
        yield Finding(
            severity=Severity.NOTE,
            slug="hash-seed",
            what="Sets of texts have another order in each process.",
            place="PYTHONHASHSEED",
            seen="it is not set",
            why="reenact record sets it by itself and keeps it. What is recorded in code (@reenact.record) began after "
            "Python chose a seed, which nobody knows afterwards.",
            do="Start servers that record in code with PYTHONHASHSEED=0, if what they ask depends on such an order.",
        )


def _libraries(packages: Mapping[str, str]) -> Iterator[Finding]:
    for name, versions in TESTED.items():
        here = packages.get(name)
        if here is not None and _series(here) not in map(_series, versions):
            yield Finding(
                severity=Severity.MAY,
                slug="untested",
                what=f"{name} {here} is not a version that its seam is tested with.",
                place=name,
                seen="what is installed beside this Python",
                why="The seam reaches into the library, which may have changed there.",
                do=f"Record and verify a run; if that fails, pin the library to {' or '.join(versions)}.",
            )


def _series(version: str) -> tuple[str, ...]:
    """A version without what only mends it."""
    return tuple(version.split(".")[:2])
