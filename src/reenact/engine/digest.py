"""A short digest of what a variable of the agent's holds. Plain data is walked; nothing of the agent's own is called.

Walked are: the interpreter's own types of data and classes made from them, dates, decimals, paths, enums, exceptions,
what C code gives as bytes (arrays and scalars of numpy), and by their attributes objects of the agent's own classes,
dataclasses, attrs, pydantic and msgspec models. Of everything else only the type counts. Addresses never do.
"""

from __future__ import annotations

import datetime
import hashlib
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from pathlib import PosixPath, PurePosixPath, PureWindowsPath
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace
from typing import Any, NamedTuple

from reenact.engine.place import is_library
from reenact.tape.redact import is_secret_variable, redact_value

SIZE = 8  # bytes of a digest

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made when the program ran
CLASSES = 4_096  # whose attributes are remembered
_RECORDS = frozenset({"__dataclass_fields__", "__attrs_attrs__", "__pydantic_validator__", "__struct_fields__"})
_NAMESPACES = frozenset({"argparse:Namespace", "uuid:UUID", "fractions:Fraction"})
_DATES = (datetime.date, datetime.timedelta, datetime.timezone)
MOMENTS = (datetime.datetime, datetime.time)
_PATHS = (PosixPath, PurePosixPath, PureWindowsPath)

# what the interpreter itself knows of a class: a metaclass may have its own idea of these names
mro_of = type.__dict__["__mro__"].__get__
names_of = type.__dict__["__dict__"].__get__
module_of = type.__dict__["__module__"].__get__
qualname_of = type.__dict__["__qualname__"].__get__
_flags = type.__dict__["__flags__"].__get__
_arguments = BaseException.__dict__["args"].__get__

Fields = tuple[tuple[str, Callable[[Any], Any]], ...]
_FIELDS: dict[int, tuple[type, Fields | None]] = {}  # by id, with the class, so that its id stays its own


class Bounds(NamedTuple):
    """How much of one variable is looked at.

    `nodes` values, the last of a list first, since agents append; of a longer text, so many characters or bytes from
    either end; what is called like a secret not, when it `hides`. What ends on a tape does.
    """

    nodes: int = 4_000
    depth: int = 16
    letters: int = 65_536
    hides: bool = True


class Digester:
    """Makes the digests of one tape: `salt` keeps them from being looked up in a table.

    `clean` puts what stands for secrets in their place, as a replay has it. `whole` is false when
    something of the last value was not looked at, or is no plain data; `secret` counts values left out for their name.
    """

    def __init__(
        self, salt: bytes = b"", clean: Callable[[bytes], bytes] = bytes, bounds: Bounds | None = None
    ) -> None:
        self._salt = salt
        self._clean = clean
        self._bounds = bounds or Bounds()
        self._left = 0
        self.whole = True
        self.secret = 0

    def digest(self, value: Any) -> bytes | None:
        """The digest; None where nothing of the value can be compared."""
        self._left, self.whole = self._bounds.nodes, True
        out: list[bytes] = []
        if not self._walk(value, out, ()):
            return None
        return hashlib.blake2b(b"\0".join(out), digest_size=SIZE, key=self._salt).digest()

    def _walk(self, value: Any, out: list[bytes], above: tuple[int, ...]) -> bool:
        """Writes what the value is made of; false where it is no plain data, and only its type counts."""
        kind = type(value)
        plain = _PLAIN.get(kind)
        self._left -= 1
        if plain is not None:
            out.append(plain(value))
            return True
        if self._left < 0 or len(above) >= self._bounds.depth:
            self.whole = False
            return True
        if kind is str or kind is bytes or kind is bytearray:
            out.append(self._letters(value))
            return True
        if id(value) in above:
            out.append(b"^%d" % above.index(id(value)))
            return True
        return self._inside(value, kind, out, (*above, id(value)))

    def _inside(self, value: Any, kind: type, out: list[bytes], above: tuple[int, ...]) -> bool:
        out.append(b"<" + type_name(kind).encode("utf-8", "backslashreplace"))
        found = True
        if issubclass(kind, dict):
            self._pairs(list(dict.items(value)), out, above)
        elif issubclass(kind, list | tuple | deque):
            self._items(list(base_of(kind, list, tuple, deque).__iter__(value)), out, above)
        elif issubclass(kind, set | frozenset):
            self._unordered(list(base_of(kind, set, frozenset).__iter__(value)), out, above)
        elif issubclass(kind, BaseException):
            self._items(list(_arguments(value)), out, above)
        elif issubclass(kind, Enum):
            known = object.__getattribute__(value, "__dict__")
            return self._walk(known.get("_name_") or known.get("_value_"), out, above)
        elif issubclass(kind, tuple(_EXACT)):
            self._walk(_EXACT[base_of(kind, *_EXACT)](value), out, above)
        else:
            parts = data_of(value, kind)
            found = parts is not None
            out += [self._ends(b"d", part) for part in parts or ()]
        fields = fields_of(kind)
        if fields:
            self._pairs(list(values_of(value, fields)), out, above)
        if not found and fields is None:
            self.whole = False
            return False
        out.append(b">")
        return True

    def _pairs(self, pairs: list[tuple[Any, Any]], out: list[bytes], above: tuple[int, ...]) -> None:
        out.append(b"%d" % len(pairs))
        for key, value in self._affordable(pairs):
            self._walk(key, out, above)
            if self._bounds.hides and type(key) is str and is_secret_variable(key):
                self.secret += 1
            else:
                self._walk(value, out, above)

    def _items(self, items: list[Any], out: list[bytes], above: tuple[int, ...]) -> None:
        out.append(b"%d" % len(items))
        for item in self._affordable(items):
            self._walk(item, out, above)

    def _unordered(self, items: list[Any], out: list[bytes], above: tuple[int, ...]) -> None:
        out.append(b"%d" % len(items))
        if len(items) > self._left:
            self.whole = False  # which of them would be looked at is a matter of their hashes
            return
        found = []
        for item in items:
            inside: list[bytes] = []
            self._walk(item, inside, above)
            found.append(b"\0".join(inside))
        out += sorted(found)

    def _affordable(self, items: list[Any]) -> Iterator[Any]:
        """The last first, as long as there may be more."""
        for item in reversed(items):
            if self._left <= 0:
                self.whole = False
                return
            yield item

    def _letters(self, value: str | bytes | bytearray) -> bytes:
        """A text or bytes without credentials, and of a long one its ends."""
        if isinstance(value, str):
            text = redact_value(value) if self._bounds.hides and "://" in value else value
            mark, data = b"s", text.encode("utf-8", "surrogatepass")
        else:
            mark, data = b"a" if isinstance(value, bytearray) else b"b", bytes(value)
        return self._ends(mark, self._clean(data))

    def _ends(self, mark: bytes, data: bytes | memoryview) -> bytes:
        """What there is, or of much the ends, with its length: so the end of one value is not the begin of the next."""
        letters = self._bounds.letters
        if len(data) > 2 * letters:
            self.whole = False
            return b"%s%d:%s%s" % (mark, len(data), data[:letters], data[-letters:])
        return b"%s%d:%s" % (mark, len(data), data)


def fields_of(kind: type) -> Fields | None:
    """The attributes of such objects and how each is had, past what the class makes of it; None: they do not count."""
    known = _FIELDS.get(id(kind))
    if known is None:
        if len(_FIELDS) >= CLASSES:
            _FIELDS.clear()
        known = _FIELDS[id(kind)] = (kind, attributes_of(kind) if _is_walked(kind) else None)
    return known[1]


def values_of(value: Any, fields: Fields) -> Iterator[tuple[str, Any]]:
    """The attributes that an object has, in order."""
    for name, get in fields:
        try:
            found = get(value)
        except AttributeError:
            continue  # a slot that holds nothing
        if name == "__dict__":
            if type(found) is dict:
                yield from [pair for pair in found.items() if type(pair[0]) is str]
        else:
            yield name, found


def type_name(kind: type) -> str:
    """`module:qualified.name`."""
    module = module_of(kind)
    return f"{module if type(module) is str else '?'}:{qualname_of(kind)}"


def data_of(value: Any, kind: type) -> tuple[bytes | memoryview, ...] | None:
    """What C code gives of a value as bytes, when the interpreter, or a type written in C, knows how to."""
    if kind in _DATES:
        return (str(value.__reduce__()).encode(),)
    if kind in MOMENTS:
        return (_moment(value),)
    if kind is Decimal or kind in _PATHS:
        return (str(value).encode("utf-8", "surrogateescape"),)
    if _flags(kind) & _HEAP_TYPE:
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    if "O" in view.format or not view.c_contiguous:  # O: addresses of objects
        return None
    shape = f"{view.format}{view.shape}".encode()
    return (shape, view.cast("B")) if view.nbytes and view.ndim else (shape, view.tobytes())


def _moment(value: datetime.datetime | datetime.time) -> bytes:
    """What it is without its zone, and the zone: whole where it is the interpreter's own, else by its type."""
    zone = value.tzinfo
    told = str(zone.__reduce__()) if type(zone) is datetime.timezone else type_name(type(zone))
    return f"{value.replace(tzinfo=None).__reduce__()} {told}".encode()


def _is_walked(kind: type) -> bool:
    if kind is SimpleNamespace or type_name(kind) in _NAMESPACES:
        return True
    if not _flags(kind) & _HEAP_TYPE:
        return False
    if issubclass(kind, Enum | type):
        return False
    return _is_agents(kind) or any(_RECORDS.intersection(names_of(one)) for one in mro_of(kind))


def _is_agents(kind: type) -> bool:
    module = sys.modules.get(str(module_of(kind)))
    file = getattr(module, "__dict__", {}).get("__file__")
    if file is None:
        return module is sys.modules.get("__main__")  # `python -c`
    return not is_library(str(file))


def attributes_of(kind: type) -> Fields:
    """The attributes that objects of a class have: their dictionary and their slots."""
    found: dict[str, Callable[[Any], Any]] = {}
    for one in reversed(mro_of(kind)):
        for name, member in names_of(one).items():
            dictionary = name == "__dict__" and type(member) in (GetSetDescriptorType, MemberDescriptorType)
            slot = type(member) is MemberDescriptorType and _flags(one) & _HEAP_TYPE and name != "__weakref__"
            if dictionary or slot:
                found[name] = member.__get__
    return tuple(found.items())


def base_of(kind: type, *bases: Any) -> Any:
    """Which of these built-in types the class is made from: its methods are called, not the class's own."""
    return next(base for base in bases if issubclass(kind, base))


def _float(value: float) -> bytes:
    return b"f" + struct.pack("<d", value)


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"n",
    bool: lambda value: b"t" if value else b"F",
    int: lambda value: b"i%x" % value if value >= 0 else b"i-%x" % -value,
    float: _float,
    complex: lambda value: _float(value.real) + _float(value.imag),
    type(...): lambda _: b".",
    range: lambda value: f"r{value.start}:{value.stop}:{value.step}".encode(),
}
# exact values of what a class is made from
_EXACT: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes.__add__(value, b""),
}
