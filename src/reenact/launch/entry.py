"""A recorded function or block: how it is named on tape, what it was given, and how it is found again."""

from __future__ import annotations

import importlib
import inspect
import runpy
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from reenact.engine.place import MAIN_AGAIN
from reenact.errors import UsageError
from reenact.launch.manifest import Manifest

_MAIN = "__main__"
_BLOCK = "block:"


class Arguments(msgspec.Struct, frozen=True):
    """What a function was called with."""

    args: list[Any]
    kwargs: dict[str, Any]


def name_of(function: Callable[..., Any]) -> str:
    """`module:qualified.name`."""
    module = _MAIN if function.__module__ == MAIN_AGAIN else function.__module__
    return f"{module}:{function.__qualname__}"


def block(name: str, occurrence: int) -> str:
    """The name of the n-th `with reenact.record(name)` of a process."""
    return f"{_BLOCK}{name}#{occurrence}"


def is_function(entry: str) -> bool:
    """Whether the entry is a function, which can be called again by itself."""
    return bool(entry) and not entry.startswith(_BLOCK)


def encode(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments as JSON.

    Raises:
        TypeError: one of them is neither JSON, a dataclass, an attrs or msgspec class, nor a pydantic model.
    """
    return msgspec.json.encode(Arguments(list(args), kwargs), enc_hook=_plain).decode()


def encode_result(value: Any) -> bytes:
    """The result as JSON; its type where it is not to be had as JSON."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode({"type": f"{type(value).__module__}.{type(value).__qualname__}"})


def find(manifest: Manifest) -> Callable[..., Any]:
    """The recorded function, imported from the recorded program.

    Raises:
        UsageError: it is not there any more.
    """
    module_name, _, path = manifest.entry.partition(":")
    for folder in reversed(manifest.import_path):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    try:
        if module_name == _MAIN and manifest.target and Path(manifest.target[0]).is_file():
            found: Any = runpy.run_path(manifest.target[0], run_name=MAIN_AGAIN)
            first, _, rest = path.partition(".")
            found = found[first]
        else:
            found, rest = importlib.import_module(module_name), path
        for part in rest.split(".") if rest else ():
            found = getattr(found, part)
    except (ImportError, AttributeError, KeyError) as error:
        raise UsageError(f"the recorded function {manifest.entry} is not to be found: {error}") from error
    if not callable(found):
        raise UsageError(f"{manifest.entry} is not a function any more")
    return typing.cast("Callable[..., Any]", found)


def decode(function: Callable[..., Any], arguments: str) -> Arguments:
    """The recorded arguments, in the types that the function's annotations name."""
    given = msgspec.json.decode(arguments, type=Arguments)
    plain = inspect.unwrap(function)
    try:
        hints = typing.get_type_hints(plain)
        names = list(inspect.signature(plain).parameters)
    except (NameError, TypeError, ValueError):
        return given
    args = [_typed(value, hints.get(name)) for name, value in zip(names, given.args, strict=False)]
    args += given.args[len(args) :]
    return Arguments(args, {name: _typed(value, hints.get(name)) for name, value in given.kwargs.items()})


def _typed(value: Any, hint: Any) -> Any:
    if hint is None or hint is Any:
        return value
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    try:
        return msgspec.convert(value, hint)
    except (msgspec.ValidationError, TypeError):
        return value


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} cannot be kept as JSON")
