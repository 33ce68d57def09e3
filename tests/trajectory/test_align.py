"""Which steps of two runs are the same step of the work."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.trajectory.align import Gist, aligned


def gist(asked: str, done: str, *, lane: str = "0", tools: tuple[str, ...] = ()) -> Gist:
    def words(text: str) -> int:
        return sum({1 << (sum(map(ord, word)) % 97) for word in text.split()})

    return Gist(lane, asked, done, (), tools, words(asked), words(done), "agent:ask")


def steps(letters: str, lane: str = "0") -> list[Gist]:
    return [gist(f"asked {letter}", f"done {letter}", lane=lane) for letter in letters]


def pairs(old: Sequence[Gist], new: Sequence[Gist]) -> list[tuple[int | None, int | None]]:
    return aligned(old, new)


def test_what_is_the_same_is_paired() -> None:
    assert pairs(steps("abcd"), steps("abcd")) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_step_that_was_put_in_or_left_out_does_not_shift_the_others() -> None:
    assert pairs(steps("abcd"), steps("abxcd")) == [(0, 0), (1, 1), (None, 2), (2, 3), (3, 4)]
    assert pairs(steps("abcd"), steps("acd")) == [(0, 0), (1, None), (2, 1), (3, 2)]


def test_what_stands_between_the_same_is_the_same_step_however_it_went() -> None:
    old, new = [*steps("a"), gist("one two", "three"), *steps("b")], [*steps("a"), gist("x", "y"), *steps("b")]
    assert pairs(old, new) == [(0, 0), (1, 1), (2, 2)]


def test_steps_that_are_alike_are_paired_in_their_order() -> None:
    old = [gist(f"look up the order {n} of the customer", f"call {n}", tools=("look",)) for n in range(4)]
    new = [gist(f"look up the order {n + 50} of the customer", f"call {n + 50}", tools=("look",)) for n in range(3)]
    found = [pair for pair in pairs(old, new) if None not in pair]
    assert len(found) == 3
    assert found == sorted(found)


def test_lanes_that_take_turns_otherwise_are_the_same() -> None:
    one, other = steps("abc", "0.1"), steps("xyz", "0.2")
    found = pairs([*one, *other], [other[0], one[0], other[1], one[1], other[2], one[2]])
    assert sorted(found) == [(0, 1), (1, 3), (2, 5), (3, 0), (4, 2), (5, 4)]


def test_work_that_another_lane_has_done_is_the_same() -> None:
    found = pairs([*steps("ab", "0.1"), *steps("cd", "0.2")], [*steps("cb", "0.1"), *steps("ad", "0.2")])
    assert sorted(found) == [(0, 2), (1, 1), (2, 0), (3, 3)]


def test_lanes_without_a_counterpart_are_compared_with_each_other() -> None:
    assert pairs(steps("abc", "0"), steps("abc", "0.1")) == [(0, 0), (1, 1), (2, 2)]


@given(st.text("abcd", max_size=12), st.text("abcd", max_size=12))
def test_each_step_is_told_once_and_each_side_in_its_order(old: str, new: str) -> None:
    found = pairs(steps(old), steps(new))
    for side, letters in ((0, old), (1, new)):
        numbers = [pair[side] for pair in found if pair[side] is not None]
        assert numbers == list(range(len(letters)))


@given(st.text("abcdefgh", max_size=30), st.sets(st.integers(0, 29), max_size=5))
def test_what_is_left_is_paired_with_itself(letters: str, gone: set[int]) -> None:
    unique = [gist(f"asked {letter} {at}", f"done {at}") for at, letter in enumerate(letters)]
    kept = [at for at in range(len(unique)) if at not in gone]
    found = dict(pair for pair in pairs(unique, [unique[at] for at in kept]) if pair[0] is not None)
    assert {at: found[at] for at in kept} == {at: number for number, at in enumerate(kept)}


@pytest.mark.parametrize("same", [0.0, 0.5])
def test_a_thousand_steps_take_seconds(same: float) -> None:
    chance = random.Random(7)

    def other(number: int) -> Gist:
        words = " ".join(str(chance.randrange(10_000)) for _ in range(8))
        return gist(words, f"{words} {number}", tools=("look",))

    old = [other(number) for number in range(1_000)]
    new = [one if chance.random() < same else other(number) for number, one in enumerate(old)]
    began = time.process_time()
    found = pairs(old, new)
    assert time.process_time() - began < 20  # 1 s on an idle machine
    assert {i for i, _ in found if i is not None} == set(range(1_000))
    assert all((at, at) in found for at in range(1_000) if old[at] is new[at])
