"""What goes past the redirection, as an audit hook sees it.

A change there is refused. A file that is read there, and is another in the tree, is told.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import get_lane
from reenact.errors import DivergenceError
from reenact.seams.system import sqlite, states
from reenact.seams.system.files import WRITES
from reenact.seams.system.shadow.tree import Tree

_CONNECT = "sqlite3.connect"
_CHANGES = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.chflags": ((0, None),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    _CONNECT: ((0, None),),
}
"""Of an audit event, which arguments are paths at which something is about to change, and the folder of each."""
_getcwd = os.getcwd
_ATTACH = 24  # SQLITE_ATTACH


class Past:
    """The hook. An audit hook cannot be taken away; this one is there once in a process."""

    def __init__(self, tree: Tree, exempt: tuple[str, ...]) -> None:
        self._tree = tree
        self._exempt = (*exempt, states.beginning(tree.root))
        self._led: ContextVar[bool] = ContextVar("reenact_led", default=False)
        self.told: list[str] = []

    def install(self) -> None:
        """Watches from now on."""
        sys.addaudithook(self)

    @contextmanager
    def led(self) -> Iterator[None]:
        """What is opened inside has been led."""
        token = self._led.set(True)
        try:
            yield
        finally:
            self._led.reset(token)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """See `sys.addaudithook`."""
        if event == "open":
            if not self._led.get():
                self._opens(*args[:3])
        elif event in _CHANGES:
            for at, folder in _CHANGES[event]:
                given = _database(args[at]) if event == _CONNECT else args[at]
                path = self._real(given, -1 if folder is None else args[folder])
                if path is not None:
                    self._refuse(event, path)

    def _opens(self, path: Any, mode: Any, flags: Any) -> None:
        real = self._real(path)
        if real is None:
            return
        if (isinstance(flags, int) and flags & WRITES) or (isinstance(mode, str) and set(mode) & set("wax+")):
            self._refuse("open", real)
        elif self._tree.differs(real):
            told = f"{real} was read past the redirection, as it is by now"
            if told not in self.told:
                self.told.append(told)

    def _real(self, path: Any, folder: int = -1) -> str | None:
        """The path that is meant, where it is the machine's own."""
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None  # a descriptor
        if not text or "\0" in text:
            return None
        above = _getcwd() if folder < 0 else states.place_of(folder)
        text = os.path.normpath(os.path.join(above, text))  # noqa: PTH118  text, and quick
        return None if text.startswith(self._exempt) else text

    def _refuse(self, event: str, path: str) -> None:
        if "/__pycache__" in path:  # who caches there goes on without
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        lane = get_lane()
        if lane is not None and lane.session is not None:
            note = "it would be changed past the redirection of files, where a replay changes nothing"
            lane.session.latch(Divergence(What.FILE, "0", actual=Datum("file", path, event.encode()), notes=(note,)))
        else:
            self.told.append(
                f"{path} was not changed ({event}): that was past the redirection, and in no lane of the run"
            )
        raise DivergenceError(f"no file is changed in replay: {event} {path}")

    def close_attaching(self, connection: sqlite3.Connection) -> None:
        """SQLite itself opens what is attached: only what is in memory may be."""

        def may(action: int, what: str | None, *_more: Any) -> int:
            if action != _ATTACH or what in (None, "", ":memory:"):
                return sqlite3.SQLITE_OK
            if what is not None and os.path.abspath(what).startswith(self._exempt):  # noqa: PTH100  text, and quick
                return sqlite3.SQLITE_OK
            self.told.append(f"the database {what} was not attached: SQLite would have opened it past the redirection")
            return sqlite3.SQLITE_DENY

        connection.set_authorizer(may)


def _database(name: Any) -> str | None:
    """The file that a database is in. Whether it is named by a URI, its name alone can tell here."""
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
    return sqlite.path_of(text, uri=text.startswith("file:"))
