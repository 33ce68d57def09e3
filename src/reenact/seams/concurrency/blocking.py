"""The seam in what threads block on: locks, conditions, and everything built of these.

A lane that has to wait gives the baton back, and gets it again in turn when another lane makes it ready. So who runs
after a lock is released or a condition notified follows from the program alone, in every run. Code in no lane of ours
uses the real locks beneath, as ever.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import Any

from reenact import _real
from reenact.engine.crossing import await_served, linger
from reenact.engine.lane import MUTED, Lane, enter, get_lane, leave
from reenact.engine.order import Strand
from reenact.engine.session import Session
from reenact.seams.patch import Patches

_WAITERS: dict[Any, Strand] = {}


def install(patches: Patches) -> None:
    """Meets `Lock`, `RLock`, `Condition` and `SimpleQueue`; events, semaphores, queues and futures are made of them."""
    patches.function(threading, "Lock", Lock)
    patches.function(threading, "RLock", RLock)
    patches.set(threading.Condition, "wait", _wait(threading.Condition.wait))
    patches.set(threading.Condition, "notify", _notify(threading.Condition.notify))
    # their loops over a wait with a timeout ask how much of it is left: in replay a wait takes no time
    patches.set(threading, "_time", _passing)
    patches.set(queue, "time", _passing)
    patches.function(queue, "SimpleQueue", queue._PySimpleQueue)  # type: ignore[attr-defined]


class _Skipped:
    """Seconds that waits took in the recording and did not take in this replay."""

    seconds = 0.0


def _passing() -> float:
    lane = get_lane()
    if lane is not None and lane.session is not None and lane.session.reordered is not None:
        return lane.session.reordered.read()
    return _real.monotonic() + _Skipped.seconds


def block(lane: Lane, session: Session, timeout: float | None, *, strand: Strand | None = None) -> bool:
    """Waits until another lane makes this one ready. False when `timeout` seconds ran out first, which is on tape."""
    strand = strand or session.strand()
    order = session.order
    tape = session.plan.prefix
    limited = timeout is not None and timeout >= 0
    if tape is not None and limited and session.boundary.beside(lane.path):
        if linger(session, strand, session.next_time(lane)):
            _Skipped.seconds += timeout or 0.0
            return False
        return True
    tick = session.expiry(lane, timeout or 0.0) if tape is not None and limited else -1
    token = enter(MUTED)  # a finalizer that runs while we wait must not wait for the baton itself
    try:
        order.block(strand, tick)
        if tape is not None and await_served(session, strand):
            if strand.tick == tick >= 0:
                session.expired(lane)
                _Skipped.seconds += timeout or 0.0
                return False
            order.unwant(tick)
            return True
        if order.await_turn(strand, timeout if limited else None):
            return True
        order.expire(strand)
        order.await_turn(strand)
        expired, strand.expired = strand.expired, False
        if not expired:
            return True
        session.expired(lane)
    except BaseException:
        order.leave(strand)
        raise
    finally:
        leave(token)
    return False


class Lock:
    """`threading.Lock` for programs whose threads are lanes."""

    __slots__ = ("__weakref__", "_real", "_waiting")

    def __init__(self) -> None:
        self._real = _real.allocate_lock()
        self._waiting: deque[Strand] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002  as the real one
        """As `threading.Lock.acquire`."""
        if self._real.acquire(False):  # noqa: FBT003
            return True
        if not blocking:
            return False
        lane = get_lane()
        if lane is None or lane.session is None:
            return self._real.acquire(True, timeout)  # noqa: FBT003
        strand, session = lane.session.strand(), lane.session
        while not self._real.acquire(False):  # noqa: FBT003
            if not lane.live:  # the run ended while this waited
                return self._real.acquire(True, timeout)  # noqa: FBT003
            self._waiting.append(strand)
            try:
                woken = block(lane, session, timeout if timeout >= 0 else None, strand=strand)
            finally:
                if strand in self._waiting:
                    self._waiting.remove(strand)
            if not woken:
                return self._real.acquire(False)  # noqa: FBT003
        return True

    def release(self) -> None:
        """As `threading.Lock.release`."""
        self._real.release()
        if self._waiting:
            strand = self._waiting.popleft()
            strand.order.ready(strand)

    def locked(self) -> bool:
        """As `threading.Lock.locked`."""
        return self._real.locked()

    acquire_lock, release_lock, locked_lock = acquire, release, locked

    def __enter__(self) -> bool:
        return self._real.acquire(False) or self.acquire()  # noqa: FBT003

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._real = _real.allocate_lock()
        self._waiting.clear()

    def __repr__(self) -> str:
        return f"<{'locked' if self.locked() else 'unlocked'} _thread.lock object at {id(self):#x}>"


class RLock:
    """`threading.RLock` for programs whose threads are lanes."""

    __slots__ = ("__weakref__", "_count", "_lock", "_owner")

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner: int | None = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002  as the real one
        """As `threading.RLock.acquire`."""
        me = _real.get_ident()
        if self._owner == me:
            self._count += 1
            return True
        if self._lock._real.acquire(False) or self._lock.acquire(blocking, timeout):  # noqa: FBT003
            self._owner, self._count = me, 1
            return True
        return False

    def release(self) -> None:
        """As `threading.RLock.release`."""
        if self._owner != _real.get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _acquire_restore(self, state: tuple[int, int]) -> None:
        self._lock.acquire()
        self._count, self._owner = state

    def _release_save(self) -> tuple[int, int | None]:
        if not self._count:
            raise RuntimeError("cannot release un-acquired lock")
        state = (self._count, self._owner)
        self._count, self._owner = 0, None
        self._lock.release()
        return state

    def _is_owned(self) -> bool:
        return self._owner == _real.get_ident()

    def _recursion_count(self) -> int:
        return self._count if self._is_owned() else 0

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()
        self._owner, self._count = None, 0

    def __repr__(self) -> str:
        state = "locked" if self._count else "unlocked"
        return f"<{state} _thread.RLock object owner={self._owner or 0} count={self._count} at {id(self):#x}>"


def _wait(real: Any) -> Any:
    def wait(self: Any, timeout: float | None = None) -> bool:
        lane = get_lane()
        if lane is None or lane.session is None:
            return bool(real(self, timeout))
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter = _real.allocate_lock()
        waiter.acquire()
        self._waiters.append(waiter)
        saved = self._release_save()
        _WAITERS[waiter] = lane.session.strand()
        try:
            return block(lane, lane.session, max(timeout, 0) if timeout is not None else None)
        finally:
            del _WAITERS[waiter]
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            self._acquire_restore(saved)

    return wait


def _notify(real: Any) -> Any:
    def notify(self: Any, n: int = 1) -> None:
        if not self._waiters:  # as most often: of events that nobody waits for
            real(self, n)
            return
        woken = [_WAITERS[waiter] for waiter in list(self._waiters)[:n] if waiter in _WAITERS]
        real(self, n)
        for strand in woken:
            strand.order.ready(strand)

    return notify
