"""What a value looks like, in a line: with nothing of the agent's own called."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple

from reenact import _real
from reenact.engine.digest import MOMENTS, base_of, data_of, fields_of, module_of, mro_of, qualname_of
from reenact.engine.inside import NOTHING, SUSPENDED, Section, Sort, array_of, frame_of, module_names_of, sections
from reenact.engine.place import name_of
from reenact.tape.redact import REDACTED, is_secret_variable

_BYTES = 256  # of what C code holds: more is not shown
_DIGITS = 512  # bits of a number
_ATOMS = (bool, int, float, complex, type(None), type(...), type(NotImplemented), range)
_STANDS_FOR = {"reenact.seams.concurrency.blocking": "threading"}
_NUMBERS = (int, float, complex)
_TEXTS = (str, bytes, bytearray)


class Bounds(NamedTuple):
    """How much of a value stands in the line. What is called like a secret does not, when it `hides`."""

    letters: int = 160
    items: int = 6
    depth: int = 2
    hides: bool = True


IN_REPORTS = Bounds()


def glimpse(value: Any, bounds: Bounds = IN_REPORTS, depth: int = 0) -> str:
    """The value, cut where it is long."""
    kind = type(value)
    if kind in _ATOMS:
        return _cut(_number(value) if kind is int else repr(value), bounds)
    if issubclass(kind, _TEXTS):
        return _text(value, kind, bounds)
    if issubclass(kind, Enum):
        return _cut(_member(value, kind), bounds)
    if issubclass(kind, _NUMBERS):
        base = base_of(kind, *_NUMBERS)
        told = _number(value) if base is int else base.__repr__(value)
        return _cut(f"{short_name(kind)}({told})", bounds)
    if is_data(kind):
        return _cut(_container(value, kind, bounds, depth), bounds)
    if kind in MOMENTS and value.tzinfo is not None:  # which may be the agent's own
        return f"{glimpse(value.replace(tzinfo=None), bounds)} in {short_name(type(value.tzinfo))}"
    return _cut(_thing(value, kind, bounds), bounds)


def is_data(kind: type) -> bool:
    """Whether such a value is known by what it holds, and not a thing of some library's."""
    return issubclass(kind, (*_CONTAINERS, BaseException)) or bool(fields_of(kind))


def short_name(kind: type) -> str:
    """A class as its own module calls it."""
    return str(qualname_of(kind)).rpartition("<locals>.")[2]


def full_name(kind: type) -> str:
    """A class with its module, where that says something; what stands in the place of another has the other's name."""
    module = module_of(kind)
    module = _STANDS_FOR.get(module, module) if type(module) is str else module
    told = type(module) is str and module not in ("builtins", "__main__")
    return f"{module}.{short_name(kind)}" if told else short_name(kind)


def _thing(value: Any, kind: type, bounds: Bounds) -> str:
    told = _what_it_is(value, kind)
    if told:
        return told
    array = array_of(value)
    if array is not None:
        shape = "×".join(map(str, array.shape or ()))
        return f"{short_name(kind)} of {shape}: {_inside(sections(value)[-1], bounds, bounds.depth)}"
    data = data_of(value, kind)
    # what gives bytes is written in C, or is a date, a path, a decimal: its own text calls nothing of the agent's
    return repr(value) if data is not None and sum(map(len, data)) <= _BYTES else f"<{full_name(kind)}>"


def _what_it_is(value: Any, kind: type) -> str:
    """Code, and what is made of it while it runs."""
    if issubclass(kind, type):
        return f"class {full_name(value)}"
    if issubclass(kind, ModuleType):
        return f"module {glimpse(module_names_of(value).get('__name__'))[1:-1]}"
    if kind in SUSPENDED:
        frame, name = frame_of(value), getattr(value, f"{SUSPENDED[kind]}_code").co_qualname
        where = f"at line {frame.f_lineno}" if frame is not None else "ended"
        return f"{short_name(kind).replace('_', ' ')} {name}, {where}"
    return _CODE[kind](value) if kind in _CODE else ""


def _reference(value: Any) -> str:
    held = value()
    return "reference to what is gone" if held is None else f"reference to a {full_name(type(held))}"


_CODE: dict[type, Callable[[Any], str]] = {
    FunctionType: lambda value: f"function {value.__qualname__}",
    MethodType: lambda value: f"method of {glimpse(value.__func__)}",
    BuiltinFunctionType: lambda value: f"built-in function {value.__name__}",
    CodeType: lambda value: f"code of {value.co_qualname}",
    FrameType: lambda value: f"{name_of(value)}, line {value.f_lineno}",
    TracebackType: lambda value: f"traceback from {name_of(value.tb_frame)}, line {value.tb_lineno}",
    CellType: lambda _: "cell",
    weakref.ref: _reference,
    type(_real.allocate_lock()): lambda value: "lock, taken" if value.locked() else "lock, free",
}


def _number(value: int) -> str:
    bits = int.bit_length(value)
    return int.__repr__(value) if bits < _DIGITS else f"a number of {bits:,} bits"


def _text(value: Any, kind: type, bounds: Bounds) -> str:
    base = base_of(kind, *_TEXTS)
    told = base.__repr__(base.__getitem__(value, slice(2 * bounds.letters)))
    if base is not bytearray and kind is not base:
        told = f"{short_name(kind)}({told})"
    return _cut(told, bounds)


def _member(value: Any, kind: type) -> str:
    known = object.__getattribute__(value, "__dict__")
    name, held = known.get("_name_"), known.get("_value_")
    return f"{short_name(kind)}.{name}" if type(name) is str else f"{short_name(kind)}({glimpse(held)})"


def _container(value: Any, kind: type, bounds: Bounds, depth: int) -> str:
    if issubclass(kind, BaseException):
        section = sections(BaseException.__dict__["args"].__get__(value))[0]
    else:
        # contents rather than the attributes that a class has added to them
        section = next(iter(sections(value)[::-1]), NOTHING)
    inside = "…" if depth >= bounds.depth and section.size else _inside(section, bounds, depth)
    opened, closed = _brackets(kind, section)
    return f"{opened}{inside}{',' if kind is tuple and section.size == 1 else ''}{closed}"


def _brackets(kind: type, section: Section) -> tuple[str, str]:
    if kind in _BRACKETS and (kind not in (set, frozenset) or section.size):
        return _BRACKETS[kind]
    plain = next((base for base in mro_of(kind) if base in _BRACKETS), None)
    opened, closed = _BRACKETS[plain] if plain and section.sort is not Sort.ATTRIBUTES and section.size else ("", "")
    opened, closed = opened.rpartition("(")[2] or opened, closed.removesuffix(")") or closed
    return f"{short_name(kind)}({opened}", f"{closed})"


def _inside(section: Section, bounds: Bounds, depth: int) -> str:
    shown = [_part(section.sort, name, held, bounds, depth + 1) for name, held in section.page(0, bounds.items)]
    more = [f"… {section.size - bounds.items:,} more"] if section.size > bounds.items else []
    return ", ".join([*shown, *more])


def _part(sort: Sort, name: Any, held: Any, bounds: Bounds, depth: int) -> str:
    if sort in (Sort.ITEMS, Sort.MEMBERS):
        return glimpse(held, bounds, depth)
    secret = bounds.hides and type(name) is str and is_secret_variable(name)
    told = REDACTED if secret else glimpse(held, bounds, depth)
    return f"{name}={told}" if sort is Sort.ATTRIBUTES else f"{glimpse(name, bounds, depth)}: {told}"


def _cut(text: str, bounds: Bounds) -> str:
    return text if len(text) <= bounds.letters else f"{text[: bounds.letters - 1]}…"


_BRACKETS: dict[type, tuple[str, str]] = {
    dict: ("{", "}"),
    list: ("[", "]"),
    tuple: ("(", ")"),
    deque: ("deque([", "])"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
_CONTAINERS = tuple(_BRACKETS)
