"""The seam in threads and pools: a lane for each thread and for each job that is submitted.

Whoever starts a thread or submits a job makes that lane ready; it runs when the baton comes to it. The workers of a
pool are in no lane: which of them takes a job must not matter.
"""

from __future__ import annotations

import concurrent.futures
import concurrent.futures.thread as pool_module
import functools
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any

from reenact import _real
from reenact.engine.lane import MUTED, Lane, current, enter, get_lane, leave, muted
from reenact.engine.order import Strand
from reenact.engine.place import is_bottom
from reenact.engine.session import Session
from reenact.seams.concurrency.blocking import block
from reenact.seams.concurrency.identity import number
from reenact.seams.patch import Patches

_STARTED = "_reenact_started"


def install(patches: Patches) -> None:
    """Meets `threading.Thread` and `ThreadPoolExecutor`."""
    thread = threading.Thread
    is_bottom(thread._bootstrap_inner.__code__)  # type: ignore[attr-defined]
    patches.set(thread, "start", _start(thread.start))
    patches.set(thread, "_bootstrap_inner", _bootstrap(thread._bootstrap_inner))  # type: ignore[attr-defined]
    patches.set(thread, "join", _join(thread.join))
    # the interpreter waits for the threads that still run when main has ended; what is first in this list it calls last
    patches.set(threading, "_threading_atexits", [_join_all, *threading._threading_atexits])  # type: ignore[attr-defined]
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
        announce = self._started.set  # type: ignore[attr-defined]

        def announce_and_wait() -> None:
            announce()
            started.session.adopt(started.strand)
            started.session.order.await_turn(started.strand)
            enter(started.lane)

        # the last thing before the thread's own code: no frame of ours is below that
        self._started.set = announce_and_wait  # type: ignore[attr-defined]
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
        started: _Started | _Places | None = self.__dict__.get(_STARTED)
        if lane is None or lane.session is None or started is None or self is threading.current_thread():
            return real(self, timeout)
        while not started.ended:
            strand = lane.session.strand()
            started.joiners.append(strand)
            try:
                if not block(lane, lane.session, max(timeout, 0) if timeout is not None else None, strand=strand):
                    return None
            finally:
                if strand in started.joiners:
                    started.joiners.remove(strand)
        return real(self)

    return join


def _join_all() -> None:
    """Main has ended, and waits for its threads: in turn, so that what runs afterwards does so in every run.

    Daemons that did not get their turn before are as good as ended.
    """
    lane = get_lane()
    while lane is not None and lane.session is not None:
        left = [thread for thread in threading.enumerate() if _running(thread) and not thread.daemon]
        if not left:
            return
        left[0].join()


def _running(thread: threading.Thread) -> bool:
    started: _Started | None = thread.__dict__.get(_STARTED)
    return started is not None and not started.ended and thread is not threading.current_thread()


class _Places:
    """How many jobs of a pool can be under way, and which are: a queued job is not ready.

    It stands for the pool's workers: they have `ended` when there is nothing left for them to do.
    """

    def __init__(self, size: int) -> None:
        self.lock = _real.allocate_lock()
        self.active: list[_Job | None] = [None] * size
        self.queued: deque[_Job] = deque()
        self.joiners: list[Strand] = []

    @property
    def ended(self) -> bool:
        """Whether no job is left."""
        return not self.queued and not any(self.active)

    def take(self, job: _Job) -> bool:
        """A place for the job; False when there is none, and it is queued."""
        with self.lock:
            if None not in self.active:
                self.queued.append(job)
                return False
            job.place = self.active.index(None)
            self.active[job.place] = job
            return True

    def give_on(self, job: _Job) -> _Job | None:
        """The job has ended; which takes its place."""
        with self.lock:
            following = self.queued.popleft() if self.queued else None
            self.active[job.place] = following
            if following is not None:
                following.place = job.place
            return following


def _places(pool: Any) -> _Places:
    places: _Places | None = pool.__dict__.get(_STARTED)
    if places is None:
        places = pool.__dict__[_STARTED] = _Places(pool._max_workers)
    return places


def _below(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A job of what is below a boundary, such as the look-up of a name for a connection, is below it too."""

    def job(*args: Any, **kwargs: Any) -> Any:
        with muted():
            return fn(*args, **kwargs)

    return job


def _submit(real: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if get_lane() is MUTED:
            return real(self, _below(fn), *args, **kwargs)
        lane = current()
        if lane is None or lane.session is None:
            return real(self, fn, *args, **kwargs)
        child = lane.child(getattr(fn, "__qualname__", type(fn).__name__))
        places = _places(self)
        job = _Job(child, lane.session, fn, places)
        with muted():
            future = real(self, job, *args, **kwargs)
        number(future, lane)
        for worker in self._threads:
            worker.__dict__.setdefault(_STARTED, places)
        job.submitted()
        return future

    return submit


class _Job:
    """A submitted call, run in a lane of its own whichever worker takes it."""

    __slots__ = ("_fn", "_lane", "_places", "_session", "_strand", "place")

    def __init__(self, lane: Lane, session: Session, fn: Callable[..., Any], places: _Places) -> None:
        self._lane = lane
        self._session = session
        self._fn = fn
        self._places = places
        self.place = 0
        self._strand = Strand(f"lane {lane.path}", session.order)

    def submitted(self) -> None:
        """The job is ready when a worker is free for it, else when one becomes free."""
        if self._places.take(self):
            self._session.order.ready(self._strand)

    def done(self) -> None:
        """The job has ended, its result is set, and the next in the queue takes its place."""
        places = self._places
        following = places.give_on(self)
        if following is not None:
            following._session.order.ready(following._strand)
        elif places.ended:
            for joiner in places.joiners:
                joiner.order.ready(joiner)
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
        worker = threading.current_thread()
        name = worker.name
        # which worker took the job is chance, and its name is seen in logs
        worker.name = f"{name.rpartition('_')[0]}_{self.place}"
        token = enter(self._lane)
        try:
            real(item)
        finally:
            leave(token)
            worker.name = name
            self.done()
            self._session.restore(previous)


def lane_of_thread(thread: threading.Thread | None) -> Lane | None:
    """The lane of a thread that the program has started."""
    started = thread.__dict__.get(_STARTED) if thread is not None else None
    return started.lane if isinstance(started, _Started) else None


def lane_of_job(job: object) -> Lane | None:
    """The lane of a job of a pool, if it is one."""
    return job._lane if isinstance(job, _Job) else None


def _run(real: Callable[[Any], None]) -> Callable[[Any], None]:
    def run(self: Any) -> None:
        job = self.fn
        if isinstance(job, _Job):
            job.run(real, self)
        else:
            real(self)

    return run
