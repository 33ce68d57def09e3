"""What references open while a program stands still."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest

from reenact.engine.variables import variables_of
from reenact.probe.path import found_at
from reenact.probe.values import Gone, Handles, path


class Thing:
    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    @property
    def computed(self) -> int:
        return 3


def test_each_reference_opens_what_is_inside_by_pages() -> None:
    handles = Handles()
    shown = handles.show("messages", [{"role": "user", (1, 2): {"a"}}] * 250)
    assert (shown.name, shown.type, shown.count) == ("messages", "list", 250)
    assert [one.name for one in handles.page(shown.ref, 248)] == ["[248]", "[249]"]
    first = handles.page(shown.ref, 0, 1)[0]
    role, other = handles.page(first.ref)
    assert (role.name, role.text, role.ref, role.count) == ("['role']", "'user'", 0, 0)
    assert (other.name, handles.page(other.ref)[0].name) == ("[(1, 2)]", "{0}")
    assert path(path("messages", "[0]"), "['role']") == "messages[0]['role']"
    assert path("order", "total") == "order.total"


def test_a_long_text_is_had_piece_by_piece() -> None:
    handles = Handles()
    text = "".join(chr(0x400 + at % 64) for at in range(10_000))
    shown = handles.show("text", text)
    assert (len(shown.text), shown.count) == (160, 10_000)
    assert "".join(handles.letters(shown.ref, at, 999) for at in range(0, 10_000, 999)) == text
    held = handles.show("data", bytes(range(256)) * 2)
    assert handles.letters(held.ref, 250, 10).encode("latin-1") == bytes(range(250, 256)) + bytes(range(4))
    assert handles.show("short", "text").ref == 0


def test_nothing_is_kept_once_the_program_goes_on() -> None:
    handles, thing = Handles(), Thing(inside=Thing())
    ref = handles.show("thing", thing).ref
    handles.page(ref)
    gone = weakref.ref(thing)
    handles.clear()
    del thing
    gc.collect()
    assert gone() is None
    with pytest.raises(Gone):
        handles.page(ref)
    assert handles.show("other", Thing(a=1)).ref > ref


def test_attributes_and_items_are_numbered_through() -> None:
    class Items(list[int]):
        owner: str

    items = Items(range(10))
    items.owner = "me"
    handles = Handles()
    ref = handles.show("items", items).ref
    assert [one.name for one in handles.page(ref, 0, 3)] == ["owner", "[0]", "[1]"]
    assert [one.name for one in handles.page(ref, 10, 3)] == ["[9]"]


def test_a_path_is_found_without_running_anything() -> None:
    order = Thing(lines=[{"price": 3}], total=7)  # noqa: F841  found by its name
    frame = sys._getframe()
    assert found_at("order.lines[0]['price']", frame) == 3
    assert found_at("order.lines[-1]", frame) == {"price": 3}
    assert found_at("order.computed + order.total", frame) == 10
    with pytest.raises(NameError):
        found_at("nothing", frame)


def test_variables_are_read_where_they_lie() -> None:
    def outer(given: int, *rest: int, unbound: int = 0) -> tuple[Any, ...]:
        held, kept = Thing(), locals()
        gone = weakref.ref(held)

        def inner() -> tuple[dict[str, Any], dict[str, Any]]:
            later = given  # noqa: F841  it is looked at
            return variables_of(sys._getframe()), variables_of(sys._getframe(1))

        del unbound
        found = inner()
        names = sorted(found[1])
        del held, found
        return names, gone(), "gone" in kept, inner()[0], later_of(kept)

    def later_of(kept: dict[str, Any]) -> list[str]:
        return sorted(kept)

    names, held, refreshed, inside, kept = outer(1, 2)
    assert names == ["given", "gone", "held", "inner", "kept", "later_of", "rest"]
    assert held is None, "the look keeps it alive"
    assert not refreshed, "the look changes what the program has from locals()"
    assert inside == {"later": 1, "given": 1}
    assert "inner" not in kept


def test_below_a_trace_function_nothing_is_lost() -> None:
    seen: list[dict[str, Any]] = []

    def traced(frame: Any, _event: str, _arg: Any) -> Any:
        if frame.f_code.co_name == "adds":
            seen.append(variables_of(frame))
        return traced

    def adds() -> int:
        one = 1
        two = 2
        return one + two

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        assert adds() == 3
    finally:
        sys.settrace(before)
    assert seen[-1] == {"one": 1, "two": 2}
