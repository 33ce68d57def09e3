"""The seam in SQLite: the database file is a file of the run, and what SQL reads of clock and chance is on tape.

SQLite is C: it opens its files and reads the clock by itself. A database is looked at before it is opened, so that a
replay finds it as it was, and each connection gets functions of ours for those that give another result each time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from reenact import _real
from reenact.engine.lane import get_lane, muted
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system import files
from reenact.tape.event import DrawKind

_KNOWN: WeakKeyDictionary[Session, set[int]] = WeakKeyDictionary()  # the connections that each run has met
_USES = ("execute", "executemany", "executescript", "cursor")
_cursor = sqlite3.Connection.cursor
BESIDE = ["-wal", "-journal"]
_URI = 7  # the place of `uri` among the arguments of `connect`
_KEYWORDS = {"current_timestamp": "datetime", "current_date": "date", "current_time": "time"}
_DATES = ["date", "time", "datetime", "julianday", "strftime"]
if sqlite3.sqlite_version_info >= (3, 38):
    _DATES.append("unixepoch")
_SAME_STATEMENT, _LONGEST_HELD = 0.002, 0.05  # seconds
_JULIAN_EPOCH, _DAY = 2440587.5, 86400.0


def install(patches: Patches) -> None:
    """Meets every database that is opened."""
    real = sqlite3.connect

    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        path = path_of(database, uri=is_uri(args, kwargs))
        if path is not None:
            files.tell_database(path, BESIDE)
        connection = real(database, *args, **kwargs)
        lane = get_lane()
        if lane is not None and lane.session is not None:
            _KNOWN.setdefault(lane.session, set()).add(id(connection))
            _give_functions(connection)
        return connection

    patches.function(sqlite3, "connect", connect)


def install_shared(patches: Patches) -> None:
    """Meets connections from before a run in code where it uses them: only then are their databases the run's."""
    for kind, connection_of in (
        (sqlite3.Connection, lambda self: self),
        (sqlite3.Cursor, lambda self: self.connection),
    ):
        for name in _USES:
            if hasattr(kind, name):
                patches.method_of_builtin(kind, name, _using(getattr(kind, name), connection_of))


def _using(real: Callable[..., Any], connection_of: Callable[[Any], sqlite3.Connection]) -> Callable[..., Any]:
    def use(self: Any, *args: Any, **kwargs: Any) -> Any:
        lane = get_lane()
        if lane is not None and lane.session is not None and not lane.session.exclusive:
            _meet_older(connection_of(self), lane.session)
        return real(self, *args, **kwargs)

    use.__name__, use.__doc__ = real.__name__, real.__doc__
    return use


def _meet_older(connection: sqlite3.Connection, session: Session) -> None:
    known = _KNOWN.setdefault(session, set())
    if id(connection) in known:
        return
    known.add(id(connection))
    databases: list[str] = []
    with muted(), suppress(sqlite3.Error):  # in the midst of a statement it takes no functions
        cursor = _cursor(connection)
        cursor.row_factory = None
        databases = [path for _, _, path in cursor.execute("PRAGMA database_list") if path]
        cursor.close()
        if databases:
            _give_functions(connection)
    for path in databases:
        files.tell_database(path, BESIDE)


def is_uri(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the database is named by a URI; `args` are those of `connect` after it."""
    return bool(kwargs.get("uri", args[_URI - 1] if len(args) >= _URI else False))


def path_of(database: Any, *, uri: bool) -> str | None:
    """The file that a database is in; None for one in memory."""
    try:
        name = os.fsdecode(database)
    except TypeError:
        return None
    if uri and name.startswith("file:"):
        parts = urlsplit(name)
        if "mode=memory" in parts.query.split("&"):
            return None
        name = unquote(parts.path)
    return None if name in {"", ":memory:"} else name


class _Clock:
    """The time of one connection. SQLite shows a statement one time however long it takes; so nearly does this."""

    def __init__(self) -> None:
        self._held = self._asked = 0.0

    def now(self) -> float:
        """Seconds since 1970, as they are on tape."""
        lane = get_lane()
        if lane is None or lane.session is None:
            return self._read()
        return float(lane.session.draw(lane, DrawKind.TIME, self._read, _real.getframe(1)))  # type: ignore[arg-type]

    def _read(self) -> float:
        now = _real.time()
        if not (self._asked <= now < self._asked + _SAME_STATEMENT and now < self._held + _LONGEST_HELD):
            self._held = now
        self._asked = now
        return self._held


def _give_functions(connection: sqlite3.Connection) -> None:
    clock = _Clock()
    calculator = sqlite3.Connection(":memory:", check_same_thread=False)

    def at(name: str) -> Callable[..., Any]:
        when = 1 if name == "strftime" else 0

        def dated(*args: Any) -> Any:
            # by SQLite's own function, which is told the time
            given = [*args] if len(args) > when else [*args, "now"]
            if isinstance(given[when], str) and given[when].lower() == "now":
                given[when] = _JULIAN_EPOCH + clock.now() / _DAY
            marks = ", ".join("?" * len(given))
            return calculator.execute(f"SELECT {name}({marks})", given).fetchone()[0]

        return dated

    for name in _DATES:
        connection.create_function(name, -1, at(name))
    for keyword, name in _KEYWORDS.items():
        connection.create_function(keyword, 0, at(name))
    connection.create_function("random", 0, _random)
    connection.create_function("randomblob", 1, _randomblob)


def _random() -> int:
    return int.from_bytes(_chance(8), signed=True)


def _randomblob(size: Any) -> bytes:
    return _chance(max(1, int(size or 0)))


def _chance(size: int) -> bytes:
    lane = get_lane()
    if lane is None or lane.session is None:
        return _real.urandom(size)
    drawn = lane.session.draw(lane, DrawKind.ENTROPY, lambda: _real.urandom(size), _real.getframe(1))
    assert isinstance(drawn, bytes)  # noqa: S101  an ENTROPY draw is bytes
    return drawn
