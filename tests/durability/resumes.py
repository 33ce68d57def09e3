"""Resumptions that are stopped at their own writes, syncs, renames and so on.

Whatever stops one: the tape of the run that it goes on with is as it was, what the world has seen is on a tape, the
next resumption works, and the files of the user are those that they would be had nobody been stopped.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reenact.tape.event import Kind
from reenact.tape.reader import read
from reenact.tape.store import Store
from reenact.testing import ModelServer, Say
from reenact.testing.turn import Turn
from tests.durability import promise
from tests.durability.crash import BEYOND, WAYS, tally_of
from tests.durability.disk import Disk
from tests.durability.power import lose_power
from tests.durability.programs import IN_FILES, answer
from tests.durability.promise import Seen
from tests.durability.stopped import Stop, Tried, ended, ready, seen
from tests.durability.watch import Op
from tests.runs import Done, settings
from trust.tally import Tally

KILLED_AT = 2  # the request in place of whose answer the run is killed
REQUESTS = 4
READ_BY_THE_RUN, CHANGED_BY_IT = "config.txt", "work.txt"
NEW, OWN = "new", "words of the user"
NOWHERE = Stop(0)
LAST = "begun with old" + "".join(f" and {n}" for n in range(REQUESTS))


def resumes(way: str, watching: Path, folder: Path, some: int = 0) -> Tally:
    """Stops resumptions in one way: at every operation, or at `some`."""
    how, half = WAYS[way]
    count = _Killed(watching, folder / "whole").count()
    points = range(1, count + BEYOND + 1) if not some else [(2 * n + 1) * count // (2 * some) for n in range(some)]
    with ThreadPoolExecutor(2) as pool:
        each = list(pool.map(lambda at: _tried(watching, folder / str(at), Stop(at, how, half)), points))
    return tally_of(f"crash points of resume: {way}", each, some or count // 2, whole=not some)


def power(watching: Path, folder: Path, ways: int) -> Iterator[str]:
    """Loses power while a run is resumed: what was wrong, for each state of the disk."""
    killed = _Killed(watching, folder)
    with ModelServer(_answer) as server:
        killed.record(server)
        disk, before = Disk(killed.bench.folder), [request.body for request in server.requests]
        done = killed.stopped(server)
        assert done.status == 0, done.stderr.decode()
        after = [request.body for request in server.requests][len(before) :]

    def promised(ops: Sequence[Op]) -> Seen:
        seen = promise.seen_in(ops, after)
        return Seen((*before, *seen.asked), seen.answered)

    return lose_power(disk, killed.watch.ops(), ways, promised, killed.is_all_there)


def _tried(watching: Path, folder: Path, stop: Stop) -> Tried:
    killed = _Killed(watching, folder, stop)
    try:
        with ModelServer(_answer) as server:
            killed.record(server)
            done = killed.stopped(server)
            stopped = killed.watch.stopped
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

    def __init__(self, watching: Path, folder: Path, stop: Stop = NOWHERE) -> None:
        self.bench, self.watch = ready(IN_FILES, watching, folder)
        self.run = ""
        # what is resumed has the environment of what was recorded, and is to be watched, too
        self._watched = self.watch.environment(stop.at, stop.how, half=stop.half)
        self.watch.end()
        self._tape = b""

    def count(self) -> int:
        """How many operations a resumption has that nobody stops."""
        with ModelServer(_answer) as server:
            self.record(server)
            done = self.stopped(server)
            assert done.status == 0, done.stderr.decode()
            self.check(server, done)
        return self.watch.count

    def record(self, server: ModelServer) -> None:
        self._file(READ_BY_THE_RUN).write_text("old", encoding="utf-8")
        ended(self.bench, IN_FILES.command, settings(server) | self._watched)
        (self.run,) = self.bench.store.ids()
        self._tape = self._path(self.run).read_bytes()
        self._file(READ_BY_THE_RUN).write_text(NEW, encoding="utf-8")
        self._file(CHANGED_BY_IT).write_text(OWN, encoding="utf-8")

    def stopped(self, server: ModelServer) -> Done:
        """It is resumed, and stopped where it is to be."""
        self.watch.begin()
        done = self._resume(server, self.run)
        self.watch.end()
        return done

    def _resume(self, server: ModelServer, run: str) -> Done:
        command = ("-m", "reenact", "resume", "--retry", "--quiet", run)
        return ended(self.bench, command, settings(server) | self._watched)

    def check(self, server: ModelServer, done: Done) -> None:
        """What is so at any moment."""
        self.is_all_there(self.bench.folder, seen(server, done))

    def is_all_there(self, folder: Path, seen: Seen) -> None:
        """The same of a project that may be elsewhere by now."""
        store = Store(folder / ".reenact")
        assert store.path(self.run).read_bytes() == self._tape, "the tape of the run that was killed is another"
        promise.check(store.root, seen)
        files = [folder / READ_BY_THE_RUN, folder / CHANGED_BY_IT, *store.root.glob("*.before/*")]
        texts = {path.read_text(encoding="utf-8") for path in files if path.is_file()}
        for words in (NEW, OWN):
            assert words in texts, f"{words!r} of the user is in no file any more"

    def goes_on(self, server: ModelServer) -> None:
        """What was stopped, and what it was to go on with, are resumed: in that order."""
        for run in sorted(self.bench.store.ids(), key=lambda run: run == self.run):
            tape = read(self._path(run))
            if tape.closed_by_itself:
                continue
            whole = sum(event.complete for event in tape.events if event.kind is Kind.HTTP)
            before = len(server.requests)
            done = self._resume(server, run)
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
