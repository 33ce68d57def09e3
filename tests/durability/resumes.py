"""Resumptions that are stopped at their own writes, syncs, renames and so on.

Whatever stops one: the tape of the run that it goes on with is as it was, what the world has seen is on a tape, the
next resumption works, and the files of the user are those that they would be had nobody been stopped.
"""

from __future__ import annotations

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reenact.tape.event import Kind
from reenact.tape.reader import read
from reenact.testing import ModelServer, Say
from reenact.testing.turn import Turn
from tests.durability import promise
from tests.durability.crash import BEYOND, WAYS, tally_of
from tests.durability.programs import IN_FILES, answer
from tests.durability.stopped import Stop, Tried, ended, ready, seen
from tests.runs import Done, settings
from trust.tally import Tally

KILLED_AT = 2  # the request in place of whose answer the run is killed
REQUESTS = 4
READ_BY_THE_RUN, CHANGED_BY_IT = "config.txt", "work.txt"
NEW, OWN = "new", "words of the user"
LAST = "begun with old" + "".join(f" and {n}" for n in range(REQUESTS))


def resumes(way: str, watching: Path, folder: Path, some: int = 0) -> Tally:
    """Stops resumptions in one way: at every operation, or at `some`."""
    how, half = WAYS[way]
    count = _Killed(watching, folder / "whole").count()
    points = range(1, count + BEYOND + 1) if not some else [(2 * n + 1) * count // (2 * some) for n in range(some)]
    with ThreadPoolExecutor(2) as pool:
        each = list(pool.map(lambda at: _tried(watching, folder / str(at), Stop(at, how, half)), points))
    return tally_of(f"crash points of resume: {way}", each, some or count // 2, whole=not some)


def _tried(watching: Path, folder: Path, stop: Stop) -> Tried:
    killed = _Killed(watching, folder)
    try:
        with ModelServer(_answer) as server:
            killed.record(server)
            done = killed.resume(server, killed.run, killed.watch.environment(stop.at, stop.how, half=stop.half))
            stopped = killed.watch.stopped
            killed.watch.end()
            assert done.status == 0 or stopped, done.stderr.decode()
            killed.check(server, done)
            killed.goes_on(server)
    except AssertionError as error:
        return Tried(killed.watch.stopped, problem=f"{stop}: {error} (see {folder})")
    shutil.rmtree(folder)
    return Tried(stopped)


def _answer(turn: Turn) -> Say:
    if turn.index == KILLED_AT:
        os.kill(int(dict(turn.request.headers)["x-pid"]), signal.SIGKILL)
    return answer(turn)


class _Killed:
    """A run that was killed, in a new folder, and whose files somebody has changed since."""

    def __init__(self, watching: Path, folder: Path) -> None:
        self.bench, self.watch = ready(IN_FILES, watching, folder)
        self.run = ""
        self._tape = b""

    def count(self) -> int:
        """How many operations a resumption has that nobody stops."""
        with ModelServer(_answer) as server:
            self.record(server)
            done = self.resume(server, self.run, self.watch.environment())
            assert done.status == 0, done.stderr.decode()
            self.check(server, done)
        return self.watch.count

    def record(self, server: ModelServer) -> None:
        self._file(READ_BY_THE_RUN).write_text("old", encoding="utf-8")
        ended(self.bench, IN_FILES.command, settings(server))
        (self.run,) = self.bench.store.ids()
        self._tape = self._path(self.run).read_bytes()
        self._file(READ_BY_THE_RUN).write_text(NEW, encoding="utf-8")
        self._file(CHANGED_BY_IT).write_text(OWN, encoding="utf-8")

    def resume(self, server: ModelServer, run: str, more: dict[str, str]) -> Done:
        command = ("-m", "reenact", "resume", "--retry", "--quiet", run)
        return ended(self.bench, command, settings(server) | more)

    def check(self, server: ModelServer, done: Done) -> None:
        """What is so at any moment."""
        assert self._path(self.run).read_bytes() == self._tape, "the tape of the run that was killed is another"
        promise.check(self.bench.store.root, seen(server, done))
        for words in (NEW, OWN):
            assert words in self._texts(), f"{words!r} of the user is in no file any more"

    def goes_on(self, server: ModelServer) -> None:
        """What was stopped, and what it was to go on with, are resumed: in that order."""
        for run in sorted(self.bench.store.ids(), key=lambda run: run == self.run):
            tape = read(self._path(run))
            if tape.closed_by_itself:
                continue
            whole = sum(event.complete for event in tape.events if event.kind is Kind.HTTP)
            before = len(server.requests)
            done = self.resume(server, run, {})
            assert done.status == 0, f"{run} cannot be resumed: {done.stderr.decode()}"
            assert len(server.requests) - before == REQUESTS - whole, f"{whole} of {REQUESTS} answers were on tape"
            assert len(seen(server, done).answered) == REQUESTS
            self.check(server, done)
            assert self._file(READ_BY_THE_RUN).read_text(encoding="utf-8") == NEW, "a file that was only read"
            assert self._file(CHANGED_BY_IT).read_text(encoding="utf-8") == LAST, "a file that was changed"

    def _file(self, name: str) -> Path:
        return self.bench.folder / name

    def _path(self, run: str) -> Path:
        return self.bench.store.path(run)

    def _texts(self) -> set[str]:
        """What the files of the user hold, and the copies of them."""
        copies = self.bench.store.root.glob("*.before/*")
        found = [self._file(READ_BY_THE_RUN), self._file(CHANGED_BY_IT), *copies]
        return {path.read_text(encoding="utf-8") for path in found if path.is_file()}
