"""Exceptions as data, and back: the same type with the same arguments, from classes that a seam allows."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from types import ModuleType

from reenact.tape.event import Failed

_PLAIN = (str, int, float, bool, type(None))
_DEPTH = 4

Plain = str | int | float | bool | None


class RecordedError(Exception):
    """Stands for a recorded exception whose class is not to be had here."""


def encode(error: BaseException, depth: int = _DEPTH) -> Failed:
    """An exception as data. What is not plain in its arguments is kept as text."""
    kind = type(error)
    attributes = {
        name: _kept(value)
        for name, value in {**vars(error), **_os_fields(error)}.items()
        if isinstance(value, _PLAIN) and not name.startswith("__")
    }
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    deeper = enumerate(error.args) if depth > 0 else ()
    return Failed(
        kind.__module__,
        kind.__qualname__,
        [_kept(value) for value in error.args],
        attributes,
        encode(cause, depth - 1) if cause is not None and depth > 0 else None,
        error.__cause__ is not None or error.__suppress_context__,
        {at: encode(value, depth - 1) for at, value in deeper if isinstance(value, BaseException)},
    )


def decode(
    failed: Failed, modules: Iterable[ModuleType], dress: Callable[[BaseException], None] | None = None
) -> BaseException:
    """The exception that `failed` describes. Classes come from `modules` and builtins only; nothing is imported.

    `dress` may set attributes that are live objects (the request, the pool).
    """
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
    """An exception group, which is made of a message and a list that only its text is left of."""
    if failed.module == "builtins" and failed.name in ("ExceptionGroup", "BaseExceptionGroup") and args:
        return ExceptionGroup(str(args[0]), [RecordedError(str(rest)) for rest in args[1:]] or [RecordedError("")])
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
        return RecordedError(f"{failed.module}.{failed.name}", *args)
    try:
        # Not through __init__: many of these want a request or a pool that the arguments do not hold.
        error = kind.__new__(kind, *args) if issubclass(kind, OSError) else kind.__new__(kind)
        error.args = tuple(args)
    except (TypeError, ValueError):
        return RecordedError(f"{failed.module}.{failed.name}", *args)
    return error
