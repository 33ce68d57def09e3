"""Exceptions as data, and back: the same type with the same arguments, from classes that a seam allows."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import FrameType, ModuleType

from reenact import _real
from reenact.engine import frames
from reenact.tape.event import Failed

_PLAIN = (str, int, float, bool, type(None))
_DEPTH = 4

Plain = str | int | float | bool | None


class RecordedError(Exception):
    """Stands for a recorded exception whose class is not to be had here."""


def encode(error: BaseException) -> Failed:
    """An exception as data. What is not plain in its arguments is kept as text.

    What the calling code was already about to handle is left out of the chain: that is the agent's own doing.
    """
    return _encode(error, _DEPTH, _stack(_real.getframe(1)))


def _encode(error: BaseException, depth: int, stack: set[FrameType]) -> Failed:
    kind = type(error)
    attributes = {
        name: _kept(value)
        for name, value in {**vars(error), **_os_fields(error)}.items()
        if isinstance(value, _PLAIN) and not name.startswith("__")
    }
    cause = error.__cause__ or (None if error.__suppress_context__ else _context(error, stack))
    args = (error.message, *error.exceptions) if isinstance(error, BaseExceptionGroup) else error.args
    deeper = enumerate(args) if depth > 0 else ()
    return Failed(
        kind.__module__,
        kind.__qualname__,
        [_kept(value) for value in args],
        attributes,
        _encode(cause, depth - 1, stack) if cause is not None and depth > 0 else None,
        error.__cause__ is not None or error.__suppress_context__,
        {at: _encode(value, depth - 1, stack) for at, value in deeper if isinstance(value, BaseException)},
        frames.of(error.__traceback__),
    )


def _stack(frame: FrameType | None) -> set[FrameType]:
    """The frames of ours that handle an error, and all that have called them."""
    found = set()
    while frame is not None:
        found.add(frame)
        frame = frame.f_back
    return found


def _context(error: BaseException, stack: set[FrameType]) -> BaseException | None:
    """What was being handled when the error was raised, if that was below the calling code."""
    context = error.__context__
    if context is None or (context.__traceback__ is not None and context.__traceback__.tb_frame in stack):
        return None
    return context


def decode(
    failed: Failed, modules: Iterable[ModuleType], dress: Callable[[BaseException], None] | None = None
) -> BaseException:
    """The exception that `failed` describes. Classes come from `modules` and builtins only; nothing is imported.

    `dress` may set attributes that are live objects (the request, the pool).
    """
    error = _decode(failed, tuple(modules), dress)
    error.__traceback__ = frames.made(failed.frames)
    return error


def _decode(
    failed: Failed, modules: tuple[ModuleType, ...], dress: Callable[[BaseException], None] | None = None
) -> BaseException:
    args: list[object] = list(failed.args)
    for at, inner in failed.nested.items():
        if 0 <= at < len(args):
            args[at] = decode(inner, modules)
    error = _group(failed, args) or _instance(_find(failed, modules), failed, args)
    for name, value in failed.attributes.items():
        try:
            setattr(error, name, value)
        except (AttributeError, TypeError, ValueError, OverflowError):
            continue
    if dress is not None:
        dress(error)
    if failed.cause is not None:
        cause = decode(failed.cause, modules)
        if failed.suppressed:
            error.__cause__ = cause
        else:
            error.__context__ = cause
    elif not failed.suppressed:
        error.__context__ = sys.exception()  # what the agent is about to handle now, as it did then
    error.__suppress_context__ = failed.suppressed
    return error


def _kept(value: object) -> Plain:
    """A value as it can stand on tape: text for what is not plain or too large, and no lone surrogates in text."""
    if not isinstance(value, _PLAIN) or (isinstance(value, int) and not -(2**63) <= value < 2**64):
        value = str(value)
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _os_fields(error: BaseException) -> dict[str, Plain]:
    """What an `OSError` holds in C, and prints."""
    if not isinstance(error, OSError):
        return {}
    held = {name: getattr(error, name) for name in ("errno", "strerror", "filename", "filename2")}
    return {name: _kept(value) for name, value in held.items() if value is not None}


def _group(failed: Failed, args: list[object]) -> BaseException | None:
    """An exception group, which is made of a message and a list."""
    if failed.module == "builtins" and failed.name in ("ExceptionGroup", "BaseExceptionGroup") and args:
        members = [rest if isinstance(rest, BaseException) else RecordedError(str(rest)) for rest in args[1:]]
        return BaseExceptionGroup(str(args[0]), members or [RecordedError("")])
    return None


def _find(failed: Failed, modules: Iterable[ModuleType]) -> type[BaseException]:
    for module in (*modules, builtins):
        found = getattr(module, failed.name, None)
        same_home = getattr(found, "__module__", "").split(".")[0] == failed.module.split(".")[0]
        if isinstance(found, type) and issubclass(found, BaseException) and same_home:
            return found
    return RecordedError


def _instance(kind: type[BaseException], failed: Failed, args: list[object]) -> BaseException:
    if kind is RecordedError:
        return _stand_in(failed.module, failed.name)(*args)
    try:
        # Not through __init__: many of these want a request or a pool that the arguments do not hold.
        error = kind.__new__(kind, *args) if issubclass(kind, OSError) else kind.__new__(kind)
        error.args = tuple(args)
    except (TypeError, ValueError):
        return _stand_in(failed.module, failed.name)(*args)
    return error


@lru_cache(maxsize=128)
def _stand_in(module: str, name: str) -> type[RecordedError]:
    """A class that is told by that name, and is nothing else."""
    return type("RecordedError", (RecordedError,), {"__module__": module, "__qualname__": name})
