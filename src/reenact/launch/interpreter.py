"""The Python that runs a program: its version, and the packages installed in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from reenact import __version__

_ASK = "import json, platform, sys; print(json.dumps([platform.python_version(), sys.path[1:]]))"
_ASK_FOR_HOOK = "import sys; sys.exit('reenact._hook' not in sys.modules)"
_HOOK_LOADED_BUT_IDLE = {"REENACT_RECORD": "0"}
_SECONDS = 20
HOOK_FAILED = 70  # exit status of a process in which the start-up hook could not begin (EX_SOFTWARE of sysexits.h)
HOOK_MISSING = (
    "the program ran, but reenact's start-up hook did not run in it: {python} has no reenact.pth in its site-packages "
    "(or was started with -S). Install reenact into that interpreter."
)
NO_SITE = re.compile(r"-[a-zA-VYZ]*S")
"""An option of the interpreter with which it reads no start-up hook."""
_PACKAGES = ("lib*/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")
_SYSTEM_TOO = re.compile(r"(?im)^include-system-site-packages *= *true")
# PEP 376 and PyPA's "Recording installed projects": {name}-{version}.dist-info, both free of hyphens within
_DISTRIBUTION = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+?)(?:-py[^-]*)?\.(?:dist|egg)-info$")


class Interpreter(msgspec.Struct, frozen=True):
    """`packages` maps names, in PEP 503 form, to versions. All is empty for one that does not answer."""

    version: str
    packages: dict[str, str]


@cache
def of(python: str) -> Interpreter:
    """What there is to know of the interpreter at this path; quick when it is the one that runs us."""
    if _is_ours(python):
        return Interpreter(sys.version.split()[0], _packages(sys.path))
    try:
        done = _ask([python, "-c", _ASK], {})
        done.check_returncode()
        version, path = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return Interpreter("", {})
    return Interpreter(str(version), _packages(path))


def has_hook(python: str, flags: Iterable[str] = ()) -> bool:
    """Whether reenact's start-up hook runs in an interpreter that is started with these options."""
    try:
        return _ask([python, *flags, "-c", _ASK_FOR_HOOK], _HOOK_LOADED_BUT_IDLE).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def runs_unseen(python: str, flags: Iterable[str] = ()) -> bool:
    """Whether a program may run there without reenact's start-up hook, as far as it can be told without starting it."""
    return bool(lacks(python)) or any(map(NO_SITE.match, flags))


@cache
def lacks(python: str) -> str:
    """Why a program of that interpreter cannot join a run: empty where reenact, as we are, is installed in it.

    It is not started for that: it is looked at where it has its packages.
    """
    if _is_ours(python) or any(_has_us(folder) for folder in _site_folders(Path(python))):
        return ""
    return f"{python} has no reenact {__version__}"


def _has_us(folder: Path) -> bool:
    return (folder / "reenact.pth").is_file() and (folder / f"reenact-{__version__}.dist-info").is_dir()


def _site_folders(python: Path) -> Iterator[Path]:
    """The folders with the packages of an interpreter, as `site` in Python's library finds them."""
    real = python.resolve()
    settings = next(
        filter(Path.is_file, (folder / "pyvenv.cfg" for folder in (python.parent, python.parent.parent))), None
    )
    prefix = settings.parent if settings is not None else real.parent.parent
    for folder in _PACKAGES:
        yield from (found for found in prefix.glob(folder) if found.parent.name in ("python3", real.name))
    if settings is not None and _SYSTEM_TOO.search(settings.read_text(encoding="utf-8", errors="replace")):
        yield from _site_folders(real)


def _ask(argv: list[str], more: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("REENACT_")}
    return subprocess.run(  # noqa: S603
        argv, env={**env, **more}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
    )


def _is_ours(python: str) -> bool:
    # Interpreters of two virtual environments may be links to one file, so the folder counts too.
    here, there = (os.path.abspath(path) for path in (sys.executable, python))  # noqa: PTH100  resolve() follows links
    same_folder = os.path.dirname(here) == os.path.dirname(there)  # noqa: PTH120
    return here == there or (same_folder and os.path.realpath(here) == os.path.realpath(there))


def _packages(path: Iterable[str]) -> dict[str, str]:
    """Read from the names of folders: importlib.metadata parses every METADATA file, 40 times as slow."""
    found: dict[str, str] = {}
    for folder in path:
        for entry in _entries(Path(folder or ".")):
            match = _DISTRIBUTION.match(entry)
            if match is not None:
                name = re.sub(r"[-_.]+", "-", match["name"]).lower()
                found.setdefault(name, match["version"])
    return dict(sorted(found.items()))


def _entries(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  names are wanted, not paths
    except OSError:
        return []
