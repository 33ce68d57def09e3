"""What a recorded function was given, and what a tool gave back, as JSON that says its types; and back.

JSON values stand for themselves; anything else is an object with one member whose name begins with "$". An object is
kept as copy.copy makes one: its class by name, what `__new__` is given, and its state. Its `__init__` is not called.
"""

from __future__ import annotations

import base64
import copyreg
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import json
import pathlib
import sys
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import msgspec

from reenact.errors import ArgumentError
from reenact.tape.nature import is_random
from reenact.tape.redact import PLACEHOLDER, is_credential_name

Import = Callable[[str], ModuleType]

_ADVICE: Final = (
    "Give it data (JSON values, dataclasses, models, enums, dates and paths) and make the rest inside, "
    'or record the call as a block: with reenact.record("name"):'
)
_RESULT: Final = "result"
_OURS: Final = "reenact."  # locks and the like, in place of Python's
_JSON: Final = frozenset({type(None), bool, int, float, str})
_ITEMS: Final[Mapping[str, type[Any]]] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}
_BYTES: Final[Mapping[str, type[Any]]] = {"$bytes": bytes, "$bytearray": bytearray}
_TAGS: Final = {kind: tag for tag, kind in {**_ITEMS, **_BYTES}.items()}
# Made by a call with what stands on tape; no other class is called.
_CALLED: Final = frozenset(
    {datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, zoneinfo.ZoneInfo}
    | {decimal.Decimal, fractions.Fraction, range, Counter, OrderedDict, defaultdict, deque}
    | {pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path())}
)


class Arguments(msgspec.Struct, frozen=True):
    """What a function was called with."""

    args: list[Any]
    kwargs: dict[str, Any]


def encode(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments as JSON. Those that are credentials by their name are left out.

    Raises:
        ArgumentError: one of them, which it names, cannot be kept.
    """
    given = [_argument(name, value) for name, value in zip(_names(function, len(args)), args, strict=True)]
    named = {name: _argument(name, value) for name, value in kwargs.items()}
    try:
        return json.dumps({"args": given, "kwargs": named})
    except ValueError as error:  # a number with more digits than Python reads
        raise ArgumentError(f"its arguments are too large: {error}") from error


def encode_value(value: Any) -> str:
    """One value that a function gave back, as JSON.

    Raises:
        ArgumentError: it cannot be kept.
    """
    try:
        return json.dumps(_whole("", value, _RESULT))
    except ValueError as error:
        raise ArgumentError(f"its result is too large: {error}") from error


def decode_value(text: str, module: Import) -> Any:
    """The value again; see `decode`.

    Raises:
        ArgumentError: it cannot be made again from the program as it is now.
    """
    try:
        return _Made(module).of(json.loads(text))
    except Exception as error:
        raise ArgumentError(f"the recorded result cannot be made again: {error}") from error


def decode(text: str, module: Import) -> Arguments:
    """The arguments again; the classes and functions that they name are looked up in what `module` returns.

    Raises:
        ArgumentError: they cannot be made again from the program as it is now.
    """
    made = _Made(module)
    try:
        given = json.loads(text)
        return Arguments(
            [made.of(value) for value in given["args"]],
            {name: made.of(value) for name, value in given["kwargs"].items()},
        )
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(f"the recorded arguments cannot be made again: {error}") from error


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """What each of so many positional arguments is called."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)][:count]
    rest = next((one.name for one in parameters if one.kind is one.VAR_POSITIONAL), "args")
    return [*names, *(f"{rest}[{number}]" for number in range(count - len(names)))]


# To JSON


def _argument(name: str, value: Any) -> Any:
    return _whole(name, value, f"argument {name}")


def _whole(name: str, value: Any, place: str) -> Any:
    try:
        return _named(name, value, place)
    except ArgumentError:
        raise
    except RecursionError:
        raise _refused(place, "refers to itself, or is nested too deep") from None
    except Exception as error:
        raise _refused(place, f"cannot be read ({type(error).__name__}: {error})") from error


def _named(name: str, value: Any, place: str) -> Any:
    """A value that has a name. `place` is where it was found, for the error that says that it cannot be kept."""
    if isinstance(value, str | bytes) and value and is_credential_name(name) and not _is_known_by_name(value, place):
        return PLACEHOLDER if isinstance(value, str) else _kept(PLACEHOLDER.encode(), place)
    return _kept(value, place)


def _is_known_by_name(value: str | bytes, place: str) -> bool:
    """Whether a credential is found by its name when it is written: the program gets it, and may use it again."""
    return place.startswith(_RESULT) and isinstance(value, str) and is_random(value.encode("utf-8", "replace"))


def _kept(value: Any, place: str) -> Any:
    kind = type(value)
    if kind in _JSON:
        return value
    if kind is list:
        return value if _JSON.issuperset(map(type, value)) else _items(value, place)
    if kind is dict:
        return _dict(value, place)
    if kind in _ITEMS.values():
        return {_TAGS[kind]: _items(value, place)}
    if kind in _BYTES.values():
        return {_TAGS[kind]: base64.b64encode(value).decode()}
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return {"$name": _name_of(value, place)}
    if isinstance(value, enum.Enum):
        known = value.name in kind.__members__
        by = [value.name, None] if known else [None, _kept(value.value, place)]
        return {"$enum": [_name_of(kind, place), *by]}
    return _object(value, place)


def _items(values: Iterable[Any], place: str) -> list[Any]:
    return [_kept(item, f"{place}[{at}]") for at, item in enumerate(values)]


def _pairs(pairs: Iterable[tuple[Any, Any]], place: str) -> list[Any]:
    return [[_kept(key, place), _kept(item, f"{place}[{key!r}]")] for key, item in pairs]


def _dict(value: dict[Any, Any], place: str) -> Any:
    looks_tagged = len(value) == 1 and str(next(iter(value))).startswith("$")
    if looks_tagged or any(type(key) is not str for key in value):
        return {"$dict": _pairs(value.items(), place)}
    return {key: _named(key, item, f"{place}[{key!r}]") for key, item in value.items()}


def _name_of(value: Any, place: str) -> str:
    """`module:qualified.name` of a class or a function that is found by it."""
    module, path = value.__module__, value.__qualname__
    try:
        found = _found(sys.modules[module], path)
    except (KeyError, AttributeError):
        found = None
    if found is not value:
        raise _refused(place, f"needs {path}, which cannot be found again: it is not at the top of its module")
    return f"{module}:{path}"


def _found(module: ModuleType, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _object(value: Any, place: str) -> Any:
    kind = type(value)
    if hasattr(kind, "__struct_fields__"):
        return {"$struct": [_name_of(kind, place), _attributes(msgspec.structs.asdict(value), place)]}
    if kind is zoneinfo.ZoneInfo:
        return {"$object": [_name_of(kind, place), [value.key]]}
    try:
        how, new, state, items, pairs = [*value.__reduce_ex__(4), None, None, None][:5]
    except TypeError:  # what says that it cannot be copied: locks, files, sockets
        how, new, state, items, pairs = None, (), None, None, None
    copied = how is copyreg.__newobj__ and new[0] is kind  # type: ignore[attr-defined]
    if copied and kind is not object and not kind.__module__.startswith(_OURS):
        new = new[1:]
    elif how is not kind or kind not in _CALLED:
        untold = kind.__module__.startswith(("builtins", _OURS))
        name = kind.__qualname__ if untold else f"{kind.__module__}.{kind.__qualname__}"
        raise _refused(place, f"is a {name}, which cannot be kept")
    return {
        "$object": [
            _name_of(kind, place),
            _items(new, place),
            _state(value, state, place),
            _items(items or (), place),
            _pairs(pairs or (), place),
        ]
    }


def _state(value: Any, state: Any, place: str) -> list[Any]:
    """Attributes, and what stands in slots; or one value, for a class that sets its state by itself."""
    if hasattr(value, "__setstate__"):
        if isinstance(state, list) and dataclasses.is_dataclass(value):  # frozen, with slots: by position
            names = [field.name for field in dataclasses.fields(value)]
            return [{}, _attributes(dict(zip(names, state, strict=True)), place)]
        return [_attributes(state, place) if isinstance(state, dict) else _kept(state, place)]
    inside, slots = state if isinstance(state, tuple) else (state, None)
    return [_attributes(inside or {}, place), _attributes(slots or {}, place)]


def _attributes(state: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Attributes by name. Under a dunder name a model keeps several of them."""
    return {
        name: _attributes(value, place)
        if name.startswith("__") and isinstance(value, dict)
        else _named(name, value, f"{place}.{name}")
        for name, value in state.items()
    }


def _refused(place: str, why: str) -> ArgumentError:
    return ArgumentError(f"its {place} {why}. {_ADVICE}")


# From JSON


class _Made:
    """Makes values again from their JSON."""

    def __init__(self, module: Import) -> None:
        self._module = module

    def of(self, value: Any) -> Any:
        """One value."""
        match value:
            case list():
                return [self.of(item) for item in value]
            case dict() if len(value) == 1 and next(iter(value)).startswith("$"):
                return self._tagged(*next(iter(value.items())))
            case dict():
                return {key: self.of(item) for key, item in value.items()}
        return value

    def _tagged(self, tag: str, held: Any) -> Any:
        match tag, held:
            case "$dict", pairs:
                return {self.of(key): self.of(item) for key, item in pairs}
            case "$name", name:
                return self._named(name)
            case "$enum", [name, member, value]:
                kind = self._named(name, enum.EnumMeta)
                return kind[member] if member is not None else kind(self.of(value))
            case "$struct", [name, fields]:
                return self._named(name, type(msgspec.Struct))(**self.of(fields))
            case "$object", [name, *rest]:
                return self._object(self._named(name, type), *rest)
            case _ if tag in _BYTES:
                return _BYTES[tag](base64.b64decode(held))
        return _ITEMS[tag](self.of(held))

    def _named(self, name: str, kind: type = object) -> Any:
        module, _, path = name.partition(":")
        found = _found(self._module(module), path)
        if not isinstance(found, kind):
            raise TypeError(f"{name} is no {kind.__name__}")
        return found

    def _object(self, kind: Any, new: Any, state: Any = (), items: Any = (), pairs: Any = ()) -> Any:
        made = kind(*self.of(new)) if kind in _CALLED else kind.__new__(kind, *self.of(new))
        for item in items:
            made.append(self.of(item))
        for key, item in pairs:
            made[self.of(key)] = self.of(item)
        match state:
            case [whole]:
                made.__setstate__(self.of(whole))
            case [inside, slots]:
                if inside:
                    made.__dict__.update(self.of(inside))
                for name, value in slots.items():
                    object.__setattr__(made, name, self.of(value))
        return made
