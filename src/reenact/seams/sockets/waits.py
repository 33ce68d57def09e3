"""The seam in waiting for several descriptors: which were ready is on tape, if one is a conversation's."""

from __future__ import annotations

import json
import select
import selectors
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from reenact.engine.crossing import Crossing
from reenact.engine.lane import MUTED, Lane, current, get_lane
from reenact.seams.patch import Patches
from reenact.seams.sockets.blocking import under_way
from reenact.seams.sockets.conversation import ask

_Real = Callable[..., Any]
_Ready = list[tuple[int, int]]

BENEATH: Final = "_reenact_beneath"
"""The attribute under which a selector's method has what it was: that is what the gates of an event loop wait by."""

_registered: Final[dict[int, set[int]]] = {}
"""The descriptors of each object of `select.poll`, by its address: such an object tells nobody."""


def install(patches: Patches) -> None:
    """Meets `select`, `poll` and the selectors made of them. Those of event loops have gates."""
    patches.function(select, "select", _select(select.select))
    for name in ("SelectSelector", "PollSelector", "EpollSelector", "KqueueSelector", "DevpollSelector"):
        kind = getattr(selectors, name, None)
        if kind is not None:
            patches.set(kind, "select", _selector(kind.select))
    if hasattr(select, "poll"):
        kind = type(select.poll())
        patches.method_of_builtin(kind, "register", _register(vars(kind)["register"]))
        patches.method_of_builtin(kind, "poll", _poll(vars(kind)["poll"]))


def _wait(lane: Lane, talks: dict[int, Crossing], perform: Callable[[], _Ready]) -> _Ready:
    """Which descriptors are ready, and for what. On tape a conversation stands by its event, others by `-1 - number`.

    `talks` are those that are waited for, by descriptor.
    """
    names = {number: talk.event for number, talk in talks.items()}
    numbers = {event: number for number, event in names.items()}
    told = ask(
        lane,
        "wait for connections",
        lambda: json.dumps([(names.get(number, -1 - number), what) for number, what in perform()]).encode(),
        over=next(iter(talks.values())) if len(talks) == 1 else None,
    )
    return [(numbers.get(name, -1 - name), what) for name, what in json.loads(told)]


def _asked(descriptors: Collection[int]) -> tuple[Lane | None, dict[int, Crossing]]:
    """The lane, if one of these is a conversation of its run, and those that are."""
    lane = current()
    if lane is None:
        return None, {}
    talks = {number: talk.crossing for number, talk in under_way().items() if number in descriptors}
    return (lane if talks else None), talks


def _number(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())


def _select(real: _Real) -> _Real:
    def select(rlist: Iterable[Any], wlist: Iterable[Any], xlist: Iterable[Any], *timeout: Any) -> Any:
        if current() is None:
            return real(rlist, wlist, xlist, *timeout)
        files = list(rlist), list(wlist), list(xlist)
        lane, talks = _asked([_number(file) for each in files for file in each])
        if lane is None:
            return real(*files, *timeout)

        def perform() -> _Ready:
            found = real(*files, *timeout)
            return [(_number(file), at) for at, ready in enumerate(found) for file in ready]

        ready = set(_wait(lane, talks, perform))
        return tuple([file for file in each if (_number(file), at) in ready] for at, each in enumerate(files))

    return select


def _selector(real: _Real) -> _Real:
    def select(self: Any, timeout: float | None = None) -> Any:
        keys = self.get_map() if current() is not None and "select" not in vars(self) else None
        if not keys:
            return real(self, timeout)
        by_number = {key.fd: key for key in keys.values()}
        lane, talks = _asked(by_number.keys())
        if lane is None:
            return real(self, timeout)
        ready = _wait(lane, talks, lambda: [(key.fd, events) for key, events in real(self, timeout)])
        return [(by_number[number], events) for number, events in ready if number in by_number]

    setattr(select, BENEATH, real)
    return select


def _register(real: _Real) -> _Real:
    def register(self: Any, fd: Any, *mask: Any) -> None:
        real(self, fd, *mask)
        if get_lane() is not MUTED:
            _registered.setdefault(id(self), set()).add(_number(fd))

    return register


def _poll(real: _Real) -> _Real:
    def poll(self: Any, *timeout: Any) -> Any:
        if get_lane() is MUTED:
            return real(self, *timeout)
        lane, talks = _asked(_registered.get(id(self), ()))
        if lane is None:
            return real(self, *timeout)
        return _wait(lane, talks, lambda: real(self, *timeout))

    return poll
