"""The machine's files as a recorded run first saw them, put in place for its replay, and compared at its end."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import muted
from reenact.launch.enclosure import Enclosed, enclose, enclose_again
from reenact.seams.patch import Patches
from reenact.seams.system import overlays
from reenact.seams.system.files import Served
from reenact.seams.system.states import (
    MACHINE,
    Clean,
    content_of,
    hide,
    holds_ours,
    is_ours,
    leave_out,
    left_at,
    link_at,
    without_ours,
)
from reenact.tape.event import Left, Saw, Sight
from reenact.tape.recording import Recording
from reenact.tape.whole import every

if TYPE_CHECKING:
    from reenact.launch.rewinding import Rewound

_SCRATCH, _COPIES = "scratch", "copies"
_REFUSED = (OSError, ValueError, OverflowError)  # the last ones for numbers that no file system takes

Before = Callable[[Path], None]


class Closed(Protocol):
    """How the files of this process are closed: by the kernel, or by redirection in Python."""

    @property
    def missed(self) -> list[str]:
        """What is not closed so, a line each."""

    def has(self, path: str) -> bool:
        """Whether the path may be changed without harm."""


class _Shared(msgspec.Struct, frozen=True):
    """Nothing is closed for this process alone: it has the files of the one that started it, and none are put there."""

    missed: list[str]

    def has(self, path: str) -> bool:
        """See `Closed`."""
        return False


class Workspace:
    """The files of one replay, put in place as the recorded run found them; what it changes, it changes for itself."""

    def __init__(self, tape: Recording, closed: Closed, before: Callable[[Path], None] = lambda _: None) -> None:
        self._tape = tape
        self._closed = closed
        self._before = before  # something is changed there
        self._names: dict[str, set[str]] = {}  # of folders whose names have changed since
        self._missing: list[str] = []
        self.restore()

    @staticmethod
    def is_entered(report: Path) -> bool:
        """Whether a process has done that already for this replay."""
        return any(report.glob(f"{_SCRATCH}-*"))

    @classmethod
    def enter(cls, tape: Recording, report: Path, store: Path | None = None) -> Workspace:
        """Closes the world and puts in it what the recorded run found. `report` is the folder of the replay's report.

        With a `store` the run goes on: it is written there, and the network stays open. To be called before the process
        has a second thread.
        """
        hide(report)
        scratch = _folder(report, _SCRATCH, tape)
        kept = [report] if store is None else [report, store]
        try:
            closed = enclose(_folders_for(tape), scratch, kept, network=store is not None)
        except OSError:
            return cls(tape, _redirected(tape, report))
        overlays.install(Patches())
        return cls(tape, closed)

    @classmethod
    def enter_again(cls, tape: Recording, report: Path, within: Enclosed | None) -> Workspace:
        """As `enter`, in a process that a replay has started, which has closed `within` already, if it could."""
        hide(report)
        if within is None:
            return cls(tape, _redirected(tape, report))
        try:
            closed = enclose_again(within, _folder(report, _SCRATCH, tape), [report])
        except OSError as error:
            return cls(tape, _Shared([f"{tape.name} has no files of its own: {error}"]))
        overlays.install(Patches())
        return cls(tape, closed)

    @classmethod
    def rewound(cls, tape: Recording, kept: Rewound) -> Workspace:
        """The user's own files, as the recorded run found them: of a run that is resumed."""
        return cls(tape, kept, kept.keep)

    def part(self, report: Path, kept: Iterable[Path]) -> None:
        """This process is a copy of the one that entered: what it changes from now on, it changes for itself.

        Raises:
            OSError: the kernel does not allow it.
        """
        assert isinstance(self._closed, Enclosed)  # noqa: S101  others are not copied
        scratch = _folder(report, _SCRATCH, self._tape)
        self._closed = enclose_again(self._closed, scratch, kept, goes_on=True)

    @property
    def enclosed(self) -> Enclosed | None:
        """What the kernel has closed around it, network and files; None where it does not."""
        return self._closed if isinstance(self._closed, Enclosed) else None

    @property
    def unrestored(self) -> list[str]:
        """What is not as the recorded run found it, a line each."""
        return [*self._missing, *self._closed.missed]

    def restore(self) -> None:
        """Puts in place what the recorded run found; again, where the program has changed it before the run."""
        with muted():
            self._missing = _restore(self._tape, self._closed, self._before)

    def served(self) -> Served | None:
        """What puts in place what others changed while the run was recorded; None where nobody did."""
        return Served(self._tape.again, self._tape.saw, self._put) if self._tape.again else None

    def before_child(self) -> None:
        """In replay nothing is started."""

    def after_child(self, event: int) -> None:
        """Puts in place what the children of the recorded run had made of its files by the end of that event."""
        for saw in self._tape.changed.get(event, ()):
            self._put(saw)

    meanwhile = after_child

    def _put(self, saw: Saw) -> None:
        """Puts that in place while the run goes on: what it has made itself in a folder stays."""
        with muted():
            if not _may_change(saw.path, self._closed):
                return
            try:
                if saw.kind != Sight.FOLDER or not Path(saw.path).is_dir():
                    _put(self._tape, saw, self._before)
                elif saw.names is not None:
                    self._put_names(saw.path, saw.names)
            except _REFUSED as error:
                self._missing.append(f"{saw.path} could not be put in place: {_why(error)}")

    def _put_names(self, folder: str, names: list[str]) -> None:
        before = self._names.get(folder)
        if before is None:
            before = set(self._tape.saw[folder].names or ()) if folder in self._tape.saw else set()
        self._names[folder] = set(names)
        _put_names(Path(folder), before, names, self._before)

    def differences(self, clean: Clean) -> Iterable[Divergence]:
        """Where the replay leaves other files behind than the recorded run."""
        if isinstance(self._closed, _Shared):
            return
        for path, left in self._tape.left.items():
            if not _is_path(path):
                continue
            now = left_at(path, clean)
            if (now.kind, now.digest) != (left.kind, left.digest):
                yield Divergence(What.FILE, self._tape.main, expected=_told(left), actual=_told(now))


def _folder(report: Path, name: str, tape: Recording) -> Path:
    """A new one for the replay of that process."""
    folder = report / f"{name}-{tape.main}"
    folder.mkdir()
    return folder


def _redirected(tape: Recording, report: Path) -> Closed:
    from reenact.launch.redirection import redirect  # noqa: PLC0415  most kernels close the world themselves

    return redirect(_folder(report, _COPIES, tape), [report, tape.path.parent])


def _folders_for(tape: Recording) -> list[str]:
    """The folders that a replay may have to change: where the program works, and what the recorded run looked at."""
    # tempfile would tell, but would read entropy for it, and remember: the program is to find it as it was
    temporary = next((os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)), "/tmp")  # noqa: S108
    usual = (Path.cwd(), Path.home(), Path(temporary))
    mounts = _mount_points()
    found: list[str] = []
    seen = {Path(path).parent for each in every(tape) for path in (*each.saw, *each.left)}
    for path in (*usual, *sorted(seen)):
        folder = _nearest(path)
        if folder == "/" or any(_within(folder, other) for other in found):
            continue
        if not any(_within(mount, folder) and mount != folder for mount in mounts):
            found = [other for other in found if not _within(other, folder)] + [folder]
    return found


def _restore(tape: Recording, closed: Closed, before: Before) -> list[str]:
    """Puts in place what the recorded run found; what could not be is told, a line each."""
    missing: list[str] = []
    for path, saw in sorted(tape.saw.items()):
        if _is_path(path) and (is_ours(path) or _stands(saw)):
            continue
        if not _may_change(path, closed):
            missing.append(f"{path} is not what it was, and cannot be put in place there")
            continue
        try:
            _put(tape, saw, before)
        except _REFUSED as error:
            missing.append(f"{path} could not be put in place: {_why(error)}")
    for path, saw in sorted(tape.saw.items(), reverse=True):
        if saw.kind == Sight.FOLDER and not is_ours(path) and _may_change(path, closed):
            try:
                os.utime(path, ns=(saw.mtime, saw.mtime))
            except _REFUSED as error:
                missing.append(f"{path} could not be put in place: {_why(error)}")
    return missing


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _is_path(path: str) -> bool:
    """Whether it is a path as a recording writes it: absolute, and with no `..` in it."""
    return path.startswith("/") and "\0" not in path and os.path.normpath(path) == path


def _may_change(path: str, closed: Closed) -> bool:
    """Whether a tape may have something put in place there: in what is closed, also when the links are followed."""
    if not _is_path(path) or path.startswith(MACHINE) or is_ours(path):
        return False
    folder, name = os.path.split(path)
    real = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118  it is text
    return closed.has(real) and not real.startswith(MACHINE)


def _stands(saw: Saw) -> bool:
    """Whether all that the run found at a path is still there."""
    if saw.kind == Sight.LINK:
        return saw.names == [link_at(saw.path)]
    try:
        about = Path(saw.path).stat()
    except OSError:
        return saw.kind == Sight.NOTHING
    if saw.kind == Sight.FILE:
        same = stat.S_ISREG(about.st_mode) and about.st_size == saw.size and about.st_mtime_ns == saw.mtime
        return same and (not saw.digest or saw.digest == _digest(saw.path))
    if saw.kind == Sight.FOLDER:
        wanted = None if saw.names is None else set(without_ours(saw.path, saw.names))
        return stat.S_ISDIR(about.st_mode) and (wanted is None or wanted == _names(Path(saw.path)))
    return saw.kind == Sight.OTHER


def _put(tape: Recording, saw: Saw, before: Before) -> None:
    path = Path(saw.path)
    if path.exists() and not (path.is_symlink() or path.is_file() or path.is_dir()):
        raise OSError(errno.EPERM, "there is a device, a pipe or a socket")
    if (saw.kind != Sight.FOLDER or path.is_symlink()) and holds_ours(saw.path):
        raise OSError(errno.EBUSY, "reenact's own files are in it")
    if saw.kind != Sight.FOLDER or not path.is_dir():
        before(path)
    if path.is_symlink():
        path.unlink()  # or what it leads to would be changed
    if saw.kind == Sight.NOTHING:
        _remove(path)
        return
    if path.is_dir() != (saw.kind == Sight.FOLDER):
        _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if saw.kind == Sight.LINK:
        _remove(path)
        path.symlink_to((saw.names or [""])[0])
    elif saw.kind == Sight.FOLDER:
        path.mkdir(exist_ok=True)
        _put_names(path, _names(path), saw.names, before)
    elif saw.kind == Sight.FILE:
        _put_file(path, saw, tape.contents.get(saw.digest))


def _put_names(folder: Path, there: set[str], names: Iterable[str] | None, before: Before) -> None:
    if names is not None:
        for name in there - set(names):
            if holds_ours(str(folder / name)):
                leave_out(folder / name)
                continue
            before(folder / name)
            _remove(folder / name)
        for name in set(without_ours(str(folder), [*names])) - there:
            if "/" not in name and "\0" not in name and name not in ("", ".", ".."):
                before(folder / name)
                (folder / name).touch()


def _put_file(path: Path, saw: Saw, data: bytes | None) -> None:
    if data is not None:
        path.write_bytes(data)
    else:  # nobody read it: its size is all that the run knew
        with path.open("ab") as file:
            file.truncate(saw.size)
    path.chmod(saw.mode)
    os.utime(path, ns=(saw.mtime, saw.mtime))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _told(left: Left) -> Datum:
    match left.kind:
        case Sight.NOTHING:
            return Datum("file", left.path)
        case Sight.FILE:
            return Datum("file", left.path, f"{left.size:,} bytes, SHA-256 {left.digest.hex()[:16]}".encode())
        case kind:
            return Datum("file", left.path, Sight(kind).name.lower().encode())


def _digest(path: str) -> bytes:
    try:
        return content_of(path)[0]
    except OSError:
        return b""


def _names(folder: Path) -> set[str]:
    """What is in a folder, without what is our own there."""
    return set(without_ours(str(folder), os.listdir(folder)))  # noqa: PTH208  names


def _nearest(path: Path) -> str:
    """The path, or the nearest folder above it that is there."""
    return str(next((folder for folder in (path, *path.parents) if folder.is_dir()), Path("/")).resolve())


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _mount_points() -> list[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [line.split(" ")[4].replace("\\040", " ") for line in lines]
