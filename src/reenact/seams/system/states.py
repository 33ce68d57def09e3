"""What stands at a path: told in the terms of a tape, for a recording and for the replay that is to find it again."""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from reenact import _real
from reenact.tape.event import Left, Saw, Sight
from reenact.tape.redact import redact_file

MAX_KEPT = 256 * 1024 * 1024
_BLOCK = 1024 * 1024
_DATABASE = b"SQLite format 3\0"
_GETPATH = 50  # fcntl's F_GETPATH, where there is no /proc (macOS)
MACHINE = ("/proc/", "/sys/", "/dev/", "/run/")
"""The beginnings of paths that are the machine's own, and no files."""


Clean = Callable[[str, bytes], bytes]
"""Takes the secrets out of what the file at a path holds."""


def as_it_is(_path: str, data: bytes) -> bytes:
    """A `Clean` that takes nothing out."""
    return data


class View(Protocol):
    """How paths are looked at. The machine's own is that of `Plain`; a redirected replay has another."""

    def where(self, path: str, *, follow: bool = True) -> str:
        """Where that lies which the run finds at `path`; if it does not `follow`, a link itself."""

    def told(self, place: str) -> str:
        """The other way round: the path at which the run finds what lies there."""

    def names(self, path: str) -> list[str]:
        """What is in a folder. Raises OSError where there is none."""


class Plain:
    """Everything is where it is."""

    def where(self, path: str, *, follow: bool = True) -> str:
        """See `View`."""
        return path

    def told(self, place: str) -> str:
        """See `View`."""
        return place

    def names(self, path: str) -> list[str]:
        """See `View`."""
        return _listdir(path)


_stat, _listdir, _readlink, _FileIO = os.stat, os.listdir, os.readlink, io.FileIO
_view: list[View] = [Plain()]
_OURS: set[str] = set()
_HIDDEN: dict[str, set[str]] = {}  # names, by the folder that they are in


def look_through(view: View) -> None:
    """From now on paths are looked at like this."""
    _view[0] = view


def stat_of(path: str, *, follow: bool = True) -> os.stat_result:
    """As `os.stat`."""
    return _stat(_view[0].where(path, follow=follow), follow_symlinks=follow)


def link_at(path: str) -> str:
    """What the symbolic link at a path leads to; empty where there is none."""
    try:
        return _readlink(_view[0].where(path, follow=False))
    except OSError:
        return ""


def names_in(path: str) -> list[str]:
    """As `os.listdir`, without what is ours."""
    return without_ours(path, _view[0].names(path))


def hide(folder: Path) -> None:
    """That folder is ours: no run sees it where it lists the one that it is in."""
    for path in (folder.absolute(), folder.resolve()):
        _OURS.add(str(path))
        leave_out(path)


def leave_out(path: Path) -> None:
    """No run sees what is there where it lists the folder that it is in."""
    _HIDDEN.setdefault(str(path.parent), set()).add(path.name)


def is_ours(path: str) -> bool:
    """Whether that is such a folder, or lies in one."""
    return any(f"{path}/".startswith(f"{one}/") for one in _OURS)


def holds_ours(path: str) -> bool:
    """Whether such a folder would be gone, or not be found any more, if what stands at the path were taken away."""
    real = path if os.path.islink(path) else os.path.realpath(path)  # noqa: PTH114
    return any(one.startswith((f"{path}/", f"{real}/")) for one in _OURS)


def without_ours(folder: str, names: list[Any]) -> list[Any]:
    """The names of what is in that folder but what is hidden."""
    hidden = _HIDDEN.get(folder)
    return names if hidden is None else [name for name in names if os.fsdecode(name) not in hidden]


def folder_of(descriptor: int) -> str | None:
    """The folder that a descriptor stands for; None when that is something else."""
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return None
        return _view[0].told(place_of(descriptor))
    except OSError:
        return None


def place_of(descriptor: int) -> str:
    """Where that really is which a descriptor stands for."""
    try:
        return _readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:
        import fcntl  # not on every system

        return os.fsdecode(fcntl.fcntl(descriptor, _GETPATH, bytes(1024)).rstrip(b"\0"))


def is_open_for_writing(path: str) -> bool:
    """Whether this process has that file open for writing, as far as the machine tells (Linux)."""
    try:
        import fcntl  # not on every system

        wanted = stat_of(path)
        descriptors = _listdir("/proc/self/fd")
    except (ImportError, OSError):
        return False
    for descriptor in map(int, descriptors):
        with suppress(OSError):
            about = os.fstat(descriptor)
            same = (about.st_ino, about.st_dev) == (wanted.st_ino, wanted.st_dev)
            if same and fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR):
                return True
    return False


def copy(path: str, to: str) -> None:
    """Copies what a file holds to a place of ours.

    Raises:
        OSError: it cannot be read, or not be written there.
    """
    with _FileIO(_view[0].where(path)) as file, _FileIO(to, "w") as copied:
        while data := file.read(_BLOCK):
            copied.write(data)


def content_of(path: str, clean: Clean = as_it_is) -> tuple[bytes, bytes | None]:
    """The SHA-256 of what a file holds, and that, both cleaned; None for what is too large to be kept.

    Raises:
        OSError: it cannot be read.
    """
    with _FileIO(_view[0].where(path)) as file:
        data = file.read(MAX_KEPT + 1)
        if len(data) <= MAX_KEPT:
            data = clean(path, data)
            return hashlib.sha256(data).digest(), data
        digest = hashlib.sha256(data)
        while more := file.read(_BLOCK):
            digest.update(more)
    return digest.digest(), None


def left_at(path: str, clean: Clean) -> Left:
    """What a run leaves at a path. Of a file whose name says that it holds credentials, these do not count."""
    try:
        about = stat_of(path)
    except OSError:
        return Left(path, Sight.NOTHING)
    mode = stat.S_IMODE(about.st_mode)
    if stat.S_ISDIR(about.st_mode):
        return Left(path, Sight.FOLDER, mode)
    if not stat.S_ISREG(about.st_mode):
        return Left(path, Sight.OTHER, mode, about.st_size)
    return Left(path, Sight.FILE, mode, about.st_size, _digest_left(path, clean))


def _digest_left(path: str, clean: Clean) -> bytes:
    """What tells whether two runs left the same in a file; of a database what it says, and not how that lies in it."""
    try:
        with _FileIO(_view[0].where(path)) as file:
            database = file.read(len(_DATABASE)) == _DATABASE
        if database and stat_of(path).st_size > MAX_KEPT:
            return b""
        return _digest_of_database(path, clean) if database else content_of(path, partial(_masked, clean))[0]
    except (OSError, sqlite3.Error):
        return b""


def _masked(clean: Clean, path: str, data: bytes) -> bytes:
    return redact_file(path, clean(path, data))


def _digest_of_database(path: str, clean: Clean) -> bytes:
    digest = hashlib.sha256()
    with closing(sqlite3.Connection(f"file:{quote(_view[0].where(path))}?mode=ro", uri=True)) as db:
        for line in db.iterdump():
            digest.update(clean("", line.encode("utf-8", "surrogatepass")) + b"\n")
    return digest.digest()


def installed() -> tuple[str, ...]:
    """The beginnings of paths that are the machine's and the interpreter's."""
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, _real.STDLIB, _real.PACKAGE}
    folders |= {path for path in sys.path if path.endswith(("/site-packages", "/dist-packages"))}
    return (*MACHINE, *sorted({beginning(path) for path in folders} - {"/", "/usr/"}))


def beginning(folder: str) -> str:
    """With what the paths of everything in a folder begin."""
    return os.path.abspath(folder).rstrip("/") + "/"  # noqa: PTH100  text, and quick


def is_program(path: str) -> bool:
    """Whether it is source that runs: a replay runs what stands there by then, and compares what it does."""
    return path.endswith(".py") and any(getattr(each, "__file__", None) == path for each in list(sys.modules.values()))


def state_of(path: str) -> Saw:
    """What a run finds at a path that it looks at; of a file's content and a folder's names, nothing."""
    try:
        if target := link_at(path):
            return Saw(path, Sight.LINK, names=[target])
        about = stat_of(path)
    except OSError:
        return Saw(path, Sight.NOTHING)
    mode, size, mtime = stat.S_IMODE(about.st_mode), about.st_size, about.st_mtime_ns
    if stat.S_ISDIR(about.st_mode):
        return Saw(path, Sight.FOLDER, mode, 0, mtime)
    return Saw(path, Sight.FILE if stat.S_ISREG(about.st_mode) else Sight.OTHER, mode, size, mtime)
