"""What the processes of a recording do to the files below a folder, and what leaves them, operation by operation.

A library that is loaded before C's own sees each (`watch.c`). They are numbered over all processes of the recording, and
at one of them it can be stopped; or they are logged, with what was written.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("watch.c")
_RECORD = struct.Struct("<IIQqII")
_SHARED = struct.Struct("<IIQ")


class Kind(IntEnum):
    CREATE = 1
    WRITE = 2
    SYNC = 3
    TRUNCATE = 4
    RENAME = 5
    UNLINK = 6
    MAKE_FOLDER = 7
    REMOVE_FOLDER = 8
    SENT = 9
    SAID = 10
    UNKNOWN = 11


class How(StrEnum):
    """Who is killed: the process that comes to the operation, the recorder while that process goes on, or all."""

    PROCESS = "process"
    RECORDER = "recorder"
    ALL = "all"


class CannotWatchError(Exception):
    """Nothing can be watched here; the message says why."""


@dataclass(frozen=True, slots=True)
class Op:
    """`node` is the number of the file or folder; `at` where it was written, or how long it is made."""

    kind: Kind
    pid: int
    node: int
    at: int
    path: str
    data: bytes


@cache
def library(folder: Path) -> Path:
    """The library, compiled into a folder.

    Raises:
        CannotWatchError: it cannot be.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise CannotWatchError("no C compiler here: what a recording writes cannot be watched")
    made = folder / "watch.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(made), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotWatchError(f"what a recording writes cannot be watched here:\n{done.stderr[:2000]}")
    return made


class Watch:
    """One recording that is watched: below `folder`. `scratch` is a folder for what the watching itself writes."""

    def __init__(self, library: Path, folder: Path, scratch: Path) -> None:
        self._library = library
        self._folder = folder
        self._state, self._ended = scratch / "state", scratch / "ended"
        self._log = scratch / "log"
        self._state.write_bytes(bytes(4096))

    def environment(self, stop: int = 0, how: How = How.PROCESS, *, half: bool = False) -> dict[str, str]:
        """With what to start it: to be stopped at an operation (a write when it is `half` done), or logged (0)."""
        found = {
            "LD_PRELOAD": str(self._library),
            "WATCH_FOLDER": str(self._folder.resolve()),
            "WATCH_STATE": str(self._state),
            "WATCH_HOW": how[0],
        }
        if half:
            found["WATCH_HALF"] = "1"
        return found | ({"WATCH_STOP": str(stop)} if stop else {"WATCH_LOG": str(self._log)})

    @property
    def stopped(self) -> bool:
        return bool(self._shared[1])

    @property
    def count(self) -> int:
        return int(self._shared[2])

    @property
    def _shared(self) -> tuple[int, ...]:
        state = self._state if self._state.exists() else self._ended
        return _SHARED.unpack_from(state.read_bytes())

    def end(self) -> None:
        """What is started with the same environment from now on is not watched, nor stopped."""
        self._state.rename(self._ended)

    def begin(self) -> None:
        """What is started with it from now on is."""
        self._ended.rename(self._state)

    def ops(self) -> list[Op]:
        """What was logged."""
        found = list(_parsed(self._log.read_bytes()))
        unknown = {op.path for op in found if op.kind is Kind.UNKNOWN}
        assert not unknown, f"the harness does not know what {unknown} does to files"
        return found


def _parsed(log: bytes) -> Iterator[Op]:
    at = 0
    while at < len(log):
        kind, pid, node, place, path_size, data_size = _RECORD.unpack_from(log, at)
        at += _RECORD.size
        path = log[at : at + path_size].decode()
        at += path_size + data_size
        yield Op(Kind(kind), pid, node, place, path, log[at - data_size : at])
