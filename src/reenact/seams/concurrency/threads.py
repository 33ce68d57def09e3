"""The seam in threads and pools: a lane for each thread and for each job that is submitted.

Whoever starts a thread or submits a job makes that lane ready; it runs when the baton comes to it. The workers of a
pool are in no lane: which of them takes a job must not matter.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.thread as pool_module
import functools
import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any

from reenact import _real
from reenact.engine.lane import Lane, current, enter, get_lane, leave, muted
from reenact.engine.order import Strand
from reenact.engine.session import Session
from reenact.seams.concurrency.blocking import block
from reenact.seams.patch import Patches

_STARTED = "_reenact_started"


def install(patches: Patches) -> None:
    """Meets `threading.Thread` and `ThreadPoolExecutor`."""
    thread = threading.Thread
    patches.set(thread, "start", _start(thread.start))
    patches.set(thread, "_bootstrap_inner", _bootstrap(thread._bootstrap_inner))  # type: ignore[attr-defined]
    patches.set(thread, "join", _join(thread.join))
    patches.set(threading, "_shutdown", _shutdown(threading._shutdown))  # type: ignore[attr-defined]
    executor = concurrent.futures.ThreadPoolExecutor
    patches.set(executor, "submit", _submit(executor.submit))
    work_item = pool_module._WorkItem
    patches.set(work_item, "run", _run(work_item.run))


class _Started:
    """A thread of ours: its lane, its strand, and who waits for its end."""

    __slots__ = ("ended", "joiners", "lane", "session", "strand")

    def __init__(self, lane: Lane, session: Session) -> None:
        self.lane = lane
        self.session = session
        self.strand = Strand(f"lane {lane.path}", session.order)
        self.joiners: list[Strand] = []
        self.ended = False


def _start(real: Callable[..., None]) -> Callable[..., None]:
    def start(self: threading.Thread) -> None:
        lane = get_lane()
        if lane is None or lane.session is None or getattr(self, "_started").is_set():  # noqa: B009
            return real(self)
        target = getattr(self, "_target", None)
        child = lane.child(getattr(target, "__qualname__", type(self).__name__))
        started = self.__dict__[_STARTED] = _Started(child, lane.session)
        with muted():
            # the new thread runs up to where it waits for the baton; starting it lets nobody else go
            real(self)
        lane.session.order.ready(started.strand)
        return None

    return start


def _bootstrap(real: Callable[..., None]) -> Callable[..., None]:
    def _bootstrap_inner(self: threading.Thread) -> None:
        started: _Started | None = self.__dict__.get(_STARTED)
        if started is None:
            return real(self)
        run = self.run

        def run_in_lane() -> None:
            started.session.adopt(started.strand)
            started.session.order.await_turn(started.strand)
            enter(started.lane)
            run()

        self.run = run_in_lane  # type: ignore[method-assign]
        try:
            return real(self)
        finally:
            started.ended = True
            for joiner in started.joiners:
                joiner.order.ready(joiner)
            started.session.forget_strand()

    return _bootstrap_inner


def _join(real: Callable[..., None]) -> Callable[..., None]:
    def join(self: threading.Thread, timeout: float | None = None) -> None:
        lane = get_lane()
        started: _Started | None = self.__dict__.get(_STARTED)
        if lane is None or lane.session is None or started is None or self is threading.current_thread():
            return real(self, timeout)
        if not started.ended:
            strand = lane.session.strand()
            started.joiners.append(strand)
            try:
                if not block(lane, lane.session, max(timeout, 0) if timeout is not None else None, strand=strand):
                    return None
            finally:
                if not started.ended:
                    started.joiners.remove(strand)
        return real(self)

    return join


def _shutdown(real: Callable[[], None]) -> Callable[[], None]:
    def _shutdown() -> None:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real()
        # the interpreter waits here for every thread that still runs: they need the baton
        session = lane.session
        session.order.park(session.strand())
        with muted():
            real()
        session.order.leave(session.strand())
        return None

    return _shutdown


class _Places:
    """How many jobs of a pool can be under way, and which are: a queued job is not ready."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = _real.allocate_lock()
        self.active: list[_Job] = []
        self.queued: list[_Job] = []


def _places(pool: Any) -> _Places:
    places: _Places | None = pool.__dict__.get("_reenact_places")
    if places is None:
        places = pool.__dict__["_reenact_places"] = _Places(pool._max_workers)
    return places


def _submit(real: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        lane = current()
        if lane is None or lane.session is None:
            return real(self, fn, *args, **kwargs)
        child = lane.child(getattr(fn, "__qualname__", type(fn).__name__))
        job = _Job(child, lane.session, fn, _places(self))
        with muted():
            future = real(self, job, *args, **kwargs)
        job.submitted()
        return future

    return submit


class _Job:
    """A submitted call, run in a lane of its own whichever worker takes it."""

    __slots__ = ("_fn", "_lane", "_places", "_session", "_strand")

    def __init__(self, lane: Lane, session: Session, fn: Callable[..., Any], places: _Places) -> None:
        self._lane = lane
        self._session = session
        self._fn = fn
        self._places = places
        self._strand = Strand(f"lane {lane.path}", session.order)

    def submitted(self) -> None:
        """The job is ready when a worker is free for it, else when one becomes free."""
        places = self._places
        with places.lock:
            free = len(places.active) < places.size
            (places.active if free else places.queued).append(self)
        if free:
            self._session.order.ready(self._strand)

    def done(self) -> None:
        """The job has ended, its result is set, and the next in the queue takes its place."""
        places = self._places
        following: _Job | None = None
        with places.lock:
            places.active.remove(self)
            if places.queued:
                following = places.queued.pop(0)
                places.active.append(following)
        if following is not None:
            following._session.order.ready(following._strand)
        self._session.order.park(self._strand)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fn = self._fn
        owner = getattr(fn.func, "__self__", None) if isinstance(fn, functools.partial) else None
        if isinstance(owner, Context):
            # asyncio.to_thread runs its function in a context copied for it alone, so its lane may be set
            owner.run(enter, self._lane)
        return fn(*args, **kwargs)

    def run(self, real: Callable[[Any], None], item: Any) -> None:
        """The worker's turn with this job."""
        previous = self._session.adopt(self._strand)
        self._session.order.await_turn(self._strand)
        token = enter(self._lane)
        try:
            real(item)
        finally:
            leave(token)
            self.done()
            self._session.restore(previous)


def _run(real: Callable[[Any], None]) -> Callable[[Any], None]:
    def run(self: Any) -> None:
        job = self.fn
        if isinstance(job, _Job):
            job.run(real, self)
        else:
            real(self)

    return run
