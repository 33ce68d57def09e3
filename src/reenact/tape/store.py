"""A store: the `.reenact` folder that holds the tapes of a project, found upward from the working directory."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import msgspec

from reenact import _real
from reenact.errors import RunNotFoundError, TapeError, UsageError
from reenact.tape import disk, reader, replacing

FOLDER = ".reenact"
SUFFIX = ".tape"
MISNAMED = "it holds the run {run}: a tape of a store has the name of its run"
DECLINED = ".declined"
"""What the name of a file ends with that says, by its lane, why a process is on no tape."""

_LANE = re.compile(r"\d+(\.\d+)*")
_ID_BYTES = 2
_TRIES = 64


class Store(msgspec.Struct, frozen=True):
    """The tapes below one folder."""

    root: Path

    @classmethod
    def find(cls, start: Path, chosen: str | None = None) -> Store:
        """`chosen`, else the nearest `.reenact` at or above `start`, else one at `start` that is made when needed."""
        if chosen:
            return cls(Path(chosen).expanduser().absolute())
        for folder in (start, *start.parents):
            if (folder / FOLDER).is_dir():
                return cls(folder / FOLDER)
        return cls(start / FOLDER)

    def new(self, name: str) -> tuple[str, Path]:
        """A run id that is not taken, and the path of its tape, which is being made: empty so far, and private.

        Raises:
            UsageError: the store cannot be written.
        """
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"
        try:
            disk.make_folder(self.root, 0o700)
            for attempt in range(_TRIES):
                run_id = f"{slug}-{_real.urandom(_ID_BYTES + attempt // 16).hex()}"
                path = self.path(run_id)
                try:
                    os.close(os.open(being_made(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                except FileExistsError:
                    continue
                if not any(each.exists() for each in _files(path) if each != being_made(path)):
                    return run_id, path
                being_made(path).unlink()
        except OSError as error:
            raise UsageError(
                f"cannot make a tape in {self.root}: {error.strerror}. Choose another folder with --store."
            ) from error
        raise UsageError(f"no free run id for {slug!r} in {self.root}")

    def path(self, run_id: str) -> Path:
        """Where the tape of a run is."""
        return self.root / f"{run_id}{SUFFIX}"

    def run_of(self, path: Path) -> str:
        """The run whose tape that is by its name; empty for one that is not of this store, which may have any name."""
        return path.stem if path.parent == self.root else ""

    def ids(self) -> list[str]:
        """All run ids, in order of name."""
        if not self.root.is_dir():
            return []
        return sorted(path.stem for path in self.root.glob(f"*{SUFFIX}"))

    def resolve(self, name: str) -> Path:
        """The tape that `name` means: a run id, a unique prefix of one, `last`, or the path of a tape file.

        Raises:
            RunNotFoundError: none does, or several do.
        """
        if name.endswith(SUFFIX) and Path(name).is_file():
            return Path(name).absolute()
        ids = self.ids()
        if name == "last":
            return self._last(ids)
        found = [name] if name in ids else [run_id for run_id in ids if name and run_id.startswith(name)]
        if not found and name:
            found = [f"{path.parent.name}/{path.stem}" for path in self._of_processes() if path.stem.startswith(name)]
        if len(found) == 1:
            return self.path(found[0])
        if found:
            raise RunNotFoundError(f"{name!r} may mean {', '.join(found[:8])}; write more of the id")
        known = (
            f"It holds: {', '.join(ids[:8])}" if ids else "It holds no runs; record one with: reenact record agent.py"
        )
        raise RunNotFoundError(f"no run {name!r} in {self.root}. {known}")

    def _of_processes(self) -> list[Path]:
        """The tapes of processes that runs have started: each run has a folder of them."""
        return sorted(self.root.glob(f"*/*{SUFFIX}"))

    def _last(self, ids: list[str]) -> Path:
        started: list[tuple[int, str]] = []
        for run_id in ids:
            try:
                began = reader.summary(self.path(run_id)).get("started")
            except TapeError:
                continue
            if isinstance(began, int):
                started.append((began, run_id))
        if not started:
            raise RunNotFoundError(f"no run in {self.root} yet; record one with: reenact record agent.py")
        return self.path(max(started)[1])

    def remove(self, path: Path) -> None:
        """Deletes a tape, what SQLite keeps beside it, and what there is of processes that the run has started.

        Nothing else: `src.tape` may lie beside a folder `src` that is somebody's own.
        """
        self.remove_file(path)
        folder = reader.folder_of(path)
        if folder.is_symlink():
            return
        for made in folder.glob(f"*{SUFFIX}{replacing.SUFFIX}"):
            self.remove_file(made.with_name(made.name.removesuffix(replacing.SUFFIX)))
        for process in folder.glob(f"*{SUFFIX}"):
            self.remove(process)
        for told in folder.glob(f"*{DECLINED}"):
            if _LANE.fullmatch(told.stem):
                told.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there is none, or it holds more
            folder.rmdir()

    def remove_file(self, path: Path) -> None:
        """Deletes a tape and what SQLite keeps beside it."""
        for each in _files(path):
            each.unlink(missing_ok=True)


def being_made(tape: Path) -> Path:
    """The file that becomes a tape, by its name, as soon as it is one."""
    return tape.with_name(tape.name + replacing.SUFFIX)


def _files(tape: Path) -> list[Path]:
    """A tape and what may be beside it; what SQLite keeps there would be taken for another tape's of that name."""
    beside = [tape.with_name(tape.name + extra) for extra in ("-wal", "-shm", "-journal", "-faults", "-secrets")]
    return [tape, being_made(tape), *beside]
