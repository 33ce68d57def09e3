"""The user's files while a run is resumed: put back as the run found them, for as long as its tape is served.

The run then makes of them again what it had made of them, and goes on from there. What stood there before is kept
beside the tape until that is certain: a file that the run only read gets it back; one that the run had changed, and
that looked otherwise by then, is told of, and the copy stays. A resumption that fails puts all of it back.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Container, Mapping
from pathlib import Path

import msgspec

from reenact.errors import UsageError
from reenact.tape import disk
from reenact.tape.close import being_written
from reenact.tape.reader import folder_of
from reenact.tape.store import Store

_LIST = "list.json"
_PART = f"{_LIST}.part"
_WHOLE = "before"

NOT_PUT_BACK = (
    "{run} was a resumption, and was killed before it had put back your files: the copies in {folder} may be all there "
    "is of them. `reenact resume` puts them back; or delete that folder yourself. Nothing was deleted."
)


class _Kept(msgspec.Struct, frozen=True):
    path: str
    copy: str


class Rewound:
    """What stood at the paths that one resumption has changed. `folder` holds the copies, and is made when needed."""

    def __init__(self, folder: Path) -> None:
        self.missed: list[str] = []
        self._folder = folder
        self._kept: dict[str, str] = {}

    def has(self, _path: str) -> bool:
        """Any path may be changed, once what stands there is kept."""
        return True

    def keep(self, path: Path) -> None:
        """What stands there is about to be changed.

        Raises:
            OSError: it cannot be kept.
        """
        if str(path) not in self._kept:
            if self._folder.is_relative_to(path):
                raise OSError(errno.EBUSY, "the store is in it")
            disk.make_folder(self._folder, 0o700)
            copy = str(len(self._kept)) if os.path.lexists(path) else ""
            if copy:
                _copy(path, self._folder / copy)
            self._kept[str(path)] = copy
            self._write()

    def _write(self) -> None:
        part, whole = self._folder / _PART, self._folder / _LIST
        with part.open("wb") as file:
            file.write(msgspec.json.encode([_Kept(path, copy) for path, copy in self._kept.items()]))
            file.flush()
            os.fsync(file.fileno())
        part.replace(whole)
        disk.sync_if_possible(self._folder)

    def put_back(self, changed: Container[str]) -> dict[str, Path]:
        """The run is about to be live. What it has `changed` stays; what looked otherwise before, with its copy."""
        aside: dict[str, Path] = {}
        for path, copy in reversed(self._kept.items()):
            kept = self._folder / copy if copy else None
            if path not in changed:
                _put(Path(path), kept)
            elif kept is not None and not _same(Path(path), kept):
                aside[path] = kept
        return aside

    def settle(self, aside: Mapping[str, Path]) -> None:
        """The run is live: but for these copies, none is needed any more. Until then it can all be put back."""
        (self._folder / _LIST).unlink(missing_ok=True)
        for kept in {self._folder / copy for copy in self._kept.values() if copy} - {*aside.values()}:
            _remove(kept)
        if not aside:
            shutil.rmtree(self._folder, ignore_errors=True)


def folder(tape: Path) -> Path:
    """Where the copies are while that tape is gone on with."""
    return folder_of(tape).with_name(f"{tape.stem}.{_WHOLE}")


def is_ours(folder: Path) -> bool:
    """Whether nothing is in that folder but what a resumption has put there."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() and not folder.is_symlink() else {""}
    return all(name.isdigit() or name in (_LIST, _PART) for name in names)


def is_interrupted(folder: Path) -> bool:
    """Whether something has not been put back."""
    return (folder / _LIST).is_file()


def refuse_lost(tape: Path) -> None:
    """Raises UsageError where the copies beside a tape may be all there is of the user's files."""
    copies = folder(tape)
    if is_interrupted(copies):
        raise UsageError(NOT_PUT_BACK.format(run=tape.stem, folder=copies))


def remove(tape: Path) -> None:
    """Deletes the copies beside a tape."""
    copies = folder(tape)
    if is_ours(copies):
        shutil.rmtree(copies)


def undo(folder: Path) -> list[str]:
    """Puts back what stood there before; the paths, if any. For a resumption that failed, or was killed itself."""
    if not is_interrupted(folder):
        return []
    kept = msgspec.json.decode((folder / _LIST).read_bytes(), type=list[_Kept])
    for one in reversed(kept):
        _put(Path(one.path), folder / one.copy if one.copy else None)
    shutil.rmtree(folder, ignore_errors=True)
    return [one.path for one in kept]


def interrupted(store: Store) -> list[Path]:
    """The folders of resumptions that were killed before they were live, and are not under way."""
    folders = [path.parent for path in sorted(store.root.glob(f"*.{_WHOLE}/{_LIST}"))]
    return [folder for folder in folders if not being_written(store.path(folder.stem))]


def _put(path: Path, kept: Path | None) -> None:
    if kept is None:
        _remove(path)
    elif not os.path.lexists(kept):
        return  # nothing goes for which there is no copy
    elif not _same(path, kept):
        _remove(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _copy(kept, path)
    elif not path.is_symlink() and path.is_file():
        shutil.copystat(kept, path)


def _copy(path: Path, to: Path) -> None:
    if path.is_symlink():
        to.symlink_to(path.readlink())
    elif path.is_dir():
        shutil.copytree(path, to, symlinks=True)
    else:
        shutil.copy2(path, to)
    disk.sync_all(to)


def _same(path: Path, kept: Path) -> bool:
    if path.is_symlink() or kept.is_symlink():
        return path.is_symlink() and kept.is_symlink() and path.readlink() == kept.readlink()
    if path.is_dir() or kept.is_dir():
        if not (path.is_dir() and kept.is_dir()):
            return False
        names = {one.name for one in kept.iterdir()}
        return {one.name for one in path.iterdir()} == names and all(_same(path / one, kept / one) for one in names)
    return path.is_file() and kept.is_file() and path.read_bytes() == kept.read_bytes()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
