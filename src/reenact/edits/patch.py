"""JSON Patch (RFC 6902) with pointers (RFC 6901). A part of the core, which is why no library does it."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from reenact.errors import EditError

_MISSING = object()


class Operation(msgspec.Struct, frozen=True, rename={"source": "from"}):
    """One operation of a patch. Members that it does not know are ignored, as the RFC says."""

    op: str
    path: str
    source: str = ""
    value: Any = msgspec.UNSET


_NEEDS_VALUE = ("add", "replace", "test")
_NEEDS_SOURCE = ("move", "copy")
_OPERATIONS = (*_NEEDS_VALUE, *_NEEDS_SOURCE, "remove")


def operations(text: str) -> list[Operation]:
    """A patch as it stands in a file. Raises EditError where it is none."""
    try:
        found = msgspec.convert(json.loads(text), list[Operation])
    except (ValueError, RecursionError) as problem:
        raise EditError(f"the patch is no JSON Patch (RFC 6902): {problem}") from None
    for number, one in enumerate(found, 1):
        if one.op not in _OPERATIONS:
            raise EditError(f"operation {number} of the patch: {one.op!r} is none of {', '.join(_OPERATIONS)}")
        if one.op in _NEEDS_VALUE and one.value is msgspec.UNSET:
            raise EditError(f"operation {number} of the patch: {one.op!r} needs a value")
    return found


def patched(document: Any, patch: Sequence[Operation]) -> Any:
    """The document with all operations done; the given one is not changed. Raises EditError where one cannot be."""
    for number, one in enumerate(patch, 1):
        try:
            document = _done(copy.deepcopy(document) if number == 1 else document, one)
        except RecursionError:
            raise EditError(f"operation {number} of the patch, {one.op} {one.path!r}: nested too deep") from None
        except _NoPlaceError as problem:
            raise EditError(f"operation {number} of the patch, {one.op} {one.path!r}: {problem}") from None
    return document


class _NoPlaceError(Exception):
    """Why an operation cannot be done."""


def _done(document: Any, one: Operation) -> Any:
    match one.op:
        case "test":
            if not _equal(_at(document, one.path), one.value):
                raise _NoPlaceError("what stands there is something else")
            return document
        case "remove":
            return _removed(document, one.path)
        case "replace":
            _at(document, one.path)
            return _put(document, one.path, copy.deepcopy(one.value), instead=True)
        case "copy":
            return _put(document, one.path, copy.deepcopy(_at(document, one.source)))
        case "move":
            if one.path.startswith(one.source + "/"):
                raise _NoPlaceError("it would move into itself")
            value = _at(document, one.source)
            return _put(_removed(document, one.source), one.path, value)
        case _:
            return _put(document, one.path, copy.deepcopy(one.value))


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise _NoPlaceError(f"{pointer!r} is no pointer: it has to begin with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _at(document: Any, pointer: str) -> Any:
    return _reached(document, _steps(pointer), pointer)


def _reached(value: Any, steps: Sequence[str], pointer: str) -> Any:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list):
            value = value[_index(value, step, len(value) - 1)]
        else:
            raise _NoPlaceError(f"there is no {step!r} in {pointer!r}")
    return value


def _index(items: list[Any], step: str, most: int) -> int:
    """A step of a pointer as an index. Raises _NoPlaceError."""
    if not (step.isascii() and step.isdigit()) or (step.startswith("0") and step != "0"):
        raise _NoPlaceError(f"{step!r} is no index of a list")
    if int(step[:9]) > most:
        raise _NoPlaceError(f"there is no {step}: the list has {len(items)}")
    return int(step)


def _removed(document: Any, pointer: str) -> Any:
    steps = _steps(pointer)
    if not steps:
        return None
    holder = _reached(document, steps[:-1], pointer)
    _reached(holder, steps[-1:], pointer)
    del holder[int(steps[-1]) if isinstance(holder, list) else steps[-1]]
    return document


def _put(document: Any, pointer: str, value: Any, *, instead: bool = False) -> Any:
    steps = _steps(pointer)
    if not steps:
        return value
    holder, last = _reached(document, steps[:-1], pointer), steps[-1]
    if isinstance(holder, dict):
        holder[last] = value
    elif not isinstance(holder, list):
        raise _NoPlaceError(f"what holds {last!r} is no list and no object")
    elif instead:
        holder[_index(holder, last, len(holder) - 1)] = value
    else:
        holder.insert(len(holder) if last == "-" else _index(holder, last, len(holder)), value)
    return document


def _equal(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, and true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
