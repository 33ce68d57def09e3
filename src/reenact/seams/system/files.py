"""The seam in files: what the run finds on the disk when it first looks there, and what it leaves behind.

Kept are the states of paths and not the calls: what a path held before the run touched it, once, with the content by
digest. A replay puts that in place before the run begins (`launch/workspace.py`), so whatever then reads it, C code
too, finds what the run found. What the interpreter and its installed packages consist of is not looked at.
"""

from __future__ import annotations

import _io
import io
import os
import stat
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec

from reenact import _real
from reenact.engine.lane import MUTED, enter, get_lane, leave
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system import states
from reenact.tape.event import Again, Changed, Content, Left, Saw, Sight

_BEHIND_NS = 20_000_000  # file systems read a clock that goes on by ticks, so a file may seem older than it is
_LOOKS = ("stat", "lstat", "access", "readlink")
_LISTS = ("listdir", "scandir")
_CHANGES = ("remove", "unlink", "rmdir", "mkdir", "truncate", "utime", "chmod", "mkfifo", "mknod")
_KEEPERS = (("glob", "_StringGlobber"), ("tempfile", "_TemporaryFileCloser"))
_MAX_LINKS = 8
_OF_PROCESSES = "/pymp-"  # a folder in which multiprocessing listens
_MOVES = ("rename", "replace")
_LINKS = ("link", "symlink")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OPENER = 5  # its place among the arguments of `open` that come after the mode
_NAMELESS = getattr(os, "O_TMPFILE", -1)  # a file in that folder without a name: the folder stays as it is


def _stamp(about: os.stat_result) -> tuple[int, ...]:
    return about.st_mode, about.st_ino, about.st_size, about.st_mtime_ns


class Act(Enum):
    """What is done at a path: asked what is there, read (of a folder: listed), or changed."""

    LOOK = 1
    READ = 2
    CHANGE = 3


class Attendant(Protocol):
    """Who looks after the files of one run."""

    def meets(self, path: str, act: Act) -> None:
        """The run is about to do that. Only its own lanes count."""

    def moves(self, path: str, to: str) -> None:
        """The run is about to rename what is there."""

    def opens(self, database: str, beside: list[str]) -> None:
        """The run is about to open a database, and with it what SQLite keeps beside it."""

    def others_change(self, path: str) -> None:
        """Another run, or the rest of the process, is about to change what is there."""


_RUNS: dict[Session, Attendant] = {}
os.register_at_fork(after_in_child=_RUNS.clear)  # what a fork does is no part of its parent's runs


def attend(session: Session, attendant: Attendant | None) -> None:
    """The files of this run are looked after from now on; None: not any more."""
    if attendant is None:
        _RUNS.pop(session, None)
    else:
        _RUNS[session] = attendant


class Files:
    """What one recorded run has seen and changed. `store` is where its tape is: no part of the run.

    `served` is there where the run is a replay, too.
    """

    def __init__(self, session: Session, store: Path, served: Attendant | None = None) -> None:
        self._session = session
        self._store = store
        self._served = served
        self._begin()

    def _begin(self) -> None:
        self._lock = _real.RLock()
        self._first: dict[str, Saw] = {}
        self._whole: set[str] = set()  # of these the content is on tape, too
        self._marks: dict[str, tuple[object, ...]] = {}
        self._stamps: dict[str, tuple[int, ...]] = {}  # which are the same only while nothing changes
        self._meetings: dict[str, int] = {}
        self._kept: set[bytes] = set()
        self._changed: dict[str, None] = {}
        self._beside: set[str] = set()  # what SQLite keeps beside databases, as it likes
        self._databases: set[str] = set()
        self._shared: set[str] = set()
        self._left: dict[str, Left] = {}
        self._moves: list[tuple[str, str]] = []
        self._last_child = -1
        self._first_child = 0

    def take(self) -> None:
        """A process of a run begins, maybe in a fork, and has seen nothing yet. Others are there, and change files."""
        self._begin()
        self._first_child = _real.time_ns() - _BEHIND_NS
        attend(self._session, self)

    @property
    def changed(self) -> Container[str]:
        """The paths that the run has changed."""
        return self._changed

    def written(self) -> list[str]:
        """The same, and what SQLite has beside databases among them."""
        beside = (f"{path}{end}" for path in self._databases for end in ("-wal", "-journal"))
        return [*self._changed, *beside]

    @cached_property
    def _outside(self) -> tuple[str, ...]:
        return (*states.installed(), states.beginning(str(self._store)))

    # What the run does

    def meets(self, path: str, act: Act, links: int = 0) -> None:
        """See `Attendant`. With a link, what it led to when it was first seen."""
        if self._served is not None and not links:
            self._served.meets(path, act)
        if not self._is_state(path):
            return
        with self._lock:
            meeting = self._meetings[path] = self._meetings.get(path, 0) + 1
            if path in self._first:
                self._meets_again(path, meeting)
            content = act is not Act.LOOK
            if path not in self._changed and (path not in self._first or (content and path not in self._whole)):
                self._sees(path, meeting, content=content)
            if act is Act.CHANGE:
                self._changed[path] = None
            target = target_of(self._first.get(path))
            if target is not None and links < _MAX_LINKS:
                self.meets(target, act, links + 1)

    def moves(self, path: str, to: str) -> None:
        """See `Attendant`. What lies below is found at another place from now on."""
        self.meets(path, Act.CHANGE)
        self.meets(to, Act.CHANGE)
        if states.state_of(path).kind is Sight.FOLDER:
            self._moves.append((path + "/", to + "/"))

    def opens(self, database: str, beside: list[str]) -> None:
        """See `Attendant`. SQLite may change it at once."""
        self._databases.add(database)
        self.meets(database, Act.CHANGE)
        for path in beside:
            if path not in self._beside:
                self.meets(path, Act.READ)
                self._beside.add(path)

    def others_change(self, path: str) -> None:
        """See `Attendant`. What the run has left there is what is there now, unless it comes back to it."""
        if self._session.exclusive or not self._is_state(path):
            return
        with self._lock:
            if path not in self._first or path in self._left:
                return
            if path in self._databases:
                self._shared.add(path)
                self._tell_shared(path)
                return
            if path in self._changed:
                self._left[path] = states.left_at(path, self._session.vault.clean_file)
            if path not in self._shared:
                self._shared.add(path)
                self._marks[path] = self._mark(path)

    def end(self) -> None:
        """Keeps how the run leaves what it has changed."""
        attend(self._session, None)
        with self._lock:
            for path in self._changed:
                if not (path in self._databases and path in self._shared):
                    self._session.keep(self._left.get(path) or states.left_at(path, self._session.vault.clean_file))

    def outside(self, path: str) -> bool:
        """Whether what stands there is no state of any run."""
        return path.startswith(self._outside) or _OF_PROCESSES in path

    def runs(self, path: str) -> None:
        """The run runs what stands there, which is no program of before it: that is state, as a file that is read."""
        with self._lock:
            if path not in self._changed and path not in self._whole:
                self._whole.add(path)
                self._first[path] = found = self._state(path, content=True)
                self._marks[path] = self._mark(path)
                self._session.keep(found)

    def _is_state(self, path: str) -> bool:
        return not self.outside(path) and not states.is_program(path)

    def _is_own(self, path: str) -> bool:
        """Whether a difference there is, as far as anybody knows, the run's own doing."""
        return path in self._beside or (path in self._changed and path not in self._shared)

    # What others do

    def before_child(self) -> None:
        """Another process is about to be started: what it changes is not the run's own doing."""
        self._first_child = self._first_child or _real.time_ns() - _BEHIND_NS
        for path in self._changed:
            self._marks[path] = self._mark(path)

    def after_child(self, event: int) -> None:
        """It has ended, as the run knows by that event."""
        self._keep_changes(event, (*self._first, *(path for path in self._changed if path not in self._first)))

    def meanwhile(self, event: int) -> None:
        """It has told something by that event. Of what the run changes itself, it is at its end told who did."""
        self._keep_changes(event, [path for path in self._first if path not in self._changed])

    def _keep_changes(self, event: int, paths: Iterable[str]) -> None:
        self._last_child = event
        for path in paths:
            if self._differs(path):
                self._whole.add(path)
                self._session.keep(Changed(event, self._state(path, content=True)))

    def _made_by_child(self, found: Saw) -> bool:
        """Whether what the run finds has come to be only since it started its first child."""
        if self._last_child < 0 or not self._first_child or found.kind != Sight.FILE:
            return False
        try:
            return states.stat_of(found.path).st_ctime_ns >= self._first_child
        except OSError:
            return False

    def _meets_again(self, path: str, meeting: int) -> None:
        """Somebody else may have changed what is there: then it is on tape anew."""
        if self._is_own(path) or path in self._databases:
            return
        if self._differs(path):
            self._whole.add(path)
            self._left.pop(path, None)
            self._session.keep(Again(meeting, self._state(path, content=True)))

    def _tell_open(self, path: str) -> None:
        """What the run writes through a file that was open before it does not go through us."""
        if not self._session.exclusive and path not in self._first and states.is_open_for_writing(path):
            told = (
                "was open for writing before the run opened it: what came through that is not told from what it found"
            )
            self._session.note("file", f"{path} {told}")

    def _tell_shared(self, path: str) -> None:
        told = "others opened it, too, while this run went on: a replay has it as the run first found it, and does not"
        self._session.note("file", f"{path} is a database that {told} compare how it was left")

    # What is there

    def _sees(self, path: str, meeting: int, *, content: bool) -> None:
        """Keeps what is at a path that the run has not changed."""
        if content:
            self._whole.add(path)
            self._tell_open(path)
        mark, found = self._mark(path), self._state(path, content=content)
        if found.kind in (Sight.NOTHING, Sight.LINK):
            self._whole.add(path)
        new, origin = path not in self._first, self._origin(path)
        own = self._is_made(origin)
        came_late = new and self._made_by_child(found)
        if came_late or (new and not own and self._is_news(found)):
            self._whole.add(path)
            now = self._state(path, content=True)
            found = Saw(path, Sight.NOTHING)
            self._session.keep(found)
            self._session.keep(Changed(self._last_child, now) if came_late else Again(meeting, now))
        elif not own and (origin == path or origin not in self._whole):
            self._session.keep(msgspec.structs.replace(found, path=origin))
        self._first[path], self._marks[path] = found, mark
        self._sees_below(found)

    def _sees_below(self, found: Saw) -> None:
        """Which of the names in a folder are folders and links is seen with them."""
        for path in (f"{found.path}/{name}" for name in (found.names or ()) if found.kind is Sight.FOLDER):
            if path not in self._first and path not in self._changed and self._is_state(path):
                below = states.state_of(path)
                if below.kind in (Sight.FOLDER, Sight.LINK):
                    self._sees(path, 0, content=False)

    def _origin(self, path: str) -> str:
        """Where that was before the run renamed folders."""
        for before, after in reversed(self._moves):
            if path.startswith(after):
                path = before + path[len(after) :]
        return path

    def _is_made(self, path: str) -> bool:
        """Whether that is in a folder that the run has made itself: so what is there is no state that it found."""
        above = self._missing_above(path)
        return above is not None and above in self._changed

    def _is_news(self, found: Saw) -> bool:
        """Whether there was nothing when the run looked above it."""
        if found.kind is Sight.NOTHING:
            return False
        folder, _, name = found.path.rpartition("/")
        listed = self._first.get(folder)
        names = listed.names if listed is not None else None
        return self._missing_above(found.path) is not None or (
            names is not None and name not in names and not states.is_ours(found.path)
        )

    def _missing_above(self, path: str) -> str | None:
        while path := path.rpartition("/")[0]:
            above = self._first.get(path)
            if above is not None and above.kind is Sight.NOTHING:
                return path
        return None

    def _mark(self, path: str) -> tuple[object, ...]:
        """What changes when somebody changes what is there; what the run itself puts in a folder does not."""
        try:
            about = states.stat_of(path, follow=False)
        except OSError:
            self._stamps.pop(path, None)
            return ()
        if stat.S_ISLNK(about.st_mode):
            return (states.link_at(path),)
        stamp = _stamp(about)
        if _real.time_ns() - about.st_mtime_ns > _BEHIND_NS:
            self._stamps[path] = stamp
        if stat.S_ISDIR(about.st_mode):
            return about.st_mode, frozenset(self._names(path) if path in self._whole else ())
        return stamp

    def _differs(self, path: str) -> bool:
        """Whether that has changed since the run last met it, but for what it did itself."""
        if path in self._stamps:
            with suppress(OSError):
                if _stamp(states.stat_of(path, follow=False)) == self._stamps[path]:
                    return False
        before, now = self._marks.get(path, ()), self._mark(path)
        self._marks[path] = now
        if len(before) == 2 == len(now) and isinstance(before[1], frozenset):
            before = before[0], frozenset(name for name in before[1] if f"{path}/{name}" not in self._changed)
        return before != now

    def _state(self, path: str, *, content: bool = False) -> Saw:
        found = states.state_of(path)
        if not content:
            return found
        if found.kind is Sight.FOLDER:
            return msgspec.structs.replace(found, names=self._names(path))
        return msgspec.structs.replace(found, digest=self._content(path)) if found.kind is Sight.FILE else found

    def _names(self, path: str) -> list[str]:
        try:
            return [name for name in states.names_in(path) if f"{path}/{name}" not in self._changed]
        except OSError:
            return []

    def _content(self, path: str) -> bytes:
        """The digest of a file, whose content is on tape when this returns, unless it is too large for that."""
        try:
            digest, data = states.content_of(path, self._session.vault.clean_file)
        except OSError:
            return b""
        if data is None:
            self._session.note("file", f"{path} is too large to be kept: it has to be there in replay")
        elif digest not in self._kept:
            self._kept.add(digest)
            self._session.keep(Content(digest, data), len(data))
        return digest


class Served:
    """What others changed while the run was recorded, put in place where the replay meets it as the run did."""

    def __init__(
        self, again: Mapping[str, Mapping[int, Saw]], first: Mapping[str, Saw], put: Callable[[Saw], None]
    ) -> None:
        self._again = again
        self._first = first
        self._put = put
        self._meetings: dict[str, int] = {}

    def meets(self, path: str, act: Act, links: int = 0) -> None:
        """See `Attendant`."""
        if path in self._again:
            meeting = self._meetings[path] = self._meetings.get(path, 0) + 1
            found = self._again[path].get(meeting)
            if found is not None:
                self._put(found)
        target = target_of(self._first.get(path))
        if target is not None and links < _MAX_LINKS:
            self.meets(target, act, links + 1)

    def moves(self, path: str, to: str) -> None:
        """See `Attendant`."""
        self.meets(path, Act.CHANGE)
        self.meets(to, Act.CHANGE)

    def opens(self, database: str, beside: list[str]) -> None:
        """See `Attendant`."""
        for path in (database, *beside):
            self.meets(path, Act.CHANGE)

    def others_change(self, path: str) -> None:
        """See `Attendant`. In a replay there is only one run."""


def target_of(found: Saw | None) -> str | None:
    """Where a link led; None for what was none."""
    if found is None or found.kind != Sight.LINK or not found.names:
        return None
    return os.path.normpath(os.path.join(os.path.dirname(found.path), found.names[0]))  # noqa: PTH118, PTH120  text


# How it is met


def install(patches: Patches) -> None:
    """Meets what opens, looks at, lists and changes files, for every run whose files somebody attends to."""
    real = io.open
    patches.function(io, "open", _opening(real))
    patches.set(_io, "open", real)  # by which the import system opens source: that is no state of the run
    replace(patches, "open", _os_opening(os.open))
    for name in _LOOKS:
        replace(patches, name, _before(getattr(os, name), Act.LOOK))
    for name in _LISTS:
        replace(patches, name, _before(getattr(os, name), Act.READ))
    for name in _CHANGES:
        if hasattr(os, name):
            replace(patches, name, _before(getattr(os, name), Act.CHANGE))
    for name in _MOVES:
        replace(patches, name, _before_both(getattr(os, name), _tell_move))
    for name in _LINKS:
        replace(patches, name, _before_both(getattr(os, name), _tell_link))


def replace(patches: Patches, name: str, met: Callable[..., Any]) -> None:
    """Replaces a function of `os`, also where it says which of its functions can do what."""
    real = getattr(os, name)
    met.__name__ = met.__qualname__ = real.__name__
    met.__doc__ = real.__doc__
    patches.function(os, name, met)
    for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if real in able:
            able.add(met)
            patches.on_undo(lambda able=able: able.discard(met))  # type: ignore[misc]
    for module, kind in _KEEPERS:
        _replace_kept(patches, getattr(sys.modules.get(module), kind, None), real, met)


def _replace_kept(patches: Patches, kind: type | None, real: object, met: Callable[..., Any]) -> None:
    """The same where a class of the standard library keeps the function, as its own or as a default."""
    for name, value in list(vars(kind).items()) if kind is not None else ():
        if isinstance(value, staticmethod) and value.__func__ is real:
            patches.set(kind, name, staticmethod(met))
        elif real in (getattr(value, "__defaults__", None) or ()):
            patches.set(value, "__defaults__", tuple(met if one is real else one for one in value.__defaults__))


def tell(path: Any, act: Act, folder: Any = None) -> None:
    """That is about to be done at a path, by whoever calls. `folder` is the descriptor that it is relative to."""
    _tell(lambda run, one: run.meets(one, act), act, (path, folder))


def tell_database(path: str, beside: list[str]) -> None:
    """A database is about to be opened, by whoever calls."""
    _tell(lambda run, one: run.opens(one, [one + end for end in beside]), Act.CHANGE, (path, None))


def _tell_move(*paths: tuple[Any, Any]) -> None:
    _tell(lambda run, one, two: run.moves(one, two), Act.CHANGE, *paths)


def _tell_link(*paths: tuple[Any, Any]) -> None:
    for path, folder in paths:
        tell(path, Act.CHANGE, folder)


def _tell(told: Callable[..., None], act: Act, *paths: tuple[Any, Any]) -> None:
    if not _RUNS:
        return
    lane = get_lane()
    session = lane.session if lane is not None else None
    if lane is MUTED or (session not in _RUNS and act is not Act.CHANGE):
        return
    token = enter(MUTED)
    try:
        absolute = [one for path, folder in paths if (one := absolute_path(path, folder)) is not None]
        if len(absolute) == len(paths):
            if session in _RUNS:
                told(_RUNS[session], *absolute)
            if act is Act.CHANGE:
                _tell_others(session, absolute)
    except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
        if session is not None:
            session.fault(error)
    finally:
        leave(token)


def _tell_others(session: Session | None, paths: list[str]) -> None:
    for other, attendant in list(_RUNS.items()):
        if other is not session:
            for path in paths:
                attendant.others_change(path)


def _before(real: Callable[..., Any], act: Act) -> Callable[..., Any]:
    """`real`, which is told of before it is called."""

    def met(*args: Any, **kwargs: Any) -> Any:
        path = args[0] if args else kwargs.get("path")
        tell("." if path is None else path, act, kwargs.get("dir_fd"))
        return real(*args, **kwargs)

    return met


def _before_both(real: Callable[..., Any], told: Callable[..., None]) -> Callable[..., Any]:
    """The same of what takes two paths."""

    def met(*args: Any, **kwargs: Any) -> Any:
        both = (*args, *(kwargs[name] for name in ("src", "dst") if name in kwargs))[:2]
        folders = (kwargs.get("src_dir_fd"), kwargs.get("dst_dir_fd", kwargs.get("dir_fd")))
        told(*zip(both, folders, strict=False))
        return real(*args, **kwargs)

    return met


def _opening(real: Callable[..., Any]) -> Callable[..., Any]:
    def open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: A001  its name
        writes = isinstance(mode, str) and not set(mode).isdisjoint("wax+")
        if len(args) <= OPENER and kwargs.get("opener") is None:  # which would call what is met, too
            tell(file, Act.CHANGE if writes else Act.READ)
        return real(file, mode, *args, **kwargs)

    return open


def _os_opening(real: Callable[..., int]) -> Callable[..., int]:
    def open(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:  # noqa: A001  its name
        nameless = flags & _NAMELESS == _NAMELESS
        tell(path, Act.LOOK if nameless else Act.CHANGE if flags & WRITES else Act.READ, kwargs.get("dir_fd"))
        return real(path, flags, *args, **kwargs)

    return open


def absolute_path(path: Any, folder: Any = None) -> str | None:
    """The path that a call means; None for a descriptor of a file, and for what is no path."""
    if isinstance(path, int):
        return states.folder_of(path)
    try:
        text = os.fsdecode(path)
    except TypeError:
        return None
    if "\0" in text:
        return None
    if folder is not None and not text.startswith("/"):
        above = states.folder_of(folder)
        if above is None:
            return None
        text = f"{above}/{text}"
    if not text.startswith("/"):
        text = f"{os.getcwd()}/{text}"  # noqa: PTH109  text, and quick
    return os.path.normpath(text) if "/." in text or "//" in text or text.endswith("/") else text
