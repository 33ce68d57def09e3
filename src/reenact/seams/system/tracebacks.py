"""The seam in tracebacks: what the program prints or logs of an exception has no lines of ours in it.

So it is what it would be without us; and it is the same in replay, where an exception that came from below a boundary
brings the lines that it came through from the tape.
"""

from __future__ import annotations

import functools
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

from reenact.engine import frames
from reenact.engine.lane import MUTED, get_lane
from reenact.errors import DivergenceError
from reenact.seams.patch import Patches


def install(patches: Patches) -> None:
    """Meets how the module `traceback`, and so `logging` and asyncio, goes through frames."""
    for name in ("walk_tb", "_walk_tb_with_full_positions"):
        patches.function(traceback, name, _of_theirs(getattr(traceback, name)))
    patches.function(traceback, "walk_stack", _stack_of_theirs(traceback.walk_stack))


def meet_hooks(patches: Patches) -> None:
    """Meets what the interpreter does with exceptions that nobody catches. Those of a replay's own are not told."""
    patches.set(sys, "excepthook", _hook(sys.excepthook))
    patches.set(sys, "__excepthook__", sys.excepthook)
    patches.set(sys, "unraisablehook", _hook_of_args(sys.unraisablehook))
    patches.set(sys, "__unraisablehook__", sys.unraisablehook)
    patches.set(threading, "excepthook", _hook_of_args(threading.excepthook))
    patches.set(threading, "__excepthook__", threading.excepthook)


def _of_theirs(real: Callable[[TracebackType | None], Iterator[Any]]) -> Callable[[TracebackType | None], Any]:
    @functools.wraps(real)
    def walk(tb: TracebackType | None) -> Iterator[Any]:
        return real(tb if get_lane() is MUTED else frames.theirs(tb))

    return walk


def _stack_of_theirs(real: Callable[[FrameType | None], Iterator[Any]]) -> Callable[[FrameType | None], Any]:
    @functools.wraps(real)
    def walk_stack(f: FrameType | None) -> Iterator[Any]:
        return (found for found in real(f) if not frames.is_ours(found[0]))

    return walk_stack


def _hook(real: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(real)
    def excepthook(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None, /) -> None:
        if not isinstance(error, DivergenceError):
            _clean(error, set())
            real(kind, error, frames.theirs(trace))

    return excepthook


def _hook_of_args(real: Callable[[Any], Any]) -> Callable[[Any], None]:
    """The hooks that get one argument, a tuple with names: type, exception, traceback, and what the hook is about."""

    @functools.wraps(real)
    def excepthook(args: Any, /) -> None:
        kind, error, trace, *rest = args
        if not isinstance(error, DivergenceError):
            _clean(error, set())
            real(type(args)((kind, error, frames.theirs(trace), *rest)))

    return excepthook


def _clean(error: BaseException | None, seen: set[int]) -> None:
    """Takes our lines out of the tracebacks of an exception and of all that it came from."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = frames.theirs(error.__traceback__)
    _clean(error.__cause__, seen)
    _clean(error.__context__, seen)
    for member in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        _clean(member, seen)
