"""The files that a held process has changed, as they are at one moment, and as they are to be again at it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

MOST = 256 * 1024 * 1024
"""So many bytes of changed files are kept, and no more."""

_lseek, _listdir, _fstat = os.lseek, os.listdir, os.fstat  # before seams meet them
_FDS = "/proc/self/fd"


class TooMuchError(Exception):
    """More has been changed than is kept."""


class Known(msgspec.Struct, frozen=True):
    """One path in the upper layer of an overlay. `data`: a file's content, or a link's target; None for the others.

    `opaque`: a folder that hides what is below it in the layer beneath.
    """

    mode: int
    mtime: int
    size: int
    inode: int
    changed: int
    opaque: bool = False
    data: bytes | None = None

    @property
    def gone(self) -> bool:
        """Whether it says that there is nothing where something was."""
        return stat.S_ISCHR(self.mode)


Layer = dict[str, Known]


class Changed:
    """What the program has by now changed in its copies of `folders`, each by the folder as it was (see `Enclosed`).

    Raises:
        TooMuchError: it is more than is kept.
    """

    def __init__(self, folders: dict[str, str], known: dict[str, Layer] | None = None) -> None:
        self._folders = folders
        self._layers: dict[str, Layer] = {}
        self._offsets = dict(_offsets())
        room = MOST
        for folder, original in folders.items():
            layer = self._layers[folder] = _layer(_upper(original), (known or {}).get(folder, {}))
            room -= sum(len(one.data or b"") for one in layer.values())
            if room < 0:
                raise TooMuchError

    def again(self) -> Changed:
        """The same later. What is as it was before is not read again."""
        return Changed(self._folders, self._layers)

    def restore(self) -> None:
        """Makes all as it was kept."""
        for folder, original in self._folders.items():
            kept, now = self._layers[folder], _layer(_upper(original), self._layers[folder])
            for name in sorted(now.keys() | kept.keys(), key=len):
                if now.get(name) != kept.get(name):
                    _restore(Path(folder, name), _wanted(name, kept, original), now.get(name))
            for name in sorted(kept.keys() | now.keys(), key=len, reverse=True):
                _date(Path(folder, name), _wanted(name, kept, original, data=False))
        for descriptor, offset in self._offsets.items():
            _lseek(descriptor, offset, os.SEEK_SET)


def _upper(original: str) -> Path:
    return Path(original).with_name("upper")


def _layer(upper: Path, old: Layer) -> Layer:
    found: Layer = {}
    for path in _below(upper):
        name, about = str(path.relative_to(upper)), path.lstat()
        opaque = stat.S_ISDIR(about.st_mode) and _is_opaque(path)
        known = Known(about.st_mode, about.st_mtime_ns, about.st_size, about.st_ino, about.st_ctime_ns, opaque)
        before = old.get(name)
        if before is not None and msgspec.structs.replace(before, data=None) == known:
            known = before
        elif stat.S_ISREG(about.st_mode):
            if about.st_size > MOST:
                raise TooMuchError
            known = msgspec.structs.replace(known, data=path.read_bytes())
        elif stat.S_ISLNK(about.st_mode):
            known = msgspec.structs.replace(known, data=os.fsencode(path.readlink()))
        found[name] = known
    return found


def _is_opaque(folder: Path) -> bool:
    for name in ("trusted.overlay.opaque", "user.overlay.opaque"):  # overlayfs: of root's, and of other users'
        with contextlib.suppress(OSError):
            return os.getxattr(folder, name) == b"y"
    return False


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _wanted(name: str, kept: Layer, original: str, *, data: bool = True) -> Known | None:
    """What was at a path: in the layer, or else beneath it, where nothing above hides that. None for nothing."""
    if name in kept:
        return None if kept[name].gone else kept[name]
    above = (kept.get(str(folder)) for folder in Path(name).parents)
    if any(one is not None and (one.gone or one.opaque) for one in above):
        return None
    return _beneath(Path(original, name), data=data)


def _restore(path: Path, wanted: Known | None, now: Known | None) -> None:
    """Makes a path what it was. It may lie in a folder that is not there: then it is not wanted, either."""
    there = path.lstat().st_mode if os.path.lexists(path) else 0
    replaced = now is not None and wanted is not None and wanted.opaque and not now.opaque
    if wanted is None or replaced or stat.S_IFMT(there) != stat.S_IFMT(wanted.mode):
        _remove(path, there)
        there = 0
    if wanted is None:
        return
    if stat.S_ISDIR(wanted.mode):
        path.mkdir(exist_ok=True)
    elif stat.S_ISLNK(wanted.mode):
        path.unlink(missing_ok=True)
        path.symlink_to(os.fsdecode(wanted.data or b""))
        return
    elif wanted.data is not None:
        with path.open("r+b" if there else "wb") as file:  # in place: somebody may have it open
            file.write(wanted.data)
            file.truncate()
    path.chmod(stat.S_IMODE(wanted.mode))


def _date(path: Path, wanted: Known | None) -> None:
    if wanted is not None and os.path.lexists(path):
        os.utime(path, ns=(wanted.mtime, wanted.mtime), follow_symlinks=False)


def _beneath(original: Path, *, data: bool = True) -> Known | None:
    if not os.path.lexists(original):
        return None
    about, held = original.lstat(), None
    if data and stat.S_ISREG(about.st_mode):
        held = original.read_bytes()
    elif data and stat.S_ISLNK(about.st_mode):
        held = os.fsencode(original.readlink())
    return Known(about.st_mode, about.st_mtime_ns, about.st_size, 0, 0, data=held)


def _remove(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        shutil.rmtree(path)
    elif mode:
        path.unlink()


def _offsets() -> Iterator[tuple[int, int]]:
    for name in _listdir(_FDS):
        try:
            if stat.S_ISREG(_fstat(int(name)).st_mode):
                yield int(name), _lseek(int(name), 0, os.SEEK_CUR)
        except OSError:
            continue
