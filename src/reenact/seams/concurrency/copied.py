"""What of a program with event loops and pools of threads has to be made anew in a copy of its process.

What a loop waits in, and wakes itself up by, the system would share between both: the copy gets its own, under the same
numbers. And a copy has one thread. Workers of pools that have nothing to do are nobody's state: which of them takes a
job must not matter, and a pool that has none starts one when it needs it.
"""

from __future__ import annotations

import _socket
import concurrent.futures.thread as pool
import contextlib
import os
import queue
import select
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from reenact import _real
from reenact.engine.frames import is_ours
from reenact.engine.variables import variables_of
from reenact.seams.concurrency import forgotten
from reenact.seams.concurrency.asyncio import loops

_dup2 = os.dup2  # before a seam meets it
_QUEUES = (queue.__file__, threading.__file__)


def descriptors() -> set[int]:
    """Those that belong to event loops, and are made anew in a copy."""
    return {end.fileno() for loop in loops() for end in (loop._selector, loop._ssock, loop._csock)}


def idle_workers() -> list[threading.Thread] | None:
    """The threads besides this one, where all of them are workers of pools with nothing to do; None where not."""
    found = []
    for ident, frame in _real.current_frames().items():
        thread = threading._active.get(ident)  # type: ignore[attr-defined]
        if ident == _real.get_ident():
            continue
        if thread is None or not _waits_for_work(frame) or not forgotten.can_forget():
            return None
        found.append(thread)
    return found


def _waits_for_work(frame: FrameType | None) -> bool:
    """Whether it is in what takes the next job from the queue of a pool."""
    inside: FrameType | None = None
    while frame is not None and frame.f_code is not pool._worker.__code__:
        if frame.f_code.co_filename not in _QUEUES and not is_ours(frame):
            return False
        inside, frame = frame, frame.f_back
    if frame is None or (inside is not None and inside.f_code.co_name != "get"):
        return False
    its = variables_of(frame)
    return its.get("work_item") is None and its["work_queue"].empty()


def carried() -> Callable[[], None]:
    """To be called before the process is copied. What it gives is to be called in the copy."""
    asyncio: Any = sys.modules.get("asyncio")
    running = asyncio._get_running_loop() if asyncio is not None else None
    workers = idle_workers() or []

    def carry() -> None:
        if running is not None:
            asyncio._set_running_loop(running)  # which is known by the number of the process
        for loop in loops():
            _renew(loop)
        if workers:
            forgotten.forget()
        for worker in workers:
            _let_go(worker)

    return carry


def _let_go(worker: Any) -> None:
    """A worker is not there any more: its pool has none, and nobody waits for its end."""
    executor = worker._args[0]()
    if executor is not None and worker in executor._threads:
        executor._threads = set()
        executor._idle_semaphore._value = 0
        executor._work_queue = type(executor._work_queue)()
    pool._threads_queues.pop(worker, None)  # type: ignore[attr-defined]
    threading._active.pop(worker.ident, None)  # type: ignore[attr-defined]
    if sys.version_info < (3, 13):
        threading._shutdown_locks.discard(worker._tstate_lock)  # type: ignore[attr-defined]
        worker._tstate_lock = None
        worker._is_stopped = True
    else:  # what is left to be waited for, pools and lanes wait for themselves
        threading._thread_shutdown = lambda: None  # type: ignore[attr-defined]


def _renew(loop: Any) -> None:
    pending = 0
    with contextlib.suppress(OSError):
        pending = len(loop._ssock.recv(4096, _socket.MSG_PEEK | _socket.MSG_DONTWAIT))
    for new, old in zip(_socket.socketpair(), (loop._ssock, loop._csock), strict=True):
        new.setblocking(False)  # noqa: FBT003  as it is called
        _dup2(new.fileno(), old.fileno(), inheritable=False)
        new.close()
    if pending:
        loop._csock.send(b"\0" * pending)
    poll = select.epoll()
    _dup2(poll.fileno(), loop._selector.fileno(), inheritable=False)
    poll.close()
    for key in loop._selector.get_map().values():
        events = (select.EPOLLIN if key.events & 1 else 0) | (select.EPOLLOUT if key.events & 2 else 0)
        loop._selector._selector.register(key.fd, events)
