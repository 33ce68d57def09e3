"""The seam in memory that processes of multiprocessing share: values, arrays, barriers, and `SharedMemory`.

Nobody sees a write to it. But its program looks at it when something has come from another process: a lock that it has
got, a message, an end. What is there by then belongs to that event, and is put there again in replay.
"""

from __future__ import annotations

import weakref
from typing import Any, NoReturn

from reenact import _real
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import Lane
from reenact.engine.session import Session
from reenact.errors import DivergenceError
from reenact.tape.event import Snapshot

_MAX_BYTES = 1024 * 1024  # it is looked at with each event
_BEFORE = -1
_UNKEPT = "memory is shared that is large: what is written to it is not on tape, and a replay ends there"


class Memory:
    """The memory that one run shares with the processes that it starts. Each piece is numbered as it is made."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pieces: dict[int, weakref.ref[Any]] = {}
        self.take()

    def take(self) -> None:
        """A run begins, in this process or in a fork of it, which finds the memory that it shares as it is."""
        self._known: dict[int, bytes] = {}
        self.heard(_BEFORE)

    def made(self, lane: Lane, owner: Any, *, found: bool) -> None:
        """`owner` holds a new piece, or one that was `found`: another process had made it. A large one is not kept.

        Raises:
            DivergenceError: in replay, when it is too large.
        """
        held, number = _held(owner), len(self._pieces)
        if held is not None and len(held) <= _MAX_BYTES:
            self._pieces[number] = weakref.ref(owner)
            if found:
                self._pass(_named(number, _BEFORE), number, held)
        elif self._session.recording:
            self._session.note("child", _UNKEPT, _real.getframe(2))
        else:
            self._refuse(lane)

    def size_of_next(self, lane: Lane) -> int:
        """How large the piece was that is found next (replay).

        Raises:
            DivergenceError: it is not on tape.
        """
        tape = self._session.plan.prefix
        known = tape.snapshots.get(_named(len(self._pieces), _BEFORE)) if tape is not None else None
        if known is None:
            self._refuse(lane)
        return len(known)

    def _refuse(self, lane: Lane) -> NoReturn:
        self._session.latch(Divergence(What.EXTRA, lane.path, actual=Datum("process", "share memory")))
        raise DivergenceError("what is written to this memory is not on tape")

    def heard(self, event: int) -> None:
        """Something has come from another process, by that event."""
        for number, owner in self._pieces.items():
            held = _held(owner())
            if held is not None:
                self._pass(_named(number, event), number, held)

    def _pass(self, name: str, number: int, held: Any) -> None:
        tape = self._session.plan.prefix
        if tape is None:
            data = held[:]
            if data != self._known.get(number):
                self._known[number] = data
                self._session.keep(Snapshot(name, data))
        elif name in tape.snapshots:
            held[:] = tape.snapshots[name]


def _named(number: int, event: int) -> str:
    return f"memory {number} {event}"


def _held(owner: Any) -> Any:
    """The memory itself, as `mmap`; None when it has been closed."""
    held = getattr(owner, "buffer", None) or getattr(owner, "_mmap", None)
    return None if held is None or held.closed else held
