"""Files that a branch has written: copies of its own, which are gone when it ends unless the user keeps them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reenact.errors import UsageError
from reenact.tape.event import Sight

if TYPE_CHECKING:
    from reenact.seams.system.files import Files

_TAKEN = "taken"
_OUTSIDE = "outside"
NOT_EMPTY = "{folder} is there, and not empty: --keep-files wants a folder of its own, so that nothing is overwritten"


def check(folder: Path) -> None:
    """That files can be put there.

    Raises:
        UsageError: something is there already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(NOT_EMPTY.format(folder=folder))


def take(files: Files, report: Path) -> dict[str, str]:
    """In the process of the branch, at its end: the files that it has changed, by their paths, with where they are."""
    from reenact.seams.system import states  # noqa: PLC0415  the command that puts them has no seams

    folder = report.with_name(_TAKEN)
    folder.mkdir()
    found: dict[str, str] = {}
    for path in files.written():
        try:
            if states.state_of(path).kind is Sight.FILE:
                name = str(len(found))
                states.copy(path, str(folder / name))
                found[path] = name
        except OSError:
            continue  # who put it there has taken it away, or may not read it
    return found


def put(taken: Mapping[str, str], report: Path, folder: Path, cwd: str) -> dict[str, str]:
    """Puts those files where the user wants them, by their paths from the working folder; where each is then."""
    found = {}
    for path, name in taken.items():
        inside = Path(path).is_relative_to(cwd)
        here = folder / (Path(path).relative_to(cwd) if inside else Path(_OUTSIDE, path.lstrip(os.sep)))
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(report.with_name(_TAKEN) / name, here)
        found[path] = str(here)
    return found
