"""The machine's files as a recorded run first saw them, put in place for its replay, and compared at its end."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import muted
from reenact.launch.enclosure import Enclosed, enclose, enclose_again
from reenact.seams.system.files import content_of, digest_left
from reenact.tape.event import Left, Saw, Sight
from reenact.tape.reader import Recording
from reenact.tape.redact import secrets_of
from reenact.tape.whole import every


class Workspace:
    """The files of one replay. `enclosed` is None where the kernel does not close the world: then none is changed."""

    def __init__(self, tape: Recording, enclosed: Enclosed | None, unrestored: list[str]) -> None:
        self._tape = tape
        self.enclosed = enclosed
        self.unrestored = unrestored

    @classmethod
    def enter(cls, tape: Recording, report: Path) -> Workspace:
        """Closes the world and puts in it what the recorded run found. `report` is the folder of the replay's report.

        To be called before the process has a second thread.
        """
        try:
            enclosed = enclose(_folders_for(tape), _scratch(tape, report), [report])
        except OSError as error:
            changed = _changed(tape)
            return cls(
                tape, None, [f"the kernel does not let files be put in place: {error}", *changed] if changed else []
            )
        return cls(tape, enclosed, _restore(tape, enclosed))

    @classmethod
    def enter_again(cls, tape: Recording, report: Path, within: Enclosed | None) -> Workspace:
        """As `enter`, in a process that a replay has started, which has closed `within` already, if it could."""
        if within is None:
            return cls(tape, None, _changed(tape))
        try:
            enclosed = enclose_again(within, _scratch(tape, report), [report])
        except OSError as error:
            return cls(tape, None, [f"{tape.name} has no files of its own: {error}", *_changed(tape)])
        return cls(tape, enclosed, _restore(tape, enclosed))

    def before_child(self) -> None:
        """In replay nothing is started."""

    def after_child(self, event: int) -> None:
        """Puts in place what the children of the recorded run had made of its files by the end of that event."""
        for saw in self._tape.changed.get(event, ()):
            if self.enclosed is not None and self.enclosed.has(saw.path):
                with muted():
                    try:
                        _put(self._tape, saw)
                    except OSError as error:
                        self.unrestored.append(f"{saw.path} could not be put in place: {error.strerror}")

    meanwhile = after_child

    def differences(self) -> Iterable[Divergence]:
        """Where the replay leaves other files behind than the recorded run."""
        if self.enclosed is None:
            return
        for path, left in self._tape.left.items():
            now = _left(path)
            if (now.kind, now.digest) != (left.kind, left.digest):
                yield Divergence(What.FILE, self._tape.main, expected=_told(left), actual=_told(now))


def _scratch(tape: Recording, report: Path) -> Path:
    scratch = report / f"scratch-{tape.main}"
    scratch.mkdir()
    return scratch


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


def _restore(tape: Recording, enclosed: Enclosed) -> list[str]:
    """Puts in place what the recorded run found; what could not be is told, a line each."""
    missing: list[str] = []
    for path, saw in sorted(tape.saw.items()):
        if _stands(saw):
            continue
        if not enclosed.has(path):
            missing.append(f"{path} is not what it was, and cannot be put in place there")
            continue
        try:
            _put(tape, saw)
        except OSError as error:
            missing.append(f"{path} could not be put in place: {error.strerror}")
    for path, saw in sorted(tape.saw.items(), reverse=True):
        if saw.kind == Sight.FOLDER and enclosed.has(path):
            os.utime(path, ns=(saw.mtime, saw.mtime))
    return missing


def _changed(tape: Recording) -> list[str]:
    """What is to be told where nothing can be put in place."""
    return [f"{path} is not what it was" for path, saw in sorted(tape.saw.items()) if not _stands(saw, read=False)]


def _stands(saw: Saw, *, read: bool = True) -> bool:
    """Whether all that the run found at a path is still there. What held credentials then differs when it is `read`."""
    try:
        about = Path(saw.path).stat()
    except OSError:
        return saw.kind == Sight.NOTHING
    if saw.kind == Sight.FILE:
        same = stat.S_ISREG(about.st_mode) and about.st_size == saw.size and about.st_mtime_ns == saw.mtime
        return same and (not saw.digest or not read or saw.digest == _digest(saw.path))
    if saw.kind == Sight.FOLDER:
        wanted = None if saw.names is None else set(saw.names)
        return stat.S_ISDIR(about.st_mode) and (wanted is None or wanted == _names(Path(saw.path)))
    return saw.kind == Sight.OTHER


def _put(tape: Recording, saw: Saw) -> None:
    path = Path(saw.path)
    match saw.kind:
        case Sight.NOTHING:
            _remove(path)
        case Sight.FOLDER:
            path.mkdir(parents=True, exist_ok=True)
            if saw.names is not None:
                for name in _names(path) - set(saw.names):
                    _remove(path / name)
                for name in set(saw.names) - _names(path):
                    (path / name).touch()
        case Sight.FILE:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.rmtree(path)
            data = tape.contents.get(saw.digest)
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
        path.unlink()


def _left(path: str) -> Left:
    try:
        about = Path(path).stat()
    except OSError:
        return Left(path, Sight.NOTHING)
    if stat.S_ISDIR(about.st_mode):
        return Left(path, Sight.FOLDER)
    if not stat.S_ISREG(about.st_mode):
        return Left(path, Sight.OTHER)
    return Left(path, Sight.FILE, stat.S_IMODE(about.st_mode), about.st_size, digest_left(path, secrets_of(os.environ)))


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
        return content_of(path, secrets_of(os.environ))[0]
    except OSError:
        return b""


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


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
