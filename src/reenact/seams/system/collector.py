"""The seam in the garbage collector, which comes when so many objects have been made: never twice at the same place.

A run that is the whole process collects where it crosses a boundary, and the tape says where. The interpreter's own
collections are put off to a backstop. Those, and collections that C code asks for, run the finalizers in no lane.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Literal

from reenact import _real
from reenact.engine.lane import MUTED, Lane, enter, get_lane
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.tape.event import Collected
from reenact.tape.recording import Recording

BACKSTOP = 100_000
"""How many more objects than at the last collection there may be before the interpreter collects by itself."""

_Phase = Literal["start", "stop"]
_Callback = Callable[[_Phase, dict[str, int]], object]

_collect, _get_count, _isenabled = gc.collect, gc.get_count, gc.isenabled
_get_threshold, _set_threshold = gc.get_threshold, gc.set_threshold
_freeze, _unfreeze, _get_freeze_count = gc.freeze, gc.unfreeze, gc.get_freeze_count


def start(session: Session, patches: Patches) -> Collector:
    """Takes the collector over for a run that is the whole process."""
    collector = Collector(session)
    collector.freeze()
    collector.install(patches)
    collector.take()
    return collector


class _Speck:
    """An object that the collector counts. `__init__` is in Python: when it is called, what is due is collected."""

    __slots__ = ("_what",)

    def __init__(self) -> None:
        self._what = None


class Collector:
    """The collector of this process: who it runs for, and what the program believes of it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._threshold = _get_threshold()
        self._callbacks = gc.callbacks
        self._released = False
        self._scheduled: dict[int, Lane] = {}
        self._asking: set[int] = set()
        self._muting = False
        self._muted: Lane | None = None
        self._held: Context | None = None
        self._froze = False  # the program has done so, too
        self._frozen = 0  # of what is frozen, as many objects as are not by the program

    def freeze(self) -> None:
        """What is loaded by now is not the program's, and never looked through for garbage again, which takes long.

        All but what the program's own functions will hang on, or nothing of it would ever be garbage.
        """
        _freeze()
        main = sys.modules["__main__"]
        for each in (main, vars(main)):
            if gc.is_tracked(each):
                ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(each))
                ctypes.pythonapi.PyObject_GC_Track(ctypes.py_object(each))

    def install(self, patches: Patches) -> None:
        """The program goes on to see thresholds and callbacks as it has set them."""
        theirs = self._callbacks[:]
        patches.function(gc, "collect", self._asked())
        patches.function(gc, "get_threshold", self._threshold_seen())
        patches.function(gc, "set_threshold", self._threshold_kept())
        patches.function(gc, "freeze", self._frozen_by_it())
        patches.function(gc, "get_freeze_count", self._count_seen())
        patches.function(gc, "unfreeze", self._unfrozen())
        patches.set(gc, "callbacks", theirs)
        patches.on_undo(lambda: self._give_back(theirs))
        os.register_at_fork(after_in_child=self._release)
        self._callbacks[:] = [self._told(theirs)]

    def take(self) -> None:
        """A run begins, in this process or in a fork of it."""
        self._released = False
        _collect(0)  # it begins with no objects made, however it was begun
        self._put_off()
        tape = self._session.plan.prefix
        self._session.collect = self.collect_when_due if tape is None else self.collect_as_on(tape)
        self._session.at_live.append(self._go_live)

    def _go_live(self) -> None:
        self._session.collect = self.collect_when_due

    # The places of a run

    def collect_when_due(self, lane: Lane) -> None:
        """The lane crosses a boundary (recording): what would have been collected by now is collected here."""
        if _get_count()[0] <= self._threshold[0] or self._scheduled or not _isenabled():
            return
        if self._session.order.has(self._session.strand()):
            self._schedule(lane, self._collect_what_is_due)

    def collect_as_on(self, tape: Recording) -> Callable[[Lane], None]:
        """What collects where the tape says so, when a lane crosses a boundary (replay)."""
        collected = {(path, event): which for path, log in tape.lanes.items() for event, which in log.collected.items()}

        def collect(lane: Lane) -> None:
            generation = collected.get((lane.path, lane.events))
            # a finalizer that crosses a boundary itself comes here again, at the same place
            if generation is not None and not self._scheduled:
                self._schedule(lane, lambda: _collect(generation))

        return collect

    def _schedule(self, lane: Lane, collect: Callable[[], object]) -> None:
        thread = _real.get_ident()
        self._scheduled[thread] = lane
        try:
            collect()
        finally:
            del self._scheduled[thread]

    def _collect_what_is_due(self) -> None:
        """The interpreter collects, because it alone knows which generation is due."""
        _set_threshold(*self._threshold)
        try:
            _Speck()
        finally:
            self._put_off()

    # What the interpreter tells

    def _told(self, theirs: list[_Callback]) -> _Callback:
        """The one callback in the interpreter's list; it has `theirs`, as they are now, follow it, and a last one."""

        def first(phase: _Phase, info: dict[str, int]) -> None:
            self._callbacks[1:] = [*theirs, last]
            if phase == "start":
                self._begins(info["generation"])

        def last(phase: _Phase, _info: dict[str, int]) -> None:
            if phase == "stop" and self._muting:
                self._unmute()

        return first

    def _begins(self, generation: int) -> None:
        thread = _real.get_ident()
        lane = self._scheduled.get(thread)
        if lane is not None:
            self._put_off()  # or what the finalizers make would be collected when they are done
            self._session.keep(Collected(lane.index, generation))
        elif thread not in self._asking:
            self._mute()

    def _mute(self) -> None:
        if sys.version_info < (3, 12):
            # collections come in the middle of C code there, of `ContextVar.set` too: it relies on the context's values
            # to live on, also when a finalizer sets others
            self._held = copy_context()
        self._muted, self._muting = get_lane(), True
        enter(MUTED)

    def _unmute(self) -> None:
        enter(self._muted)
        self._muted, self._muting = None, False

    # What the program sees

    def _put_off(self) -> None:
        """The interpreter goes by the backstop, unless the program has no collections at all."""
        first = self._threshold[0]
        if not self._released:
            _set_threshold(max(first, BACKSTOP) if first else 0)

    def _release(self) -> None:
        """The interpreter goes by the program's thresholds again."""
        self._released = True
        _set_threshold(*self._threshold)

    def _give_back(self, theirs: list[_Callback]) -> None:
        self._release()
        self._callbacks[:] = theirs

    def _asked(self) -> Callable[..., int]:
        @functools.wraps(_collect)
        def collect(*args: Any, **kwargs: Any) -> int:
            thread = _real.get_ident()
            self._asking.add(thread)
            try:
                return _collect(*args, **kwargs)
            finally:
                self._asking.discard(thread)

        return collect

    def _threshold_seen(self) -> Callable[[], tuple[int, int, int]]:
        @functools.wraps(_get_threshold)
        def get_threshold() -> tuple[int, int, int]:
            return self._threshold

        return get_threshold

    def _frozen_by_it(self) -> Callable[[], None]:
        @functools.wraps(_freeze)
        def freeze() -> None:
            if not self._froze:
                self._froze, self._frozen = True, _get_freeze_count()
            _freeze()

        return freeze

    def _count_seen(self) -> Callable[[], int]:
        @functools.wraps(_get_freeze_count)
        def get_freeze_count() -> int:
            return max(_get_freeze_count() - self._frozen, 0) if self._froze else 0

        return get_freeze_count

    def _unfrozen(self) -> Callable[[], None]:
        @functools.wraps(_unfreeze)
        def unfreeze() -> None:
            _unfreeze()
            self._froze, self._frozen = True, 0

        return unfreeze

    def _threshold_kept(self) -> Callable[..., None]:
        @functools.wraps(_set_threshold)
        def set_threshold(*args: int) -> None:
            _set_threshold(*args)
            self._threshold = _get_threshold()
            self._put_off()

        return set_threshold
