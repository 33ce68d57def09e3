"""The digest of a value: the same for what is the same, another for what is another, and no address in it."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import math
import pickle
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine import digest as digests
from reenact.engine.digest import Digester

Pair = namedtuple("Pair", "one two")  # noqa: PYI024  as agents have them


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Own:
    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


class Slotted:
    __slots__ = ("empty", "held")

    def __init__(self, held: Any) -> None:
        self.held = held


class Struct(msgspec.Struct):
    name: str
    items: list[int] = []


@dataclasses.dataclass
class Record:
    name: str
    inside: Any = None


class Text(str):
    __slots__ = ()


class Zone(datetime.tzinfo):
    def utcoffset(self, _: datetime.datetime | None) -> datetime.timedelta:
        raise AssertionError("called")

    def __repr__(self) -> str:
        raise AssertionError("called")


NOON = datetime.datetime(2026, 11, 22, 12)  # noqa: DTZ001  a time without a zone is what is to be told apart
SEVERAL: list[Any] = [
    None, True, False, 0, 1, -1, 2**200, -(2**200), 0.0, -0.0, 0.1, math.inf, 1j, ..., range(3), range(0, 3, 2),
    "", "a", "b", b"", b"a", bytearray(b"a"), [], [0], [[]], [0, 1], [1, 0], (), (0,), {}, {"a": 1}, {"b": 1},
    {"a": 1, "b": 2}, {"b": 2, "a": 1}, set(), {1}, frozenset({1}), {1, 2}, deque([1]), Counter("ab"), OrderedDict(a=1),
    defaultdict(list, a=1), Pair(1, 2), (1, 2), Colour.RED, Colour.BLUE, Flags.A, Flags.A | Flags.B, Text("a"),
    Own(a=1), Own(a=2), Own(b=1), Slotted(1), Slotted(2), Struct("a"), Struct("a", [1]), Record("a"), Record("b"),
    SimpleNamespace(a=1), ValueError("a"), ValueError("b"), KeyError("a"), Decimal("1.0"), Decimal("1.00"),
    Path("a"), Path("b"), NOON, NOON.replace(tzinfo=datetime.UTC), NOON.replace(tzinfo=Zone()), NOON.date(), NOON.time(),
    NOON.time().replace(tzinfo=Zone()), datetime.timedelta(1), np.float32(1), np.float64(1.5), np.arange(3),
    np.arange(3).reshape(3, 1), np.arange(3.0), np.datetime64("2026-11-22"), np.datetime64("2026-11-22T12"),
]  # fmt: skip


@pytest.fixture
def digester(monkeypatch: pytest.MonkeyPatch) -> Digester:
    """One to which this module is the agent's."""
    monkeypatch.setattr(digests, "_FIELDS", {})
    return Digester(b"salt")


def test_different_values_have_different_digests(digester: Digester) -> None:
    found = [digester.digest(value) for value in SEVERAL]
    assert None not in found
    same = {digest: [repr(type(v)) for v, d in zip(SEVERAL, found, strict=True) if d == digest] for digest in found}
    assert [types for types in same.values() if len(types) > 1] == []


def test_equal_values_have_equal_digests(digester: Digester) -> None:
    for value in SEVERAL:
        assert digester.digest(value) == digester.digest(copy.deepcopy(value)), value


def test_where_one_text_ends_counts(digester: Digester) -> None:
    assert digester.digest(["a\0s1:b", "c"]) != digester.digest(["a", "b\0s1:c"])


def test_of_a_large_array_both_ends_count(digester: Digester) -> None:
    large = np.zeros(1_000_000)
    first, last = large.copy(), large.copy()
    first[0] = last[-1] = 1
    assert len({digester.digest(array) for array in (large, large.reshape(1000, 1000), first, last)}) == 4
    assert not digester.whole
    assert digester.digest(np.zeros(0)) != digester.digest(np.zeros((0, 1)))


def test_a_salt_makes_other_digests() -> None:
    assert Digester(b"one").digest("a") != Digester(b"two").digest("a")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(plain, plain)
def test_digests_are_equal_when_and_only_when_plain_values_are(one: Any, two: Any) -> None:
    digester = Digester(b"salt")
    again = pickle.loads(pickle.dumps(one))
    assert digester.digest(one) == digester.digest(again) is not None
    assert (digester.digest(one) == digester.digest(two)) == (repr(one) == repr(two))


@given(st.sets(st.text(max_size=9)))
def test_the_order_of_a_set_does_not_count(texts: set[str]) -> None:
    other: set[str] = set()
    for text in sorted(texts, reverse=True):
        other.add(text)
    assert Digester(b"salt").digest(texts) == Digester(b"salt").digest(other)


@pytest.mark.parametrize("value", [object(), open, len, math, Own, lambda: 0, iter([]), memoryview, (n for n in ())])
def test_what_is_no_data_has_no_digest(digester: Digester, value: Any) -> None:
    assert digester.digest(value) is None


def test_inside_of_data_it_counts_by_its_type_alone(digester: Digester) -> None:
    assert digester.digest([object()]) == digester.digest([object()])
    assert digester.digest([object()]) != digester.digest([iter([])])
    assert not digester.whole
    digester.digest([1])
    assert digester.whole


def test_an_array_of_objects_has_no_digest(digester: Digester) -> None:
    assert digester.digest(np.array([object(), object()])) is None


def test_cycles_end(digester: Digester) -> None:
    def ring() -> list[Any]:
        found: list[Any] = [1, {"a": Own()}]
        found[1]["a"].back = found
        found.append(found)
        return found

    assert digester.digest(ring()) == digester.digest(ring()) is not None


def test_the_end_of_a_long_list_counts_and_its_length(digester: Digester) -> None:
    long = [str(number) for number in range(100_000)]
    assert digester.digest(long) == digester.digest([*long]) is not None
    assert digester.digest(long) != digester.digest([*long[:-1], "other"])
    assert digester.digest(long) != digester.digest([*long, *long])
    assert digester.digest(long) == digester.digest(["other", *long[1:]])
    assert not digester.whole


def test_of_a_long_text_both_ends_count_and_its_length(digester: Digester) -> None:
    long = "x" * 1_000_000
    assert digester.digest(long) != digester.digest("y" + long[1:])
    assert digester.digest(long) != digester.digest(long[1:] + "y")
    assert digester.digest(long) != digester.digest(long + "x")


def test_members_that_are_named_like_secrets_do_not_count(digester: Digester) -> None:
    assert digester.digest({"password": "a"}) == digester.digest({"password": "b"})
    assert digester.digest(Own(api_key="a")) == digester.digest(Own(api_key="b"))
    assert digester.secret == 4


def test_secrets_of_the_environment_count_as_their_placeholders() -> None:
    digester = Digester(b"salt", lambda data: data.replace(b"sk-very-secret", b"sk-abcd-redact"))
    expected = digester.digest("Bearer sk-abcd-redact")
    assert digester.digest("Bearer sk-very-secret") == expected
    assert digester.digest("http://me:mine@host/") == digester.digest("http://reenact-placeholder-credential@host/")
