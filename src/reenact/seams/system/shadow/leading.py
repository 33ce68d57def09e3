"""Leads Python's own ways to files into a tree of copies. What a path is told as stays what the program knows."""

from __future__ import annotations

import _io
import importlib._bootstrap_external as import_system
import io
import os
import posix
import sqlite3
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from reenact.seams.patch import Patches
from reenact.seams.system import sqlite, states
from reenact.seams.system.files import OPENER, WRITES, replace
from reenact.seams.system.listings import Scan
from reenact.seams.system.shadow.entry import Entry, told_as
from reenact.seams.system.shadow.past import Past
from reenact.seams.system.shadow.tree import Tree

_LOOKS = ("stat", "lstat", "access", "readlink", "statvfs", "pathconf", "getxattr", "listxattr")
_NO_FOLLOWING = ("lstat", "readlink")
_CHANGES = ("chmod", "lchmod", "chown", "lchown", "chflags", "utime", "truncate", "setxattr", "removexattr")
_MAKES = ("mkdir", "mkfifo", "mknod")
_REMOVES = ("remove", "unlink")

Real = Callable[..., Any]


class Leading:
    """What leads to the tree, but for paths that begin as one of `exempt`: those are real, as ever."""

    def __init__(self, tree: Tree, past: Past, exempt: tuple[str, ...]) -> None:
        self._tree = tree
        self._past = past
        self._exempt = exempt
        self._installed = states.installed()  # mostly as it is, and looked at much
        self._installed_changed = False
        self._getcwd, self._open, self._open_io = os.getcwd, os.open, io.open
        self._listdir, self._scandir, self._chdir = os.listdir, os.scandir, os.chdir
        self._rename, self._link, self._symlink = os.rename, os.link, os.symlink

    def install(self, patches: Patches) -> None:
        """Leads from now on."""
        for name in _LOOKS:
            self._lead(patches, name, self._looking)
        for name in _CHANGES:
            self._lead(patches, name, self._changing)
        for name in _MAKES:
            self._lead(patches, name, self._making)
        for name in _REMOVES:
            self._lead(patches, name, lambda real: self._removing(real, self._tree.remove))
        self._lead(patches, "rmdir", lambda real: self._removing(real, self._tree.remove_folder))
        for name in ("rename", "replace"):
            replace(patches, name, self._renaming())
        for name in ("listdir", "scandir", "open", "link", "symlink", "chdir", "getcwd", "getcwdb"):
            replace(patches, name, _plain(getattr(self, name)))
        patches.function(io, "open", _plain(self.open_io))
        patches.function(sqlite3, "connect", self._connecting(sqlite3.connect))
        self._lead_imports(patches)

    def _lead(self, patches: Patches, name: str, made: Callable[[Real], Real]) -> None:
        if hasattr(os, name):
            replace(patches, name, made(getattr(os, name)))

    def _lead_imports(self, patches: Patches) -> None:
        """The import system imports what the program has written, and caches it in the tree, too."""
        led = {name: getattr(os, name) for name in vars(posix) if hasattr(os, name)}
        patches.set(import_system, "_os", SimpleNamespace(**{**vars(posix), **led}))

        def file_io(path: Any, mode: str = "r", *_rest: Any) -> Any:
            return self.open_io(path, mode if "b" in mode else f"{mode}b", buffering=0)

        opened = {"FileIO": file_io, "open_code": lambda path: self.open_io(path, "rb")}
        patches.set(import_system, "_io", SimpleNamespace(**{**vars(_io), **opened}))

    # Paths

    def _find(self, path: Any, folder: Any = None, *, follow: bool = True, changes: bool = False) -> str | None:
        """The resolved path that a call means; None where it is not to be led."""
        if isinstance(path, int):
            return None
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None  # the real one says what it thinks of that
        if not text or "\0" in text:
            return None
        if not text.startswith("/"):
            base = states.folder_of(folder) if folder is not None else self.getcwd()
            if base is None:
                return None
            text = f"{base}/{text}"
        if text.startswith(self._exempt):
            return None
        if text.startswith(self._installed) and not self._installed_changed:
            if not changes:
                return None
            self._installed_changed = True
        found = self._tree.resolve(text, follow=follow)
        return None if found.startswith(self._exempt) else found

    def _looking(self, real: Real) -> Real:
        follows = real.__name__ not in _NO_FOLLOWING

        def look(path: Any, *args: Any, **kwargs: Any) -> Any:
            with told_as(path):
                follow = follows and kwargs.get("follow_symlinks", True)
                found = self._find(path, kwargs.get("dir_fd"), follow=follow)
                if found is None:
                    return real(path, *args, **kwargs)
                kwargs.pop("dir_fd", None)
                answer = real(self._tree.at(found), *args, **kwargs)
                return os.fsencode(answer) if isinstance(answer, str) and isinstance(path, bytes) else answer

        return _by_name(look, "path")

    def _changing(self, real: Real) -> Real:
        follows = not real.__name__.startswith("l")

        def change(path: Any, *args: Any, **kwargs: Any) -> Any:
            with told_as(path):
                follow = follows and kwargs.get("follow_symlinks", True)
                found = self._find(path, kwargs.get("dir_fd"), follow=follow, changes=True)
                if found is None:
                    return real(path, *args, **kwargs)
                kwargs.pop("dir_fd", None)
                return real(self._tree.up(found), *args, **kwargs)

        return _by_name(change, "path")

    def _making(self, real: Real) -> Real:
        def make(path: Any, *args: Any, **kwargs: Any) -> Any:
            with told_as(path):
                found = self._find(path, kwargs.get("dir_fd"), follow=False, changes=True)
                if found is None:
                    return real(path, *args, **kwargs)
                kwargs.pop("dir_fd", None)
                return real(self._tree.new(found), *args, **kwargs)

        return _by_name(make, "path")

    def _removing(self, real: Real, remove: Callable[[str], None]) -> Real:
        def removing(path: Any, *, dir_fd: Any = None) -> None:
            with told_as(path):
                found = self._find(path, dir_fd, follow=False, changes=True)
                if found is None:
                    real(path, dir_fd=dir_fd)
                else:
                    remove(found)

        return removing

    def _renaming(self) -> Real:
        def rename(src: Any, dst: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None) -> None:
            with told_as(src, dst):
                here = self._find(src, src_dir_fd, follow=False, changes=True)
                there = self._find(dst, dst_dir_fd, follow=False, changes=True)
                if here is None or there is None:
                    self._rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
                else:
                    self._tree.rename(here, there)

        return rename

    # The functions by their names

    def link(
        self, src: Any, dst: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None, follow_symlinks: bool = True
    ) -> None:
        """See `os.link`."""
        with told_as(src, dst):
            here = self._find(src, src_dir_fd, follow=False, changes=True)
            there = self._find(dst, dst_dir_fd, follow=False, changes=True)
            if here is None or there is None:
                folders = {"src_dir_fd": src_dir_fd, "dst_dir_fd": dst_dir_fd}
                self._link(src, dst, **folders, follow_symlinks=follow_symlinks)
            else:
                self._tree.link(here, there)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: Any = None) -> None:  # noqa: FBT001, FBT002  os has it so
        """See `os.symlink`."""
        with told_as(src, dst):
            found = self._find(dst, dir_fd, follow=False, changes=True)
            if found is None:
                self._symlink(src, dst, target_is_directory, dir_fd=dir_fd)
            else:
                self._symlink(src, self._tree.new(found))

    def getcwd(self) -> str:
        """See `os.getcwd`."""
        return self._tree.told(self._getcwd())

    def getcwdb(self) -> bytes:
        """See `os.getcwdb`."""
        return os.fsencode(self.getcwd())

    def chdir(self, path: Any) -> None:
        """See `os.chdir`."""
        with told_as(path):
            found = self._find(path)
            if found is None:
                self._chdir(path)
            else:
                self._chdir(self._tree.at(found))

    def listdir(self, path: Any = None) -> list[Any]:
        """See `os.listdir`."""
        with told_as(path):
            found = self._find_folder(path)
            if found is None:
                return self._listdir(path)
            names = self._tree.list(found)
            return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: Any = None) -> Any:
        """See `os.scandir`."""
        with told_as(path):
            found = self._find_folder(path)
            if found is None:
                return self._scandir(path)
            above = "." if path is None else path
            return Scan([Entry(self._tree, name, above, found) for name in self._tree.list(found)])

    def _find_folder(self, path: Any) -> str | None:
        if isinstance(path, int):
            path = states.folder_of(path)
        return self._find("." if path is None else path)

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: Any = None) -> int:
        """See `os.open`."""
        with told_as(path):
            new = flags & os.O_CREAT and flags & os.O_EXCL
            follow = not (new or flags & getattr(os, "O_NOFOLLOW", 0))
            found = self._find(path, dir_fd, follow=follow, changes=bool(flags & WRITES))
            if found is None:
                return self._open(path, flags, mode, dir_fd=dir_fd)
            tree = self._tree
            find = tree.new if new else tree.up if flags & WRITES else tree.at
            return self._open(find(found), flags, mode)

    def open_io(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        """See `io.open`."""
        own = len(args) > OPENER or kwargs.get("opener") is not None
        if not isinstance(file, int) and not own:
            kwargs["opener"] = self._opener
        with self._past.led():
            return self._open_io(file, mode, *args, **kwargs)

    def _opener(self, file: Any, flags: int) -> int:
        return self.open(file, flags, 0o666)

    def _connecting(self, real: Real) -> Real:
        def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
            uri = sqlite.is_uri(args, kwargs)
            path = sqlite.path_of(database, uri=uri)
            found = self._find(path, changes=True) if path is not None else None
            if found is not None:
                place = self._tree.up(found)
                for end in sqlite.BESIDE:
                    self._tree.up(found + end)
                is_uri = uri and os.fsdecode(database).startswith("file:")
                query = os.fsdecode(database).partition("?")[1:] if is_uri else ()
                database = f"file:{quote(place)}{''.join(query)}" if is_uri else place
            connection = real(database, *args, **kwargs)
            self._past.close_attaching(connection)
            return connection

        return connect


def _plain(method: Real) -> Real:
    """The method as a function, which may be named as what it takes the place of."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return call


def _by_name(led: Real, name: str) -> Real:
    """`led`, whose first argument may be given by name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return led(*args, **kwargs) if args or name not in kwargs else led(kwargs.pop(name), **kwargs)

    return call
