"""Recorded functions: how one is named, what of its result is kept, and how it is found again."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import zipapp
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.launch import entry
from reenact.launch.manifest import Manifest
from tests.runs import shown


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Order(pydantic.BaseModel):
    number: int
    tags: set[str] = set()


# Names


def test_a_function_is_named_by_module_and_qualified_name() -> None:
    def inner() -> None:
        """Not called."""

    assert entry.name_of(Order.model_dump) == "pydantic.main:BaseModel.model_dump"
    assert entry.name_of(inner).endswith(":test_a_function_is_named_by_module_and_qualified_name.<locals>.inner")


def test_a_callable_object_is_named_by_its_class() -> None:
    assert entry.name_of(functools.partial(print)) == "functools:partial"


def test_a_block_is_told_from_a_function() -> None:
    assert entry.block("refund", 2) == "block:refund#2"
    assert not entry.is_function(entry.block("refund", 2))
    assert not entry.is_function("")
    assert entry.is_function("agent:work")


# Results


scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
json = st.recursive(
    scalars | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Sulking(pydantic.BaseModel):
    @pydantic.model_serializer
    def sulk(self) -> str:
        raise OSError("not now")


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
    "value", ["\udcff", {"\ud800": 1}, round_and_round(), 2**70, float("nan"), {1: object()}, Sulking()], ids=shown
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
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


def manifest(name: str, *target: str, path: tuple[str, ...] = (), main: str = "") -> Manifest:
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
        main=main,
        import_path=list(path),
    )


def find(*given: str, path: tuple[str, ...] = (), main: str = "") -> Callable[..., Any]:
    return entry.Program(manifest(*given, path=path, main=main)).function()


def test_a_function_of_a_module_is_imported(program: Path) -> None:
    (program / "lib").mkdir()
    (program / "lib" / "tools_of_test_entry.py").write_text(
        "class Desk:\n    @staticmethod\n    def work(): return 7\n"
    )
    assert find("tools_of_test_entry:Desk.work", path=(str(program / "lib"),))() == 7


def test_a_class_method_is_given_its_class_with_the_other_arguments(program: Path) -> None:
    (program / "desk_of_test_entry.py").write_text(
        "class Desk:\n    @classmethod\n    def work(cls): return cls\nclass Bar(Desk): pass\n"
    )
    work = find("desk_of_test_entry:Desk.work", path=(str(program),))
    bar = importlib.import_module("desk_of_test_entry").Bar
    assert work(bar) is bar


def test_where_it_was_imported_from_goes_before_everything_else(program: Path) -> None:
    for name in ("one", "two"):
        (program / name).mkdir()
        (program / name / "twice_of_test_entry.py").write_text(f"def work(): return {name!r}\n")
    found = find("twice_of_test_entry:work", path=(str(program / "two"), str(program / "one")))
    assert found() == "two"


MAIN = """
from __future__ import annotations
import dataclasses, sys, typing

@dataclasses.dataclass
class Order:
    number: int
    next: Order | None = None

SAID = f"{__name__} {__name__ != '__main__'} {__package__} {__spec__ and __spec__.name}"

def work():
    assert typing.get_type_hints(Order)["next"] == Order | None
    assert sys.modules["__main__"].Order is Order
    return SAID, __name__, work.__module__, repr(Order), __file__


if __name__ == "__main__":
    raise SystemExit("the program ran")
"""


def test_a_function_of_the_script_is_found_without_running_the_program(program: Path) -> None:
    (program / "agent.py").write_text(MAIN)
    work = find("__main__:work", "agent.py", "--city")
    said, *names, file = work()
    assert said.startswith("__main__ True None None")
    assert names == ["__main__", "__main__", "<class '__main__.Order'>"]
    assert file == str(program / "agent.py")
    assert not (program / "__pycache__").exists(), "Python keeps no compiled scripts"
    assert entry.name_of(work) == "__main__:work"


def test_a_function_of_a_module_that_was_run_is_found_without_running_the_program(program: Path) -> None:
    (program / "pkg_of_test_entry").mkdir()
    (program / "pkg_of_test_entry" / "__init__.py").touch()
    (program / "pkg_of_test_entry" / "more.py").write_text("WORD = 'more'\n")
    (program / "pkg_of_test_entry" / "agent.py").write_text(MAIN + "from .more import WORD\n")
    name = "pkg_of_test_entry.agent"
    said, *names, file = find("__main__:work", "-m", name, "x", path=(str(program),), main=name)()
    assert said.startswith(f"__main__ True pkg_of_test_entry {name}")
    assert names == ["__main__", "__main__", "<class '__main__.Order'>"]
    assert file == str(program / "pkg_of_test_entry" / "agent.py")


@pytest.mark.parametrize("way", ["folder", "archive"])
def test_a_function_of_a_folder_or_an_archive_that_was_run_is_found(program: Path, way: str) -> None:
    (program / "agent").mkdir()
    (program / "agent" / "__main__.py").write_text(MAIN)
    target = "agent"
    if way == "archive":
        zipapp.create_archive("agent", "agent.pyz")
        target = "agent.pyz"
    said, *_ = find("__main__:work", target, path=(str(program / target),), main="__main__")()
    assert said.startswith("__main__ True ")


def test_what_the_program_finds_in_sys_argv_is_what_it_was(program: Path) -> None:
    assert entry.argv(manifest("agent:work", "agent.py", "--city", "Oslo")) == ["agent.py", "--city", "Oslo"]
    assert entry.argv(manifest("agent:work", "-m", "pkg.agent", "--city")) == ["-m", "--city"]
    assert entry.argv(manifest("agent:work", "-mpkg.agent", "--city")) == ["-m", "--city"]
    assert entry.argv(manifest("agent:work", "-c", "import agent", "x")) == ["-c", "x"]
    assert entry.argv(manifest("agent:work")) == [""]


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
        find(name, "agent.py")


@pytest.mark.parametrize(
    ("target", "main", "message"),
    [
        ("gone.py", "", "No such file"),
        ("-c", "", "the program was no file"),
        ("-m", "gone_of_test_entry", "no module gone_of_test_entry any more"),
        ("gone", "__main__", "no module __main__ any more"),
    ],
)
def test_a_program_that_is_gone_is_told(program: Path, target: str, main: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find("__main__:work", target, main=main)
