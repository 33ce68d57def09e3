"""What a recorded function was given: kept as JSON, and the same values again in replay, in their types."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import json
import sys
import threading
import uuid
import zoneinfo
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import attrs
import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine import values
from reenact.errors import ArgumentError
from reenact.tape.redact import PLACEHOLDER
from tests.runs import shown


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    corner: Point
    api_key: str = ""


@dataclasses.dataclass
class Node:
    """Its constructor makes more of it than its fields."""

    word: str
    below: list[Node] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.word = self.word.upper()
        self.length = len(self.word) + 1


@attrs.define
class Parcel:
    box: Box | None
    label: str | None = None


class Ask(msgspec.Struct, kw_only=True):
    text: str
    at: datetime.datetime


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(alias="no")
    tags: set[str] = set()
    before: Order | None = None
    _seen: int = 0


class Open(pydantic.BaseModel, extra="allow"):
    secret: pydantic.SecretStr


class Pair(NamedTuple):
    one: int
    other: Point


class Level(enum.Enum):
    LOW = "low"
    ODD = Point(1)


class Word(enum.StrEnum):
    YES = "y"


class Mark(enum.Flag):
    A = enum.auto()
    B = enum.auto()


class Tag(str):
    __slots__ = ()


class Stack(list[int]):
    """A list with a name."""

    name = ""


class Desk:
    """A class like any other: neither says what its fields are nor how it is copied."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.orders: dict[int, Point] = {}

    def work(self, order: Order) -> None:
        """Not called."""


class Slotted:
    __slots__ = ("one", "other")


class Client:
    def __init__(self) -> None:
        self.lock = threading.Lock()


def tool() -> None:
    """Not called."""


def anything(*args: Any, **kwargs: Any) -> None:
    """Not called."""


def through(function: Callable[..., Any], *args: Any, **kwargs: Any) -> values.Arguments:
    """The arguments as the function gets them when it is called again."""
    return values.decode(values.encode(function, args, kwargs), importlib.import_module)


def made(kind: type[Any], **state: Any) -> Any:
    one = kind.__new__(kind)
    for name, value in state.items():
        setattr(one, name, value)
    return one


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary()
data = st.recursive(
    scalars | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(scalars | st.text() | st.just("$tuple"), inner, max_size=3)
        | st.sets(scalars, max_size=3)
    ),
    max_leaves=8,
)


def exactly(value: Any) -> Any:
    """A value with all its types, so that 1, 1.0 and True differ."""
    kind = type(value)
    if isinstance(value, dict):
        return kind, [(exactly(key), exactly(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return kind, [exactly(item) for item in value]
    if isinstance(value, set | frozenset):
        return kind, {exactly(item) for item in value}
    return kind, value


@given(st.lists(data, max_size=3), st.dictionaries(st.text(), data, max_size=3))
def test_data_comes_back_in_its_types(args: list[Any], kwargs: dict[str, Any]) -> None:
    back = through(anything, *args, **kwargs)
    assert exactly(back.args) == exactly(args)
    assert exactly(back.kwargs) == exactly(dict(kwargs))


def test_json_stands_on_tape_as_it_is() -> None:
    given = {"order": [1, 2.5, {"city": "Oslo", "none": None}]}
    assert json.loads(values.encode(anything, (), given)) == {"args": [], "kwargs": given}


@pytest.mark.parametrize(
    "value",
    [
        Point(1, 2.5),
        Point(3, 3),
        Box(Point(0)),
        Node("a", [Node("b"), Node("c")]),
        Parcel(Box(Point(1)), "x"),
        Parcel(None),
        Ask(text="hi", at=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)),
        Order(no=7, tags={"a"}, before=Order(no=6)),
        [Order(no=7), None, Point(1)],
        {"first": Point(1), "rest": {"a": [Order(no=2)]}},
        {1: "a", (2, 3): Point(4)},
        (3, "c", (Point(1),)),
        Pair(1, Point(2)),
        Level.LOW,
        Level.ODD,
        Word.YES,
        Mark.A | Mark.B,
        Tag("word"),
        Stack([1, 2]),
        b"\0\xff",
        bytearray(b"x"),
        float("inf"),
        2**70,
        1j,
        "\udcff",
        datetime.date(2026, 1, 2),
        datetime.datetime(2026, 10, 25, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Oslo"), fold=1),
        datetime.timedelta(days=1, microseconds=3),
        decimal.Decimal("1.10"),
        fractions.Fraction(1, 3),
        uuid.UUID(int=5),
        Path("a/b"),
        PurePosixPath("/c"),
        range(1, 10, 3),
        frozenset({1, 2}),
        collections.Counter("hello"),
        collections.deque([1, Point(2)], maxlen=3),
        collections.OrderedDict(b=1, a=2),
        collections.defaultdict(list, {"a": [1]}),
        Point,
        tool,
        print,
        Desk.work,
    ],
    ids=shown,
)
def test_it_comes_back_in_its_type(value: Any) -> None:
    back = through(anything, value, named=[value])
    assert back.args == [value]
    assert back.kwargs == {"named": [value]}
    assert type(back.args[0]) is type(value)
    assert repr(back.args[0]) == repr(value)


def test_the_state_comes_back_and_no_constructor_is_called() -> None:
    node = Node("a")
    node.word = "lower"
    (back,) = through(anything, node).args
    assert (back.word, back.length) == ("lower", 2)


def test_private_and_further_attributes_come_back() -> None:
    order = Order(no=1)
    order._seen = 3
    stack = Stack([1])
    stack.name = "tower"
    free = Open.model_validate({"secret": "x", "more": [1]})
    back = through(anything, order, stack, free).args
    assert back[0]._seen == 3
    assert back[0].model_fields_set == {"number"}
    assert back[1].name == "tower"
    assert back[2].more == [1]


def test_a_method_gets_an_object_like_its_own() -> None:
    desk = Desk("front")
    desk.orders[3] = Point(1)
    back = through(Desk.work, desk, Order(no=1)).args
    assert type(back[0]) is Desk
    assert vars(back[0]) == vars(desk)
    (slotted,) = through(anything, made(Slotted, one=1)).args
    assert slotted.one == 1
    assert not hasattr(slotted, "other")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (threading.Lock(), "is a _thread.lock"),
        (Client(), None),
        (object(), "is a object"),
        (sys, "is a module"),
        (iter([1]), "is a list_iterator"),
        (np.zeros(2), "is a numpy.ndarray"),
        (np.float64(1), "is a numpy.float64"),
        (ValueError("x"), "is a ValueError"),
        (lambda: None, "needs <lambda>, which cannot be found again"),
        ([].append, "needs list.append"),
    ],
    ids=shown,
)
def test_what_cannot_be_kept_is_refused_by_name(value: Any, why: str | None) -> None:
    def work(first: int, handle: Any, *rest: Any, **more: Any) -> None:
        """Not called."""

    deep = ".lock" if why is None else ""
    for args, kwargs, place in (
        ((1, value), {}, "handle"),
        ((1,), {"handle": value}, "handle"),
        ((1, 2, 3, value), {}, "rest[1]"),
        ((1, 2), {"extra": value}, "extra"),
        ((1, [0, {"deep": (value,)}]), {}, "handle[1]['deep'][0]"),
        ((1, made(Desk, client=value)), {}, "handle.client"),
    ):
        with pytest.raises(ArgumentError) as caught:
            values.encode(work, args, kwargs)
        told = str(caught.value)
        assert told.startswith(f"its argument {place}{deep} {why or 'is a _thread.lock'}"), told
        assert 'with reenact.record("name"):' in told


def test_a_class_inside_a_function_is_refused() -> None:
    @dataclasses.dataclass
    class Local:
        x: int

    with pytest.raises(ArgumentError, match=r"its argument p needs .*<locals>\.Local, which cannot be found again"):
        values.encode(lambda p: p, (Local(1),), {})


def test_what_refers_to_itself_is_refused() -> None:
    node = Node("a")
    node.below.append(node)
    with pytest.raises(ArgumentError, match=r"its argument args.0. refers to itself, or is nested too deep"):
        values.encode(anything, (node,), {})


class Sulking:
    def __getstate__(self) -> Any:
        raise OSError("not now")


def test_an_object_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"its argument sulking cannot be read \(OSError: not now\)"):
        values.encode(anything, (), {"sulking": Sulking()})


def test_a_number_that_python_would_not_read_again_is_refused() -> None:
    with pytest.raises(ArgumentError, match="too large"):
        values.encode(anything, (10**5000,), {})


def test_credentials_are_left_out() -> None:
    def work(city: str, api_key: str, box: Box, settings: dict[str, str], more: Any, key: str) -> None:
        """Not called."""

    settings = {"openaiApiKey": "sk-hidden", "city": "Oslo"}
    given = ("Oslo", "sk-hidden", Box(Point(1), "sk-hidden"), settings)
    opened = Open(secret=pydantic.SecretStr("sk-hidden"))
    text = values.encode(work, given, {"more": opened, "key": "a word", "password": b"sk-hidden"})
    assert "hidden" not in text
    back = values.decode(text, importlib.import_module)
    assert back.args == ["Oslo", PLACEHOLDER, Box(Point(1), PLACEHOLDER), {**settings, "openaiApiKey": PLACEHOLDER}]
    assert back.kwargs["more"].secret.get_secret_value() == PLACEHOLDER
    assert back.kwargs["key"] == "a word"
    assert back.kwargs["password"] == PLACEHOLDER.encode()


def test_what_the_program_no_longer_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    text = values.encode(anything, (Point(1),), {})
    monkeypatch.delattr(sys.modules[__name__], "Point")
    with pytest.raises(ArgumentError, match=r"cannot be made again: .* has no attribute 'Point'"):
        values.decode(text, importlib.import_module)


@pytest.mark.parametrize(
    "held",
    [
        {"$gone": 1},
        {"$object": ["subprocess:Popen", ["true"], [["x"]], [], []]},
        {"$object": ["os:system", ["true"]]},
        {"$enum": ["os:system", None, "true"]},
        {"$struct": ["subprocess:run", {"args": ["true"]}]},
    ],
    ids=str,
)
def test_a_tape_does_not_choose_what_is_called(held: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program is what a replay runs, and nothing else."""
    started: list[Any] = []
    monkeypatch.setattr("subprocess.Popen.__init__", lambda *_args, **_kwargs: started.append(1))
    monkeypatch.setattr("os.system", started.append)
    with pytest.raises(ArgumentError):
        values.decode(json.dumps({"args": [held], "kwargs": {}}), importlib.import_module)
    assert not started
