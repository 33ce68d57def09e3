"""The Pythons among the children of a run: each records itself, as a process of that run.

Its main lane is the next child of the lane that starts it. In replay nobody is started, and the number is taken as it
was.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

import msgspec

from reenact import _real
from reenact.engine.crossing import Crossing
from reenact.engine.lane import Lane
from reenact.engine.session import Session
from reenact.tape.event import OUTPUTS, UNKNOWN_STATUS, Child
from reenact.tape.recording import Recording


class Start(msgspec.Struct, frozen=True):
    """How a child is started: what `subprocess` is given.

    `ours`: its stdout or stderr is the program's own.
    """

    args: Any
    executable: Any = None
    cwd: Any = None
    env: Mapping[Any, Any] | None = None
    shell: bool = False
    ours: bool = False

    @property
    def words(self) -> list[str]:
        """The command, word by word."""
        args = self.args
        return [os.fsdecode(args)] if isinstance(args, str | bytes | os.PathLike) else list(map(os.fsdecode, args))


class Joined(NamedTuple):
    """How a child is to be started so that the Pythons in it join the run, on these lanes; and why others do not.

    `statuses` are the exit statuses of the child that are those of the one Python that it is.
    """

    start: Start
    lanes: list[str]
    why: str = ""
    statuses: range = range(-128, 256)


Join = Callable[[Start, Iterator[str]], Joined]
"""Of how a child would be started, and the lanes that are free, how it is to be started. Changes nothing itself."""


class Joins:
    """The Pythons of one run's children. `join` is there in a recording."""

    def __init__(self, session: Session, join: Join | None = None) -> None:
        self._session = session
        self._join = join
        self._statuses: dict[str, range] = {}  # by lane, the exit statuses of the child that are the Python's own

    def ask(self, lane: Lane, start: Start) -> Joined:
        """How a child of the lane is to be started (recording)."""
        if self._join is None:
            return Joined(start, [])
        try:
            return self._join(start, (f"{lane.path}.{lane.born + number}" for number in count(1)))
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(error)
            return Joined(start, [])

    def began(self, lane: Lane, crossing: Crossing, joined: Joined) -> list[Child]:
        """The child is there: those that have joined by it."""
        tape = self._session.plan.prefix
        if crossing.served is not None and tape is not None:
            found = [Child(crossing.event, child.lane) for child in tape.joined.get(crossing.served.id, ())]
            self._pass_on(child.lane for child in found if child.lane not in tape.ends)
        else:
            found = [Child(crossing.event, path) for path in joined.lanes]
            self._statuses.update(dict.fromkeys(joined.lanes, joined.statuses))
        for child in found:
            lane.born += 1
            self._session.keep(child)
        return found

    def ended(self, children: list[Child], event: int, status: int) -> None:
        """The child is over, as the run knows by that event."""
        for child in children:
            known = status in self._statuses.get(child.lane, ())
            self._session.keep(Child(event, child.lane, status if known else UNKNOWN_STATUS))
        self._pass_on(child.lane for child in children)

    def _pass_on(self, lanes: Iterable[str]) -> None:
        """Writes what these wrote past the program, to what is its own output: they are not here to do it (replay)."""
        tape = self._session.plan.prefix
        if tape is None or self._session.recording:
            return
        wanted = set(lanes)
        for process in tape.processes if wanted else ():
            if process.main in wanted:
                for stream, data in _written(process):
                    with contextlib.suppress(OSError):  # nobody may read it any more
                        _write(stream, data)


def _written(process: Recording) -> Iterator[tuple[int, bytes]]:
    """What a process wrote to the streams of its parent; what it has started first, since it holds its own back."""
    streams = process.snapshots.get(OUTPUTS, b"12")  # one of multiprocessing has its parent's
    both = [(stream, data) for child in process.processes for stream, data in _written(child)]
    both += [(stream, bytes(data)) for stream, data in process.wrote.items()]
    for stream, data in both:
        to = streams[stream - 1] - ord("0")
        if to:
            yield to, data


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[_real.write(stream, data) :]
