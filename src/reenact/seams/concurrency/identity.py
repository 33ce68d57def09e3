"""The order of sets: tasks, futures and threads have a hash that is the same in every run.

Theirs is their address, and so the order in which a set of them is walked through: by `TaskGroup` when it cancels, by
whoever takes the results out of what `wait` returned. Here it follows from the lane that makes them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import threading
import weakref
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reenact.engine.lane import Lane, get_lane
from reenact.seams.patch import Patches

_NUMBER = "_reenact_number"


def install(patches: Patches) -> None:
    """Meets what makes tasks, futures and threads; `create_task` makes tasks by `new_task`."""
    base = asyncio.base_events.BaseEventLoop
    patches.set(base, "create_future", _create_future(base.create_future))
    as_completed = _as_completed(asyncio.as_completed)
    patches.set(asyncio, "as_completed", as_completed)
    patches.function(asyncio.tasks, "as_completed", as_completed)
    for kind in (concurrent.futures.Future, threading.Thread):
        meet_hash(kind, patches)


def meet_hash(kind: Any, patches: Patches) -> None:
    """What is of this class gets a hash that follows from the lane that makes it."""
    patches.set(kind, "__init__", _numbered(kind.__init__))
    patches.set(kind, "__hash__", _hash)


def number(thing: Any, lane: Lane) -> None:
    """Gives a future or a thread its hash; nobody may have asked for it before."""
    thing.__dict__[_NUMBER] = lane.mark()


def _hash(self: Any) -> int:
    own: int | None = self.__dict__.get(_NUMBER)
    return object.__hash__(self) if own is None else own


def _numbered(real: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  it takes the place of one
        lane = get_lane()
        if lane is not None and lane.session is not None:
            number(self, lane)
        real(self, *args, **kwargs)

    __init__.__wrapped__ = real  # type: ignore[attr-defined]  # what `inspect.signature` shows
    return __init__


class _Task(asyncio.Task[Any]):
    __slots__ = ("_number",)

    def __init__(self, own: int, *args: Any, **kwargs: Any) -> None:
        self._number = own  # before the rest: that puts the task into a set
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._number


class _Future(asyncio.Future[Any]):
    __slots__ = ("_number",)

    def __init__(self, own: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._number = own

    def __hash__(self) -> int:
        return self._number


class InOrder:
    """A weak set in the order in which things came into it: the async generators that a loop closes when it ends."""

    def __init__(self, things: Iterable[Any]) -> None:
        self._refs: dict[int, weakref.ref[Any]] = {}
        for thing in things:
            self.add(thing)

    def add(self, thing: Any) -> None:
        """As of a set."""
        refs, key = self._refs, id(thing)
        refs[key] = weakref.ref(thing, functools.partial(refs.pop, key))

    def discard(self, thing: Any) -> None:
        """As of a set."""
        self._refs.pop(id(thing), None)

    def clear(self) -> None:
        """As of a set."""
        self._refs.clear()

    def __iter__(self) -> Iterator[Any]:
        return iter([thing for ref in list(self._refs.values()) if (thing := ref()) is not None])

    def __len__(self) -> int:
        return len(self._refs)


for _kind, _real in ((_Task, asyncio.Task), (_Future, asyncio.Future)):
    # what a program prints of them is what it would have printed
    _kind.__name__, _kind.__qualname__, _kind.__module__ = _real.__name__, _real.__qualname__, _real.__module__


def new_task(lane: Lane, loop: AbstractEventLoop, coro: Any, kwargs: dict[str, Any]) -> asyncio.Task[Any]:
    """The task that `loop`, which has no task factory, makes of `coro`. `lane` bears it."""
    loop._check_closed()  # type: ignore[attr-defined]
    task = _Task(lane.mark(), coro, loop=loop, **kwargs)
    trace = getattr(task, "_source_traceback", None)
    if trace:
        del trace[-2:]
    return task


def _create_future(real: Callable[..., Any]) -> Callable[..., Any]:
    def create_future(self: AbstractEventLoop) -> Any:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(self)
        return _Future(lane.mark(), loop=self)

    return create_future


def _as_completed(real: Callable[..., Any]) -> Callable[..., Any]:
    """It walks through a set of the coroutines that it is given, and a coroutine's hash is its address for good."""

    def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
        lane = get_lane()
        if lane is None or lane.session is None or asyncio.isfuture(fs) or asyncio.iscoroutine(fs):
            return real(fs, timeout=timeout)
        if inspect.isgeneratorfunction(real):
            return lazily(fs, timeout)
        return real(_begun(fs), timeout=timeout)

    def lazily(fs: Iterable[Any], timeout: float | None) -> Iterator[Any]:
        yield from real(_begun(fs), timeout=timeout)

    as_completed.__doc__ = real.__doc__
    return as_completed


def _begun(fs: Iterable[Any]) -> list[Any]:
    loop = asyncio.events.get_event_loop()
    return [asyncio.ensure_future(one, loop=loop) for one in dict.fromkeys(fs)]
