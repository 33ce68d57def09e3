"""Where every lane of a program that stands still is: on the stacks of threads, and in what tasks wait for."""

from __future__ import annotations

import contextvars
import gc
import sys
import threading
from collections.abc import Iterator
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, NamedTuple

from reenact import _real
from reenact.engine.frames import is_ours
from reenact.engine.inside import SUSPENDED, frame_of, is_python
from reenact.engine.lane import Lane, get_lane_of
from reenact.engine.place import BOTTOM
from reenact.engine.session import Session
from reenact.engine.variables import variables_of
from reenact.seams.concurrency.threads import lane_of_job, lane_of_thread

_NEXT = {CoroutineType: "cr_await", GeneratorType: "gi_yieldfrom", AsyncGeneratorType: "ag_await"}
_MOST = 10_000  # frames of one lane: a program may go round in circles


class Stack(NamedTuple):
    """Where one lane is: its functions, the innermost first, without ours.

    `thread` is the name of the thread that runs it, empty for a task that is suspended; `waits_for` the lanes whose end
    it waits for, where that is known.
    """

    lane: str
    name: str
    thread: str
    frames: list[FrameType]
    waits_for: tuple[str, ...] = ()


class Begun(NamedTuple):
    """A task that has not ended, its coroutine, and its lane."""

    task: Any
    coro: Any
    lane: Lane | None


def stacks(session: Session, here: FrameType | None, lane: Lane | None) -> list[Stack]:
    """Those of all lanes, first that of the calling thread, which stands still in `here`, and in `lane`."""
    tasks = list(_tasks(here, lane))
    found = list(_of_threads(session, here, lane, tasks))
    running = {id(frame) for stack in found for frame in stack.frames}
    for _, coro, its in tasks:
        frames, end = _awaits(coro)
        if its is not None and its.session is session and not any(id(frame) in running for frame in frames):
            found.append(Stack(its.path, its.name, "", _theirs(reversed(frames)), _lanes_waited_for(end, tasks)))
    return [found[0], *sorted(found[1:], key=lambda stack: _order(stack.lane))]


def _of_threads(session: Session, here: FrameType | None, lane: Lane | None, tasks: list[Begun]) -> Iterator[Stack]:
    threads = dict(threading._active)  # type: ignore[attr-defined]  # noqa: SLF001  who enumerates them takes a lock
    yield from _of_thread(session, threads.get(_real.get_ident()), here, tasks, lane)
    for ident, frame in sys._current_frames().items():  # noqa: SLF001  documented, in spite of its name
        if ident != _real.get_ident():
            yield from _of_thread(session, threads.get(ident), frame, tasks)


def _of_thread(
    session: Session,
    thread: threading.Thread | None,
    frame: FrameType | None,
    tasks: list[Begun],
    lane: Lane | None = None,
) -> Iterator[Stack]:
    """The lanes on the stack of a thread: what a loop turns is another one than what turns the loop."""
    above, below = _parted(frame)
    base = session.main if thread is threading.main_thread() else lane_of_thread(thread)
    here = lane or _lane_of_task(above, tasks) or _lane_of_job(above) or base
    parts = [(here, above), (base, below)] if here is not base else [(base, [*above, *below])]
    for one, frames in parts:
        if one is not None and one.session is session:
            yield Stack(one.path, one.name, thread.name if thread is not None else "", _theirs(frames))


def _parted(frame: FrameType | None) -> tuple[list[FrameType], list[FrameType]]:
    """The frames above what turns a loop or runs a thread, and those below it, the innermost first."""
    parts: tuple[list[FrameType], list[FrameType]] = [], []
    below = 0
    while frame is not None and len(parts[0]) + len(parts[1]) < _MOST:
        if id(frame.f_code) in BOTTOM:
            below = 1
        parts[below].append(frame)
        frame = frame.f_back
    return parts


def _theirs(frames: Any) -> list[FrameType]:
    return [frame for frame in frames if not is_ours(frame)]


def _lane_of_task(frames: list[FrameType], tasks: list[Begun]) -> Lane | None:
    """The lane of the task that is running there."""
    there = {id(frame) for frame in frames}
    return next((lane for _, coro, lane in tasks if id(frame_of(coro)) in there), None)


def _lane_of_job(frames: list[FrameType]) -> Lane | None:
    """The lane of the job that a worker of a pool runs there."""
    for frame in frames:
        lane = lane_of_job(variables_of(frame).get("self")) if is_ours(frame) else None
        if lane is not None:
            return lane
    return None


def _tasks(here: FrameType | None, lane: Lane | None) -> Iterator[Begun]:
    """The tasks that have not ended. That which runs `here` has been muted by who holds it still: it is in `lane`."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return
    running = set(map(id, _parted(here)[0]))
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):  # the first until 3.11, the others since 3.12
        for task in list(getattr(asyncio.tasks, name, ())):
            if issubclass(type(task), asyncio.Task) and not asyncio.Task.done(task):
                coro = asyncio.Task.get_coro(task)
                yield Begun(task, coro, lane if id(frame_of(coro)) in running else _lane(task))


def _lane(task: Any) -> Lane | None:
    """That of the context that it runs in: of those that it holds, the first."""
    context = next((held for held in gc.get_referents(task) if type(held) is contextvars.Context), None)
    return get_lane_of(context) if context is not None else None


def _awaits(coro: Any) -> tuple[list[FrameType], Any]:
    """The frames of what a coroutine awaits, the outermost first, and what the last of them waits for."""
    frames: list[FrameType] = []
    while coro is not None and len(frames) < _MOST:
        if type(coro) in SUSPENDED:
            frame = frame_of(coro)
            if frame is not None:
                frames.append(frame)
            coro = getattr(coro, _NEXT[type(coro)])
        else:
            # what C code puts around one, as `anext` does, holds it
            held = gc.get_referents(coro) if not is_python(type(coro)) else []
            inner = next((one for one in held if type(one) in SUSPENDED), None)
            if inner is None:
                break
            coro = inner
    return frames, coro


def _lanes_waited_for(end: Any, tasks: list[Begun]) -> tuple[str, ...]:
    """The lanes of tasks that are waited for, by a future of theirs or by one that gathers theirs."""
    held = [end, *(gc.get_referents(end) if end is not None else ())]
    gathers = getattr(sys.modules.get("asyncio.tasks"), "_GatheringFuture", None)
    gathered = [one for future in held if type(future) is gathers for one in future._children]  # noqa: SLF001
    wanted = {id(one) for one in (*held, *gathered)}
    found = [lane.path for task, _, lane in tasks if lane is not None and id(task) in wanted]
    return tuple(sorted(found, key=_order))


def _order(path: str) -> list[tuple[int, str]]:
    """0.2 before 0.10."""
    return [(int(part) if part.isdecimal() else 0, part) for part in path.split(".")]
