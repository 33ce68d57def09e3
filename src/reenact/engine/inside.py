"""What is inside of a value, by pages, with nothing of the agent's own called: no method, no property, no `__len__`."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum, auto
from itertools import islice
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple

from reenact.engine.digest import CLASSES, Fields, attributes_of, base_of, mro_of, names_of, values_of
from reenact.engine.variables import is_of_module, variables_of

_MOST_DIMENSIONS = 8
module_names_of = vars(ModuleType)["__dict__"].__get__
CODE = (ModuleType, type, FunctionType, BuiltinFunctionType)
"""What a program is, and not what it knows."""
_Pair = tuple[Any, Any]
_KEPT: dict[int, tuple[type, Fields]] = {}  # by id, with the class, so that its id stays its own


class Sort(Enum):
    """What a part is had by: its name, its number, its key, or not at all (of a set)."""

    ATTRIBUTES = auto()
    ITEMS = auto()
    KEYS = auto()
    MEMBERS = auto()


class Section(NamedTuple):
    """Parts of one sort: how many, and `page(start, count)` of them, each with its name, number or key."""

    sort: Sort
    size: int
    page: Callable[[int, int], Iterator[_Pair]]


NOTHING = Section(Sort.ATTRIBUTES, 0, lambda _start, _most: iter(()))


def sections(value: Any) -> list[Section]:
    """What the value holds; empty for one that holds nothing, or nothing that can be had without asking it."""
    kind = type(value)
    special = _SPECIAL.get(kind)
    if special is not None:
        return [_attributes(list(special(value)))]
    if issubclass(kind, type):
        return [_attributes(_public(names_of(value).items()))]
    if issubclass(kind, ModuleType):
        return [_attributes(_public(module_names_of(value).items()))]
    attributes = [*_raised(value, kind), *_awaited(value, kind), *_own(value, kind)]
    found = [_attributes(attributes)] if attributes else []
    contents = _contents(value, kind)
    return [*found, contents] if contents is not None else found


def array_of(value: Any) -> memoryview | None:
    """Numbers that C code holds as an array: those of numpy, `array`, a memory view."""
    if not _is_array(type(value)):
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):  # of objects, say
        return None
    plain = len(view.format) == 1 and view.format in "bBhHiIlLqQnNfd?c" and view.c_contiguous
    return view if plain and 0 < view.ndim <= _MOST_DIMENSIONS else None


def _contents(value: Any, kind: type) -> Section | None:
    if issubclass(kind, dict):
        return _section(Sort.KEYS, dict.__len__(value), lambda: iter(dict.items(value)))
    if issubclass(kind, tuple) and (named := _fields_of_tuple(kind)) and len(named) == tuple.__len__(value):
        return _attributes(list(zip(named, tuple.__iter__(value), strict=True)))
    if issubclass(kind, list | tuple | deque):
        base = base_of(kind, list, tuple, deque)
        return _section(Sort.ITEMS, base.__len__(value), lambda: enumerate(base.__iter__(value)))
    if issubclass(kind, set | frozenset):
        base = base_of(kind, set, frozenset)
        return _section(Sort.MEMBERS, base.__len__(value), lambda: enumerate(base.__iter__(value)))
    view = array_of(value)
    return _section(Sort.ITEMS, _size(view), lambda: _numbers(view)) if view is not None else None


def _section(sort: Sort, count: int, pairs: Callable[[], Iterator[_Pair]]) -> Section:
    return Section(sort, count, lambda start, most: islice(pairs(), start, start + most))


def _attributes(pairs: list[_Pair]) -> Section:
    return _section(Sort.ATTRIBUTES, len(pairs), lambda: iter(pairs))


def _public(pairs: Any) -> list[_Pair]:
    return [(name, value) for name, value in list(pairs) if type(name) is str and not is_dunder(name)]


def is_dunder(name: str) -> bool:
    """Whether a name is the interpreter's own, or a library's for itself: `__name__`."""
    return name.startswith("__") and name.endswith("__")


def _own(value: Any, kind: type) -> Iterator[_Pair]:
    """The attributes that are kept with an object, and are not computed."""
    found = list(values_of(value, _kept_by(kind)))
    yield from ((name, held) for name, held in found if not is_dunder(name))
    for name, held in found:
        if name in ("__pydantic_extra__", "__pydantic_private__") and type(held) is dict:
            yield from _public(held.items())


def _kept_by(kind: type) -> Fields:
    """The attributes of a class, and the members of structs of C: an OSError's number, a slice's start."""
    known = _KEPT.get(id(kind))
    if known is None:
        if len(_KEPT) >= CLASSES:
            _KEPT.clear()
        known = _KEPT[id(kind)] = kind, (*attributes_of(kind), *_members_of(kind))
    return known[1]


def _members_of(kind: type) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    for one in mro_of(kind):
        for name, member in names_of(one).items() if not is_python(one) else ():
            if type(member) is MemberDescriptorType and not is_dunder(name):
                yield name, member.__get__


def is_python(kind: type) -> bool:
    """Whether the class was made by a class statement, or as if by one."""
    return bool(type.__dict__["__flags__"].__get__(kind) & 1 << 9)


def _is_array(kind: type) -> bool:
    for name, array in (("numpy", "ndarray"), ("array", "array")):
        module = sys.modules.get(name)
        if module is not None and getattr(module, array, None) is kind:
            return True
    return kind is memoryview


def _raised(value: Any, kind: type) -> Iterator[_Pair]:
    if not issubclass(kind, BaseException):
        return
    for name in ("args", "__cause__", "__context__", "__traceback__"):
        held = BaseException.__dict__[name].__get__(value)
        if held is not None:
            yield name, held
    notes = BaseException.__dict__["__dict__"].__get__(value).get("__notes__")
    if notes:
        yield "__notes__", notes


def _awaited(value: Any, kind: type) -> Iterator[_Pair]:
    """What C code holds of a task or a future; to ask them for it would count as having seen a failure."""
    module = sys.modules.get("_asyncio")
    if module is None or not issubclass(kind, module.Future):
        return
    base = module.Task if issubclass(kind, module.Task) else module.Future
    for name in ("_coro", "_state", "_fut_waiter", "_result", "_exception"):
        held = names_of(base)[name].__get__(value) if name in names_of(base) else None
        if held is not None:
            yield name, held


def _fields_of_tuple(kind: type) -> tuple[str, ...] | None:
    """The names of a named tuple."""
    for one in mro_of(kind):
        found = names_of(one).get("_fields")
        if type(found) is tuple and all(type(name) is str for name in found):
            return found
    return None


def _size(view: memoryview) -> int:
    return view.nbytes // view.itemsize


def _numbers(view: memoryview) -> Iterator[_Pair]:
    """Each with its number, or its numbers where there are dimensions."""
    raw: Any = view.cast("B") if view.nbytes else None
    flat = raw.cast(view.format) if view.nbytes else ()
    for at, number in enumerate(flat):
        if view.ndim == 1:
            yield at, number
        else:
            place = []
            for length in reversed(view.shape or ()):
                at, rest = divmod(at, length)  # noqa: PLW2901  what is left of it
                place.append(rest)
            yield tuple(reversed(place)), number


def _of_function(value: FunctionType) -> Iterator[_Pair]:
    code = FunctionType.__dict__["__code__"].__get__(value)
    cells = FunctionType.__dict__["__closure__"].__get__(value) or ()
    for name, cell in zip(code.co_freevars, cells, strict=False):
        yield from ((name, held) for _, held in _of_cell(cell))
    for name in ("__defaults__", "__kwdefaults__", "__dict__"):
        held = FunctionType.__dict__[name].__get__(value)
        if held:
            yield name, held


def _of_cell(value: CellType) -> Iterator[_Pair]:
    try:
        yield "cell_contents", value.cell_contents
    except ValueError:
        return


def frame_of(value: Any) -> FrameType | None:
    """Where a coroutine or a generator goes on; None when it has ended, and for everything else."""
    prefix = SUSPENDED.get(type(value))
    found: FrameType | None = getattr(value, f"{prefix}_frame") if prefix is not None else None
    return found


def named_in(frame: FrameType, *, code: bool = False) -> Iterator[_Pair]:
    """The variables of a frame; those of a module without what the program is and does not know, unless asked for."""
    of_module = is_of_module(frame)
    return data_in(variables_of(frame), code=code or not of_module)


def data_in(names: dict[str, Any], *, code: bool = False) -> Iterator[_Pair]:
    """Variables by their names, without the interpreter's own; functions, classes and modules if asked for."""
    for name, value in list(names.items()):
        if type(name) is str and not is_dunder(name) and (code or not issubclass(type(value), CODE)):
            yield name, value


def _of_suspended(value: Any) -> Iterator[_Pair]:
    frame = frame_of(value)
    return named_in(frame) if frame is not None else iter(())


def _of_traceback(value: TracebackType) -> Iterator[_Pair]:
    trace: TracebackType | None = value
    while trace is not None:
        yield f"line {trace.tb_lineno}", trace.tb_frame
        trace = trace.tb_next


def _of_weak(value: Any) -> Iterator[_Pair]:
    held = value()
    if held is not None:
        yield "()", held


def _of_view(value: Any) -> Iterator[_Pair]:
    """A view of a dictionary: `d.items()`."""
    for held in gc.get_referents(value):
        if issubclass(type(held), dict):
            yield "mapping", held


SUSPENDED: dict[type, str] = {CoroutineType: "cr", GeneratorType: "gi", AsyncGeneratorType: "ag"}
"""What stops and goes on, and how its attributes begin."""
_SPECIAL: dict[type, Callable[[Any], Iterator[_Pair]]] = {
    FunctionType: _of_function,
    MethodType: lambda value: iter((("__self__", value.__self__), ("__func__", value.__func__))),
    CellType: _of_cell,
    FrameType: named_in,
    TracebackType: _of_traceback,
    MappingProxyType: _of_view,
    type({}.keys()): _of_view,
    type({}.values()): _of_view,
    type({}.items()): _of_view,
    weakref.ref: _of_weak,
    **dict.fromkeys(SUSPENDED, _of_suspended),
}
