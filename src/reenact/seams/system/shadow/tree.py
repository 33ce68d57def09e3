"""A tree of copies over the machine's files: what is changed is changed there, and what is there hides what lies below.

A path of the program's is first resolved, link by link as the program sees them, and then stands at one of two places:
in the tree, at the same path below its root, or where it really is. What was deleted is remembered as gone.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from reenact.seams.system.states import beginning

# the machine's own: these stay what they are when `os` leads elsewhere
_open, _lstat, _readlink, _listdir, _access = os.open, os.lstat, os.readlink, os.listdir, os.access
_mkdir, _symlink, _mkfifo, _unlink, _rmdir, _rename = os.mkdir, os.symlink, os.mkfifo, os.unlink, os.rmdir, os.rename
_chmod, _utime, _link = os.chmod, os.utime, os.link
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
_BLOCK = 1 << 20
_MAX_LINKS = 40


class Tree:
    """The copies below `root`, an empty folder of ours."""

    def __init__(self, root: Path) -> None:
        self.begin(root)

    def begin(self, root: Path) -> None:
        """There are no copies yet, and nothing is gone."""
        self.root = str(root.resolve())
        self._below = beginning(self.root)
        self._gone: set[str] = set()

    # As a `View`: paths as the program has them

    def where(self, path: str, *, follow: bool = True) -> str:
        """Where that lies which is at a path."""
        return self.at(self.resolve(path, follow=follow))

    def told(self, place: str) -> str:
        """The path of what lies at a place."""
        if place == self.root:
            return "/"
        return place[len(self.root) :] if place.startswith(self._below) else place

    def names(self, path: str) -> list[str]:
        """What is in a folder. Raises OSError where there is none."""
        return self.list(self.resolve(path))

    # Resolved paths

    def resolve(self, path: str, *, follow: bool = True) -> str:
        """An absolute path without links in it; the last part may be one unless it is to `follow`.

        Raises:
            OSError: there are too many links.
        """
        done, rest, links = "", path.split("/")[::-1], 0
        while rest:
            name = rest.pop()
            if name in ("", "."):
                continue
            if name == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{name}"
            target = self._target(here) if follow or any(rest) else None
            if target is None:
                done = here
                continue
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            done = "" if target.startswith("/") else done
            rest += target.split("/")[::-1]
        return done or "/"

    def _target(self, path: str) -> str | None:
        try:
            return _readlink(self.at(path))
        except OSError:
            return None

    def at(self, path: str) -> str:
        """Where that lies."""
        mine = self.root + path
        return mine if self.is_gone(path) or _is_there(mine) else path

    def is_gone(self, path: str) -> bool:
        """Whether what really is at that path is hidden, with all above which it lies."""
        while path and self._gone:
            if path in self._gone:
                return True
            path = path.rpartition("/")[0]
        return False

    def differs(self, path: str) -> bool:
        """Whether the program has something else there than the machine."""
        return self.is_gone(path) or _is_there(self.root + path)

    def is_there(self, path: str) -> bool:
        """Whether the program finds anything there."""
        return _is_there(self.at(path))

    def is_folder(self, path: str) -> bool:
        """Whether it finds a folder there."""
        try:
            return stat.S_ISDIR(_lstat(self.at(path)).st_mode)
        except OSError:
            return False

    def list(self, path: str) -> list[str]:
        """The names in a folder, those of the machine and those of the tree."""
        found = _listdir(self.at(path))
        if not self.is_gone(path) and _is_there(self.root + path) and _is_there(path):
            found += sorted(set(_listdir(path)) - set(found))
        folder = path.rstrip("/")
        return [name for name in found if self.is_there(f"{folder}/{name}")] if self._gone else found

    # Changes

    def up(self, path: str) -> str:
        """Where what is at a path may be changed: a copy of it, where there was none. Of nothing, where it would be."""
        mine = self.root + path
        if _is_there(mine):
            return mine
        if self.is_gone(path) or not _is_there(path):
            return self.place(path)
        if path != "/":
            self.up(path.rpartition("/")[0] or "/")
        _copy(path, mine)
        return mine

    def place(self, path: str) -> str:
        """Where something may be made, if its folder is there.

        Raises:
            OSError: nothing could be made there.
        """
        folder = path.rpartition("/")[0] or "/"
        if self.is_there(folder):
            if not self.is_folder(folder):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            if not self._may_change(folder):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            self.up(folder)
        return self.root + path

    def _may_change(self, folder: str) -> bool:
        """Whether the machine would let the program make something there; a copy is always its own."""
        if self.is_gone(folder) or not _is_there(folder) or _access(folder, os.W_OK):
            return True
        return stat.S_IMODE(_lstat(self.at(folder)).st_mode) != _mode(folder)

    def new(self, path: str) -> str:
        """As `place`, for what must not be there.

        Raises:
            OSError: something is there, or nothing could be made there.
        """
        if self.is_there(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        return self.place(path)

    def remove(self, path: str) -> None:
        """Deletes what is no folder. Raises OSError."""
        self._check_removal(path, folder=False)
        self._drop(path, _unlink)

    def remove_folder(self, path: str) -> None:
        """Deletes a folder that is empty. Raises OSError."""
        self._check_removal(path, folder=True)
        self._drop(path, _rmdir)

    def _check_removal(self, path: str, *, folder: bool) -> None:
        if not self.is_there(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if folder and not self.is_folder(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        if folder and self.list(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        if not folder and self.is_folder(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self.place(path)

    def _drop(self, path: str, drop: Callable[[str], None]) -> None:
        mine = self.root + path
        if _is_there(mine):
            drop(mine)
        self._hide(path)

    def _hide(self, path: str) -> None:
        if _is_there(path):
            self._gone.add(path)

    def rename(self, path: str, to: str) -> None:
        """Moves what is there, over what is at the other path. Raises OSError."""
        if not self.is_there(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if path == to:
            return
        if self.is_folder(to) and self.is_folder(path) and self.list(to):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self.place(path)
        self._up_whole(path)
        _rename(self.root + path, self.up(to))
        self._hide(path)
        self._hide(to)

    def link(self, path: str, to: str) -> None:
        """Gives a file another name. Raises OSError."""
        if not self.is_there(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        _link(self.up(path), self.new(to), follow_symlinks=False)

    def _up_whole(self, path: str) -> None:
        self.up(path)
        if self.is_folder(path):
            for name in self.list(path):
                self._up_whole(f"{path}/{name}")


def _is_there(place: str) -> bool:
    try:
        _lstat(place)
    except (OSError, ValueError):
        return False
    return True


def _mode(place: str) -> int:
    """The rights on what is copied. What is in a folder has to be ours to change."""
    about = _lstat(place)
    return stat.S_IMODE(about.st_mode) | (0o300 if stat.S_ISDIR(about.st_mode) else 0)


def _copy(source: str, target: str) -> None:
    """Copies what is at one path, of a folder nothing of what is in it."""
    about = _lstat(source)
    if stat.S_ISLNK(about.st_mode):
        _symlink(_readlink(source), target)
        return
    if stat.S_ISDIR(about.st_mode):
        _mkdir(target)
    elif stat.S_ISREG(about.st_mode):
        _copy_content(source, target)
    else:
        _mkfifo(target)  # a stand-in that nobody reads: what it is, no copy could be
    _chmod(target, _mode(source))
    _utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _copy_content(source: str, target: str) -> None:
    read = _open(source, _READ)
    try:
        write = _open(target, _MAKE, 0o600)
        try:
            while data := os.read(read, _BLOCK):
                while data:
                    data = data[os.write(write, data) :]
        finally:
            os.close(write)
    finally:
        os.close(read)
