"""What differs between two states, though what is shown of them is cut."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import msgspec
import pytest

from reenact.probe.compare import Difference, What, differences
from reenact.probe.stack import Stack
from reenact.probe.state import ALL, Limits, State, state_of


class Thing:
    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


def frame(held: Any) -> FrameType:
    return sys._getframe()


def entered(value: Any) -> FrameType:
    return sys._getframe()


def state(*frames: FrameType, limits: Limits = ALL, lane: str = "0") -> State:
    """As it comes out of a process: through JSON and back."""
    found = state_of([Stack(lane, "main", "MainThread", list(frames))], msgspec.structs.replace(limits, things=False))
    return msgspec.json.decode(msgspec.json.encode(found), type=State)


def found(before: Any, after: Any, limits: Limits = ALL) -> list[Difference]:
    told = differences(state(frame(before), limits=limits), state(frame(after), limits=limits))
    return [one for one in told if one.variable == "held"]


def paths(before: Any, after: Any) -> list[str]:
    return [one.path for one in found(before, after)]


MESSAGES = [{"role": "user", "content": f"message {at}"} for at in range(9)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1, 1, []),
        (1, 2, ["held"]),
        (1, True, ["held"]),
        ([1, 2], [1, 2, 3], ["held[2]"]),
        (MESSAGES, [*MESSAGES[:4], {"role": "user", "content": "message four"}, *MESSAGES[5:]], ["held[4]['content']"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["held['a']['b']"]),
        ({1: "a"}, {1: "b"}, ["held[1]"]),
        (Thing(total=1, items=[1]), Thing(total=1, items=[2]), ["held.items[0]"]),
        (Thing(total=(1, 2)), Thing(total=(1, 3)), ["held.total[1]"]),
        ([1], (1,), ["held"]),
        ({1, 2}, {2, 1}, []),
        (object(), object(), []),
        ("a b c", "a x c", ["held"]),
    ],
)
def test_the_place_is_named_by_its_path(before: Any, after: Any, expected: list[str]) -> None:
    assert paths(before, after) == expected


def test_what_is_not_shown_is_compared_all_the_same() -> None:
    few = Limits(depth=1, items=2, letters=10)
    deep, wide, long = [[[[1]]]], list(range(100)), "x" * 1000
    assert not found([deep, wide, long], [deep, wide, long], few)
    assert found(deep, [[[[2]]]], few)
    assert found(wide, [*range(99), 0], few)
    assert found(long, "x" * 999 + "y", few)
    assert found({"token": "a", "more": wide}, {"token": "b", "more": wide}, few), "nothing is left out for its name"


def test_a_change_says_what_was_there_and_what_is() -> None:
    (one,) = found(MESSAGES, [*MESSAGES, {"role": "assistant", "content": "yes"}])
    assert one.change is not None
    assert (one.what, one.path, one.change.before) == (What.CHANGED, "held[9]", None)
    (word,) = found("the quick brown fox jumps over it", "the quick red fox jumps over it")
    assert word.change is not None
    assert [piece.text for piece in word.change.hunks[0].pieces if piece.mark == "added"] == ["red"]


def test_functions_that_were_entered_and_left_are_told() -> None:
    caller = frame(1)
    told = list(differences(state(caller), state(entered(2), caller)))
    assert [(one.what, one.function.rpartition(":")[2], one.variable) for one in told] == [
        ("new", "entered", ""),
        ("new", "entered", "value"),
    ]
    told = list(differences(state(entered(2), caller), state(caller)))
    assert [(one.what, one.function.rpartition(":")[2]) for one in told] == [("gone", "entered")]


def test_lanes_that_began_and_ended_are_told() -> None:
    told = list(differences(state(frame(1)), state(frame(1), lane="0.1")))
    assert [(one.what, one.lane) for one in told if not one.function] == [("new", "0.1"), ("gone", "0")]


def test_what_two_functions_hold_in_common_is_told_once() -> None:
    shared, other = [1], [1]
    before = state(entered(shared), frame(shared))
    shared.append(2)
    told = [one for one in differences(before, state(entered(shared), frame(shared))) if one.path]
    assert [(one.function.rpartition(":")[2], one.path) for one in told] == [("entered", "value[1]")]
    told = list(differences(before, state(entered(shared), frame(other))))
    assert [one.path for one in told] == ["value[1]"]
