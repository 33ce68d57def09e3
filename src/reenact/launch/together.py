"""Several branches that leave a run at one place: what lies before is served once, and each begins there as a copy.

One process comes to where they leave (see `launch.parting`), and stands there as long as this is open.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
from msgspec.structs import replace

from reenact import _real
from reenact.launch import supervise
from reenact.launch.spec import SPEC, Begun, Spec, Stands
from reenact.launch.supervise import Child
from reenact.probe.link import Link
from reenact.tape.vault import Vault

GONE = "the process that had served the steps before is gone"
NO_DOOR = "no socket could be made in {folder}: {reason}"
NO_COPY = "the system made no copy of the process"
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37  # PR_SET_CHILD_SUBREAPER (prctl(2))
_KEY = 16
_LOOK_UP = 0.1  # seconds between two looks at whether a process has ended


class Started(NamedTuple):
    """What a branch is started with."""

    argv: list[str]
    env: Mapping[str, str]
    cwd: str
    spec: Spec

    def alone(self, door: str = "") -> subprocess.Popen[bytes]:
        """Its process, which serves the steps before by itself."""
        env = {**self.env, SPEC: msgspec.json.encode(replace(self.spec, door=door)).decode()}
        null = subprocess.DEVNULL
        return subprocess.Popen(self.argv, env=env, cwd=self.cwd, stdin=null, stdout=null, stderr=null)  # noqa: S603


class Together:
    """Of such branches, whose vaults have one `key`, because what one process has learned all of them know.

    None begins once a signal has `come`.
    """

    def __init__(self, come: list[int]) -> None:
        self._come = come
        self.key = _real.urandom(_KEY)
        self._folder = tempfile.TemporaryDirectory(prefix="reenact-")
        self._count = 0
        self._lock = threading.Lock()
        self._first: subprocess.Popen[bytes] | None = None
        self._link: Link[Stands] | None = None
        self._why = ""
        self._adopted = False
        self._door = str(Path(self._folder.name) / "door")
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        self._adopted = _adopts(yes=True)
        try:
            self._listener.bind(self._door)
            self._listener.listen()
        except OSError as error:
            self._why = NO_DOOR.format(folder=self._folder.name, reason=error)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._let_go()
        self._listener.close()
        if self._first is not None:
            self._first.wait()
        if not self._adopted:
            _adopts(yes=False)
        self._folder.cleanup()

    @contextlib.contextmanager
    def folder(self) -> Iterator[str]:
        """Where a branch has its report."""
        with self._lock:
            self._count += 1
            own = Path(self._folder.name) / str(self._count)
        own.mkdir()
        yield str(own)
        shutil.rmtree(own)

    def run(self, start: Started) -> tuple[int, str]:
        """Begins a branch and waits for its end: its exit status, and why it began with no copy, if so.

        Raises:
            OSError: its program cannot be started.
        """
        with supervise.beside() as came:
            with self._lock:
                if self._come:
                    return -self._come[0], ""
                child, why = self._begun(start, came)
            return supervise.follow(child, came), why

    def _begun(self, start: Started, came: list[int]) -> tuple[Child, str]:
        """Its process, and why that is no copy, if so."""
        if self._first is None and not self._why:
            told = self._stands(start, came)
            assert self._first is not None  # noqa: S101  it has just been started
            if told is None:
                self._take_report(start)
                return self._first, ""
            if told.obstacle:
                self._why = told.obstacle
                begun = self._ask(start)
                self._let_go()
                if not begun.why:
                    return self._first, self._why
                self._first.kill()  # two must not write one tape
                return start.alone(), self._why
        copy = self._copy(start)
        return (copy, "") if copy is not None else (start.alone(), self._why)

    def _stands(self, start: Started, came: list[int]) -> Stands | None:
        """Starts what all of them begin with, and waits for it to stand; None where it came to its end before."""
        root = Path(self._folder.name)
        vault = Vault(self.key, root / "secrets").hand_on()
        own = replace(start.spec, report=str(root / "report.json"), vault=vault)
        self._first = start._replace(spec=own).alone(self._door)
        while not select.select([self._listener], [], [], _LOOK_UP)[0]:
            supervise.hand_on(self._first, came)
            if self._first.poll() is not None:
                return None
        self._link = Link(self._listener.accept()[0].detach(), Stands)
        return self._told()

    def _copy(self, start: Started) -> Adopted | None:
        """A copy of what stands, as that branch; None where there is none, and `_why` says why."""
        if self._link is None:
            return None
        begun = self._ask(start)
        there = self._told() is not None
        child = Adopted(begun.pid) if begun.pid else None
        if begun.why or not there:
            self._why = begun.why or GONE
            self._let_go()
        if child is not None and begun.why:
            child.wait()
            return None
        return child

    def _ask(self, start: Started) -> Begun:
        """Has what stands go on as that branch."""
        assert self._link is not None  # noqa: S101  callers have asked
        answers, theirs = Link[Begun].pair(Begun)
        try:
            self._link.send(start.spec, theirs)
        except OSError:
            return Begun(0, GONE)
        finally:
            os.close(theirs)
        try:
            return answers.receive()[0]
        except EOFError:
            return Begun(0, NO_COPY)
        finally:
            answers.close()

    def _told(self) -> Stands | None:
        assert self._link is not None  # noqa: S101  callers have asked
        try:
            return self._link.receive()[0]
        except (EOFError, OSError):
            return None

    def _let_go(self) -> None:
        """Nobody is asked for copies any more."""
        if self._link is not None:
            self._link.close()
        self._link = None

    def _take_report(self, start: Started) -> None:
        """What it has found before it ended, as what the branch found that was to begin."""
        for told in Path(self._folder.name).glob("report*"):
            shutil.copy(told, Path(start.spec.report).parent)


class Adopted:
    """A copy, which is this process's child by now: see `supervise.Child`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._end = os.pidfd_open(pid)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status."""
        if not select.select([self._end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(str(self._pid), timeout or 0)
        _, status = os.waitpid(self._pid, 0)
        os.close(self._end)
        return os.waitstatus_to_exitcode(status)

    def send_signal(self, sig: int) -> None:
        """Sends it a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, sig)

    def kill(self) -> None:
        """Kills it."""
        self.send_signal(9)


def _adopts(*, yes: bool) -> bool:
    """Whether this process was to be the parent of what its children leave behind; from now on it is as said."""
    if sys.platform != "linux":  # nothing is copied there
        return True
    libc, was = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_GET_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    libc.prctl(_SET_SUBREAPER, int(yes), 0, 0, 0)
    return bool(was.value)
