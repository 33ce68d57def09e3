"""The seam in files: what the run finds on the disk when it first looks there, and what it leaves behind.

Kept are the states of paths and not the calls: what a path held before the run touched it, once, with the content by
digest. A replay puts that in place before the program begins (`launch/workspace.py`), so whatever then reads it, C code
too, finds what the run found. What the interpreter and its installed packages consist of is not looked at.
"""

from __future__ import annotations

import _io
import hashlib
import io
import os
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, Self
from urllib.parse import quote

from reenact import _real
from reenact.engine.lane import MUTED, enter, get_lane, leave
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.tape.event import Changed, Content, DrawKind, Left, Saw, Sight
from reenact.tape.redact import redact_content, secrets_of

MAX_KEPT = 256 * 1024 * 1024
_BLOCK = 1024 * 1024
_BEHIND_NS = 20_000_000  # file systems read a clock that goes on by ticks, so a file may seem older than it is
_DATABASE = b"SQLite format 3\0"
_MACHINE = ("/proc/", "/sys/", "/dev/", "/run/")
_OF_PROCESSES = "/pymp-"  # a folder in which multiprocessing listens
_LOOKS = ("stat", "lstat", "access", "readlink")
_LISTS = ("listdir", "scandir")
_CHANGES = ("remove", "unlink", "rmdir", "mkdir", "truncate", "utime", "chmod", "mkfifo")
_CHANGES_TWO = ("rename", "replace", "link", "symlink")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Files:
    """What one recorded run has seen and touched. `store` is where its tape is: no part of the run."""

    def __init__(self, session: Session, store: Path) -> None:
        self._session = session
        self._secrets = secrets_of(os.environ)
        self._outside = not_the_runs(store)
        self.take()

    def take(self, *, among: bool = False) -> None:
        """A run begins, in this process or in a fork of it, and has seen nothing yet. `among`: others are there."""
        self._seen: dict[str, bool] = {}  # path -> whether its content is on tape, too
        self._kept: set[bytes] = set()
        self._touched: dict[str, None] = {}
        self._known: dict[str, tuple[int, ...]] = {}
        self._last_child = -1
        self._first_child = _real.time_ns() - _BEHIND_NS if among else 0
        self._owner = _real.getpid()

    def install(self, patches: Patches) -> None:
        """Meets what opens, looks at, lists and changes files."""
        real = io.open
        patches.function(io, "open", self._opening(real))
        patches.set(_io, "open", real)  # by which the import system opens source: that is no state of the run
        patches.function(os, "open", self._os_opening(os.open))
        for name in _LOOKS:
            patches.function(os, name, self._before(getattr(os, name), self.look))
        for name in _LISTS:
            patches.function(os, name, self._before(getattr(os, name), self.list_))
        for name in _CHANGES:
            if hasattr(os, name):
                patches.function(os, name, self._before(getattr(os, name), self.touch))
        for name in _CHANGES_TWO:
            patches.function(os, name, self._before(getattr(os, name), self.touch, self.touch))

    def outside(self, path: str) -> bool:
        """Whether what stands there is no state of the run."""
        return path.startswith(self._outside)

    # What the run does

    def look(self, path: str) -> None:
        """The run asks what is there."""
        if path not in self._seen and path not in self._touched:
            self._saw(path, self._state(path))

    def read(self, path: str) -> None:
        """The run reads what is there."""
        if not self._seen.get(path) and path not in self._touched:
            self._saw(path, self._state(path, content=True))

    def list_(self, path: str) -> None:
        """The run asks what is in a folder. What it has put there itself is not what it found."""
        if not self._seen.get(path) and path not in self._touched:
            self._saw(path, self._state(path, content=True))

    def touch(self, path: str) -> None:
        """The run changes what is there, and has seen it so far as it will be put in place again before."""
        self.read(path)
        self._touched[path] = None

    def opens(self, database: str, beside: list[str]) -> None:
        """The run opens a database, and with it what SQLite keeps beside it. SQLite may change it at once."""
        self._tell(self.touch, database, {})
        for path in beside:
            self._tell(self.read, path, {})

    def end(self) -> None:
        """Keeps how the run leaves what it has touched."""
        for path in self._touched:
            found = self._state(path)
            digest = digest_left(path, self._secrets) if found.kind is Sight.FILE else b""
            self._session.keep(Left(path, found.kind, found.mode, found.size, digest))

    # What others do

    def before_child(self) -> None:
        """Another process is about to be started: what it changes is not the run's own doing."""
        self._first_child = self._first_child or _real.time_ns() - _BEHIND_NS
        for path in (*self._seen, *self._touched):
            self._known[path] = _signature(path)

    def after_child(self, event: int) -> None:
        """It has ended, as the run knows by that event."""
        self._keep_changes(event, (*self._seen, *(path for path in self._touched if path not in self._seen)))

    def meanwhile(self, event: int) -> None:
        """It has told something by that event. Of what the run changes itself, it is at its end told who did."""
        self._keep_changes(event, [path for path in self._seen if path not in self._touched])

    def _keep_changes(self, event: int, paths: Iterable[str]) -> None:
        self._last_child = event
        for path in paths:
            now = _signature(path)
            if now != self._known.get(path):
                self._known[path] = now
                self._session.keep(Changed(event, self._state(path, content=True)))

    def _made_by_child(self, found: Saw) -> bool:
        """Whether what the run finds has come to be only since it started its first child."""
        if self._last_child < 0 or not self._first_child or found.kind != Sight.FILE:
            return False
        try:
            return _stat(found.path).st_ctime_ns >= self._first_child
        except OSError:
            return False

    # What is there

    def _saw(self, path: str, found: Saw) -> None:
        self._known[path] = _signature(path)
        if path not in self._seen and self._made_by_child(found):
            self._session.keep(Saw(path, Sight.NOTHING))
            self._session.keep(Changed(self._last_child, self._state(path, content=True)))
            self._seen[path] = True
            return
        self._seen[path] = bool(found.digest) or found.names is not None or found.kind is Sight.NOTHING
        self._session.keep(found)

    def _state(self, path: str, *, content: bool = False) -> Saw:
        try:
            about = _stat(path)
        except OSError:
            return Saw(path, Sight.NOTHING)
        mode, size, mtime = stat.S_IMODE(about.st_mode), about.st_size, about.st_mtime_ns
        if stat.S_ISDIR(about.st_mode):
            names = self._names(path) if content else None
            return Saw(path, Sight.FOLDER, mode, 0, mtime, names=names)
        if not stat.S_ISREG(about.st_mode):
            return Saw(path, Sight.OTHER, mode, size, mtime)
        digest = self._content(path) if content else b""
        return Saw(path, Sight.FILE, mode, size, mtime, digest)

    def _names(self, path: str) -> list[str]:
        try:
            return [name for name in _listdir(path) if f"{path}/{name}" not in self._touched]
        except OSError:
            return []

    def _content(self, path: str) -> bytes:
        """The digest of a file, whose content is on tape when this returns, unless it is too large for that."""
        try:
            digest, data = content_of(path, self._secrets)
        except OSError:
            return b""
        if data is None:
            self._session.note("file", f"{path} is too large to be kept: it has to be there in replay")
        elif digest not in self._kept:
            self._kept.add(digest)
            self._session.keep(Content(digest, data))
        return digest

    # How it is met

    def _before(self, real: Callable[..., Any], *tell: Callable[[str], None]) -> Callable[..., Any]:
        """`real`, which is told of its first arguments before it is called."""

        def met(*args: Any, **kwargs: Any) -> Any:
            for told, path in zip(tell, args, strict=False):
                self._tell(told, path, kwargs)
            return real(*args, **kwargs)

        met.__name__ = met.__qualname__ = real.__name__
        met.__doc__ = real.__doc__
        return met

    def _opening(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001  its name
            writes = isinstance(mode, str) and not set(mode).isdisjoint("wax+")
            self._tell(self.touch if writes else self.read, file, kwargs)
            return real(file, mode, *args, **kwargs)

        return open

    def _os_opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def open(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:  # noqa: A001  its name
            self._tell(self.touch if flags & _WRITES else self.read, path, kwargs)
            return real(path, flags, *args, **kwargs)

        return open

    def _tell(self, tell: Callable[[str], None], path: Any, kwargs: dict[str, Any]) -> None:
        lane = get_lane()
        if lane is None or lane.session is not self._session or _real.getpid() != self._owner:
            return
        token = enter(MUTED)
        try:
            if not any(kwargs.get(name) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
                absolute = _absolute(path)
                outside = absolute is None or absolute.startswith(self._outside) or _OF_PROCESSES in absolute
                if absolute is not None and not outside and not _is_program(absolute):
                    tell(absolute)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(error)
        finally:
            leave(token)


_stat, _listdir, _FileIO = os.stat, os.listdir, io.FileIO


def _signature(path: str) -> tuple[int, ...]:
    """What changes when somebody changes what is there."""
    try:
        about = _stat(path)
    except OSError:
        return ()
    return about.st_mode, about.st_ino, about.st_size, about.st_mtime_ns


def content_of(path: str, secrets: tuple[bytes, ...] = ()) -> tuple[bytes, bytes | None]:
    """The SHA-256 of what a file holds, and that, both without credentials; None for what is too large to be kept.

    Raises:
        OSError: it cannot be read.
    """
    with _FileIO(path) as file:
        data = file.read(MAX_KEPT + 1)
        if len(data) <= MAX_KEPT:
            data = redact_content(path, data, secrets)
            return hashlib.sha256(data).digest(), data
        digest = hashlib.sha256(data)
        while more := file.read(_BLOCK):
            digest.update(more)
    return digest.digest(), None


def digest_left(path: str, secrets: tuple[bytes, ...]) -> bytes:
    """What tells whether two runs left the same in a file; of a database what it says, and not how that lies in it."""
    try:
        with _FileIO(path) as file:
            database = file.read(len(_DATABASE)) == _DATABASE
        if database and _stat(path).st_size > MAX_KEPT:
            return b""
        return _digest_of_database(path) if database else content_of(path, secrets)[0]
    except (OSError, sqlite3.Error):
        return b""


def _digest_of_database(path: str) -> bytes:
    digest = hashlib.sha256()
    with closing(sqlite3.Connection(f"file:{quote(path)}?mode=ro", uri=True)) as db:
        for line in db.iterdump():
            digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.digest()


def _absolute(path: Any) -> str | None:
    """The path that a call means; None for a descriptor, and for what is no path."""
    if isinstance(path, int):
        return None
    try:
        text = os.fsdecode(path)
    except TypeError:
        return None
    return os.path.abspath(text) if "\0" not in text else None  # noqa: PTH100  text, and quick


def not_the_runs(store: Path) -> tuple[str, ...]:
    """The beginnings of paths that are no state of the run."""
    installed = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, _real.STDLIB, _real.PACKAGE}
    installed |= {path for path in sys.path if path.endswith(("/site-packages", "/dist-packages"))}
    found = {os.path.abspath(path).rstrip("/") + "/" for path in (*installed, str(store))}  # noqa: PTH100
    return (*_MACHINE, *sorted(found - {"/", "/usr/"}))


def _is_program(path: str) -> bool:
    """Whether it is source that runs: a replay runs what stands there by then, and compares what it does."""
    return path.endswith(".py") and any(getattr(each, "__file__", None) == path for each in list(sys.modules.values()))


def meet_listings(patches: Patches, session: Session, store: Path) -> None:
    """Folders are listed in the order of the recording: a file system promises none, and a copy has another."""
    outside = not_the_runs(store)

    def in_order(path: Any, names: list[Any], frame: FrameType) -> list[Any]:
        lane = get_lane()
        absolute = _absolute("." if path is None else path)
        if lane is None or lane.session is not session or absolute is None or absolute.startswith(outside):
            return names
        here = b"\0".join(map(os.fsencode, names))
        drawn = session.draw(lane, DrawKind.LISTING, lambda: here, frame)
        assert isinstance(drawn, bytes)  # noqa: S101  a LISTING draw is bytes
        known = {name: place for place, name in enumerate(drawn.split(b"\0"))}
        return sorted(names, key=lambda name: known.get(os.fsencode(name), len(known)))

    real_listdir, real_scandir = os.listdir, os.scandir

    def listdir(path: Any = None) -> list[Any]:
        return in_order(path, real_listdir(path), _real.getframe(1))

    def scandir(path: Any = None) -> Any:
        with real_scandir(path) as found:
            entries = {entry.name: entry for entry in found}
        return _Scan([entries[name] for name in in_order(path, list(entries), _real.getframe(1))])

    patches.function(os, "listdir", listdir)
    patches.function(os, "scandir", scandir)


class _Scan:
    """What `os.scandir` returns, in another order."""

    def __init__(self, entries: list[os.DirEntry[Any]]) -> None:
        self._left = iter(entries)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._left)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open any more."""
        self._left = iter(())
