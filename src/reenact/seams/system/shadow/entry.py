"""What `os.scandir` tells of each name in a folder of the tree, and how failures name what the program named."""

from __future__ import annotations

import os
import stat
from typing import Any

from reenact.seams.system.shadow.tree import Tree

_lstat = os.lstat


class Entry:
    """As an `os.DirEntry`."""

    def __init__(self, tree: Tree, name: str, above: Any, folder: str) -> None:
        self.name: Any = os.fsencode(name) if isinstance(above, bytes) else name
        self.path: Any = self.name if isinstance(above, int) else os.path.join(above, self.name)  # noqa: PTH118  any type
        self._tree = tree
        self._here = f"{folder.rstrip('/')}/{name}"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """See `os.DirEntry.stat`."""
        with told_as(self.path):
            return _lstat(self._tree.at(self._tree.resolve(self._here, follow=follow_symlinks)))

    def _mode(self, *, follow: bool) -> int:
        try:
            return self.stat(follow_symlinks=follow).st_mode
        except FileNotFoundError:
            return 0

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """See `os.DirEntry.is_dir`."""
        return stat.S_ISDIR(self._mode(follow=follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """See `os.DirEntry.is_file`."""
        return stat.S_ISREG(self._mode(follow=follow_symlinks))

    def is_symlink(self) -> bool:
        """See `os.DirEntry.is_symlink`."""
        return stat.S_ISLNK(self._mode(follow=False))

    def is_junction(self) -> bool:
        """See `os.DirEntry.is_junction`."""
        return False

    def inode(self) -> int:
        """See `os.DirEntry.inode`."""
        return self.stat(follow_symlinks=False).st_ino

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class told_as:  # noqa: N801  reads as a word
    """What fails inside fails at the path that the program named, not where that was led."""

    __slots__ = ("_paths",)

    def __init__(self, *paths: Any) -> None:
        self._paths = paths

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError) and error.filename is not None:
            error.filename, *other = (os.fspath(path) if hasattr(path, "__fspath__") else path for path in self._paths)
            if other:
                error.filename2 = other[0]
