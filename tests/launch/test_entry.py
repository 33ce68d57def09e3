"""Recorded functions: how one is named, what it was given, and how it is found and called again."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import importlib
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.engine.place import MAIN_AGAIN
from reenact.errors import UsageError
from reenact.launch import entry
from reenact.launch.manifest import Manifest


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


@attrs.define
class Box:
    corner: Point
    label: str | None = None


class Ask(msgspec.Struct):
    text: str
    at: datetime.datetime


class Order(pydantic.BaseModel):
    number: int
    tags: set[str] = set()


class Level(enum.Enum):
    LOW = "low"


def through(function: Callable[..., Any], *args: Any, **kwargs: Any) -> entry.Arguments:
    """The arguments as the function gets them when it is called again."""
    return entry.decode(function, entry.encode(args, kwargs))


# Names


def test_a_function_is_named_by_module_and_qualified_name() -> None:
    def inner() -> None:
        """Not called."""

    assert entry.name_of(Order.model_dump) == "pydantic.main:BaseModel.model_dump"
    assert entry.name_of(inner).endswith(":test_a_function_is_named_by_module_and_qualified_name.<locals>.inner")


def test_a_function_of_the_main_module_that_is_imported_again_keeps_its_name() -> None:
    def agent() -> None:
        """Not called."""

    agent.__qualname__ = "agent"
    for module in ("__main__", MAIN_AGAIN):
        agent.__module__ = module
        assert entry.name_of(agent) == "__main__:agent"


def test_a_block_is_told_from_a_function() -> None:
    assert entry.block("refund", 2) == "block:refund#2"
    assert not entry.is_function(entry.block("refund", 2))
    assert not entry.is_function("")
    assert entry.is_function("agent:work")


# Arguments

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
json = st.recursive(
    scalars | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def anything(*args: Any, **kwargs: Any) -> None:
    """Not called."""


@settings(deadline=None)
@given(st.lists(json, max_size=4), st.dictionaries(st.text(), json, max_size=3))
def test_json_comes_back_as_it_was(args: list[Any], kwargs: dict[str, Any]) -> None:
    assert through(anything, *args, **kwargs) == entry.Arguments(args, kwargs)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Point, Point(1, 2.5)),
        (Box, Box(Point(0), "x")),
        (Ask, Ask("hi", datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))),
        (Order, Order(number=7, tags={"a", "b"})),
        (list[Point], [Point(1), Point(2)]),
        (Point | None, None),
        (Level, Level.LOW),
        (tuple[int, str], (3, "c")),
        (bytes, b"\0\xff"),
        (datetime.date, datetime.date(2026, 1, 2)),
        (uuid.UUID, uuid.UUID(int=5)),
        (frozenset[int], frozenset({1, 2})),
        (Any, [1, {"a": None}]),
    ],
    ids=str,
)
def test_an_argument_comes_back_in_the_type_of_its_annotation(hint: Any, value: Any) -> None:
    comes_back(hint, value)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Order | None, Order(number=7)),
        (list[Order], [Order(number=7), Order(number=8)]),
        (dict[int, str], {1: "a"}),
    ],
    ids=str,
)
def test_an_annotated_argument_comes_back_in_its_type_within_others(hint: Any, value: Any) -> None:
    comes_back(hint, value)


def comes_back(hint: Any, value: Any) -> None:
    def work(given: Any, *, named: Any) -> None:
        """Not called."""

    work.__annotations__ = dict.fromkeys(("given", "named"), hint)
    back = through(work, value, named=value)
    assert back == entry.Arguments([value], {"named": value})
    assert type(back.args[0]) is type(value)


def test_annotations_of_any_number_of_arguments_count_for_each() -> None:
    def work(first: int, *rest: Point, **more: bytes) -> None:
        """Not called."""

    args, kwargs = [1, Point(2), Point(3)], {"a": b"x", "b": b"y"}
    assert through(work, *args, **kwargs) == entry.Arguments(args, kwargs)


def test_a_method_and_a_wrapped_function_have_their_annotations() -> None:
    class Agent:
        def work(self, point: Point) -> None:
            """Not called."""

    def wrapper(*args: Any) -> None:
        """Not called."""

    wrapper.__wrapped__ = Agent().work  # type: ignore[attr-defined]
    for function in (Agent().work, wrapper):
        assert through(function, Point(1)).args == [Point(1)]


def test_annotations_that_cannot_be_resolved_leave_plain_values() -> None:
    def work(point: Gone) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Not called."""

    assert through(work, Point(1)).args == [{"x": 1, "y": 0.0}]
    assert through(print, 1).args == [1]


def test_a_value_that_does_not_fit_its_annotation_is_given_as_it_is() -> None:
    def work(number: int, point: Point) -> None:
        """Not called."""

    assert through(work, "seven", {"z": 1}).args == ["seven", {"z": 1}]


@pytest.mark.parametrize("value", [object(), print, Path("x"), {(1, 2): 3}, 1j, lambda: None, sys], ids=repr)
def test_what_is_no_json_is_refused(value: object) -> None:
    for args, kwargs in (((value,), {}), ((), {"x": value}), (([1, {"deep": [value]}],), {})):
        with pytest.raises(TypeError, match="cannot be kept as JSON"):
            entry.encode(args, kwargs)


# Results


@settings(deadline=None)
@given(json)
def test_a_result_is_kept_as_json(value: Any) -> None:
    assert msgspec.json.decode(entry.encode_result(value)) == value


def test_models_are_kept_as_json() -> None:
    assert entry.encode_result(Point(1)) == b'{"x":1,"y":0.0}'
    assert entry.encode_result([Order(number=1)]) == b'[{"number":1,"tags":[]}]'


def test_a_result_that_is_no_json_is_kept_as_its_type() -> None:
    assert entry.encode_result(Path("x")) == f'{{"type":"{type(Path()).__module__}.{type(Path()).__name__}"}}'.encode()
    assert entry.encode_result([object()]) == b'{"type":"builtins.list"}'


def round_and_round() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "value", ["\udcff", {"\ud800": 1}, round_and_round(), 2**70, float("nan"), {1: object()}], ids=ascii
)
def test_no_result_at_all_harms_the_agent(value: Any) -> None:
    """The function has done its work; that its result cannot be kept must not become its error."""
    assert entry.encode_result(value)


# Found again


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, from which modules can be imported in this test only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


def manifest(name: str, *target: str, path: tuple[str, ...] = ()) -> Manifest:
    return Manifest(
        "run-1",
        "run",
        5,
        "0.1.0",
        "3.12.1",
        sys.executable,
        "linux",
        "/",
        [],
        list(target),
        name,
        import_path=list(path),
    )


def test_a_function_of_a_module_is_imported(program: Path) -> None:
    (program / "lib").mkdir()
    (program / "lib" / "tools_of_test_entry.py").write_text(
        "class Desk:\n    @staticmethod\n    def work(): return 7\n"
    )
    found = entry.find(manifest("tools_of_test_entry:Desk.work", path=(str(program / "lib"),)))
    assert found() == 7


def test_where_it_was_imported_from_goes_before_everything_else(program: Path) -> None:
    for name in ("one", "two"):
        (program / name).mkdir()
        (program / name / "twice_of_test_entry.py").write_text(f"def work(): return {name!r}\n")
    found = entry.find(manifest("twice_of_test_entry:work", path=(str(program / "two"), str(program / "one"))))
    assert found() == "two"


def test_a_function_of_the_script_is_found_without_running_the_program(program: Path) -> None:
    (program / "agent.py").write_text(
        "def work(): return __name__\nif __name__ == '__main__':\n    raise SystemExit('the program ran')\n"
    )
    assert entry.find(manifest("__main__:work", "agent.py", "--city"))() == MAIN_AGAIN


def test_a_function_of_a_module_that_was_run_is_found_without_running_the_program(program: Path) -> None:
    (program / "agent_of_test_entry.py").write_text(
        "def work(): return __name__\nif __name__ == '__main__':\n    raise SystemExit('the program ran')\n"
    )
    found = entry.find(manifest("__main__:work", "-m", "agent_of_test_entry", path=(str(program),)))
    assert found() == MAIN_AGAIN


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone_of_test_entry:work", "is not to be found: No module named 'gone_of_test_entry'"),
        ("json:work", "is not to be found: module 'json' has no attribute 'work'"),
        ("json:JSONEncoder.work", "is not to be found"),
        ("json:__name__", "is not a function any more"),
        ("__main__:gone", "is not to be found"),
        ("__main__:outer.<locals>.inner", "is not to be found"),
    ],
)
def test_a_function_that_is_gone_is_told(program: Path, name: str, message: str) -> None:
    (program / "agent.py").write_text("def outer():\n    def inner(): pass\n")
    with pytest.raises(UsageError, match=message):
        entry.find(manifest(name, "agent.py"))
