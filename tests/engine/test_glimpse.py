"""A value in a line, and what is inside of it: nothing of the agent's own is called for either."""

from __future__ import annotations

import array
import asyncio
import dataclasses
import datetime
import enum
import functools
import threading
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import AsyncIterator, Iterator
from pathlib import PurePosixPath
from typing import Any, ClassVar

import attrs
import msgspec
import numpy as np
import pydantic
import pytest

from reenact.engine.glimpse import Bounds, glimpse
from reenact.engine.inside import sections

Pair = namedtuple("Pair", "one two")  # noqa: PYI024  as agents have them


class Colour(enum.Enum):
    RED = 1


class Flags(enum.Flag):
    A = 1
    B = 2


class Items(list[Any]):
    pass


class Text(str):
    __slots__ = ()


@dataclasses.dataclass
class Record:
    name: str
    inside: Any = None


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str
    _own: int = 3


class Struct(msgspec.Struct):
    name: str


@attrs.define
class Slotted:
    name: str


class Shy:
    """Everything that is asked of it is one time too many."""

    called: ClassVar[list[str]] = []

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def _call(self, *_args: Any) -> Any:
        Shy.called.append("")
        raise SystemExit(1)

    __repr__ = __str__ = __len__ = __iter__ = __bool__ = __eq__ = __format__ = __getattr__ = _call  # type: ignore[assignment]
    __call__ = __getitem__ = __contains__ = __index__ = __int__ = __float__ = __reduce__ = __fspath__ = _call  # type: ignore[assignment]

    def __hash__(self) -> int:
        return 1

    @property
    def asked(self) -> Any:
        return self._call()

    @property
    def __class__(self) -> Any:
        return self._call()


class ShyType(type):
    def __getattribute__(cls, _name: str) -> Any:
        Shy.called.append("")
        raise SystemExit(1)

    def __instancecheck__(cls, _one: object) -> bool:
        raise SystemExit(1)

    def __subclasscheck__(cls, _one: type) -> bool:
        raise SystemExit(1)


class ShyList(list[Any]):
    __len__ = __iter__ = __getitem__ = __repr__ = Shy._call  # type: ignore[assignment]


class ShyDict(dict[Any, Any]):
    __len__ = __iter__ = items = keys = __getitem__ = __repr__ = Shy._call  # type: ignore[assignment]


def counting() -> Iterator[int]:
    number = 1
    yield number
    yield 2


async def waiting() -> None:
    await asyncio.sleep(0)


async def giving() -> AsyncIterator[int]:
    yield 1


def parts(value: Any) -> dict[Any, Any]:
    return {name: held for section in sections(value) for name, held in section.page(0, section.size)}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "'text'"),
        ("x" * 1000, "'" + "x" * 158 + "…"),
        (bytearray(b"b"), "bytearray(b'b')"),
        (Text("own"), "Text('own')"),
        (10**400, "a number of 1,329 bits"),
        (Colour.RED, "Colour.RED"),
        (Flags.A | Flags.B, "Flags.A|B"),
        ([1, [2, [3, [4]]]], "[1, [2, […]]]"),
        ([[], [[]]], "[[], [[]]]"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, … 3 more]"),
        ({"a": 1, "password": "secret"}, "{'a': 1, 'password': [redacted]}"),
        ((1,), "(1,)"),
        (frozenset(), "frozenset()"),
        ({1}, "{1}"),
        (deque([1]), "deque([1])"),
        (Items([1]), "Items([1])"),
        (Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (defaultdict(list, a=[1]), "defaultdict({'a': [1]})"),
        (Pair(1, "b"), "Pair(one=1, two='b')"),
        (Record("a", [1]), "Record(name='a', inside=[1])"),
        (Model(name="a", more=2), "Model(name='a', more=2, _own=3)"),
        (Struct("a"), "Struct(name='a')"),
        (Slotted("a"), "Slotted(name='a')"),
        (types.SimpleNamespace(a=1), "SimpleNamespace(a=1)"),
        (ValueError("a", 1), "ValueError('a', 1)"),
        (Record, "class test_glimpse.Record"),
        (enum, "module enum"),
        (len, "built-in function len"),
        (glimpse, "function glimpse"),
        ([].append, "built-in function append"),
        (threading.Lock(), "lock, free"),
        (weakref.ref(Record), "reference to a type"),
        (np.datetime64("2026-11-22"), "np.datetime64('2026-11-22')"),
        (np.float64(2), "float64(2.0)"),
        (np.zeros((2, 500)), "ndarray of 2×500: 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, … 994 more"),
        (np.array([object()]), "<numpy.ndarray>"),
        (array.array("d", [1]), "array of 1: 1.0"),
        (datetime.date(2026, 11, 22), "datetime.date(2026, 11, 22)"),
        (PurePosixPath("/x"), "PurePosixPath('/x')"),
        (functools.partial(len), "<functools.partial>"),
        (object(), "<object>"),
    ],
)
def test_a_value_is_shown_in_a_line(value: Any, shown: str) -> None:
    assert glimpse(value).replace(f"{__name__}.", "test_glimpse.") == shown


def test_what_is_suspended_says_where() -> None:
    generator, coroutine, agen = counting(), waiting(), giving()
    next(generator)
    line = counting.__code__.co_firstlineno + 2
    assert glimpse(generator) == f"generator counting, at line {line}"
    assert parts(generator) == {"number": 1}
    assert glimpse(coroutine).startswith("coroutine waiting, at line ")
    assert glimpse(agen).startswith("async generator giving, at line ")
    list(generator)
    coroutine.close()
    assert glimpse(generator) == "generator counting, ended"
    assert parts(generator) == {}


def test_names_of_secrets_hide_what_they_hold_only_in_reports() -> None:
    assert glimpse(Record(name="a", inside={"api_key": "k"})) == "Record(name='a', inside={'api_key': [redacted]})"
    assert glimpse({"api_key": "k"}, Bounds(hides=False)) == "{'api_key': 'k'}"


def test_nothing_of_the_agents_own_is_called() -> None:
    Shy.called.clear()
    shy = Shy(number=1)
    Strange = ShyType("Strange", (), {})  # noqa: N806  pytest would ask it
    own = [shy, Strange, ShyList([1]), ShyDict(a=shy), {shy: 2}, {shy}, [shy], Record("a", shy), shy._call]
    strange = object.__new__(Strange)
    told = [glimpse(one) for one in (*own, strange)]
    assert told[0] == "Shy(number=1)"
    assert told[2:4] == ["ShyList([1])", "ShyDict({'a': Shy(number=1)})"]
    for one in (*own, strange):
        parts(one)
    assert Shy.called == []


def test_what_is_inside_is_given_by_pages() -> None:
    whole = list(range(1000))
    (section,) = sections(whole)
    assert (section.size, list(section.page(500, 2)), list(section.page(999, 5))) == (
        1000,
        [(500, 500), (501, 501)],
        [(999, 999)],
    )


def test_attributes_of_a_list_come_before_its_items() -> None:
    items = Items([1])
    items.owner = "me"  # type: ignore[attr-defined]
    assert parts(items) == {"owner": "me", 0: 1}


def test_an_exception_holds_what_led_to_it() -> None:
    def fail() -> None:
        try:
            {}["k"]
        except KeyError as inner:
            raise OSError(2, "no") from inner

    with pytest.raises(OSError) as caught:  # noqa: PT011  which one does not matter
        fail()
    caught.value.add_note("noted")
    found = parts(caught.value)
    assert found["args"] == (2, "no")
    assert (found["errno"], found["strerror"], found["__notes__"]) == (2, "no", ["noted"])
    assert repr(found["__cause__"]) == "KeyError('k')"
    assert "test_an_exception_holds" in glimpse(found["__traceback__"])
    *_, frame = parts(found["__traceback__"]).values()
    assert "fail, line " in glimpse(frame)


def test_a_function_shows_what_it_has_closed_over() -> None:
    held = [1]

    def inner(a: int = 3) -> list[int]:
        return [a, *held]

    assert parts(inner) == {"held": [1], "__defaults__": (3,)}
    assert parts(Record("a").__repr__)["__self__"] == Record("a")
    assert parts({"a": 1}.items()) == {"mapping": {"a": 1}}
    assert parts(weakref.ref(Record)) == {"()": Record}


def test_a_task_shows_what_it_waits_for() -> None:
    async def main() -> dict[Any, Any]:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        found = parts(task)
        await task
        return {**found, "after": parts(task)}

    found = asyncio.run(main())
    assert glimpse(found["_coro"]).startswith("coroutine waiting")
    assert (found["_state"], found["after"]["_state"]) == ("PENDING", "FINISHED")


def test_arrays_of_several_dimensions_are_had_by_their_numbers() -> None:
    found = parts(np.arange(6).reshape(2, 3))
    assert found[1, 2] == 5
    assert list(found) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
