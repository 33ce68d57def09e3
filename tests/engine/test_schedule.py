"""Schedules: which orders are tried, and that a chooser follows them."""

from __future__ import annotations

from itertools import product

import pytest

from reenact.engine.schedule import DEADLINE, RECORDED, Choice, Chooser, Option, Schedule, schedules


def option(event: int, lane: str = "") -> Option:
    return Option(event, event, lane or f"0.{event}")


def choices(*sizes: int) -> tuple[Choice, ...]:
    """Moments at which so many answers were pending, each of them another."""
    return tuple(Choice(tuple(option(10 * n + k) for k in range(size)), 0) for n, size in enumerate(sizes))


def test_the_recorded_order_takes_what_comes_first_on_tape() -> None:
    chooser = Chooser(RECORDED)
    assert [chooser.choose([option(0), option(1)]) for _ in range(3)] == [0, 0, 0]
    assert not chooser.departed


def test_an_answer_that_comes_early_comes_whole() -> None:
    chooser = Chooser(Schedule({1: 1}))
    pending = [option(0), option(1), option(2)]
    assert [chooser.choose(pending) for _ in range(4)] == [0, 1, 1, 1]
    assert chooser.departed
    assert chooser.choose([option(0), option(2)]) == 0
    assert [choice.kept_order for choice in chooser.choices] == [True, False, False, False, True]


def test_a_deadline_that_comes_early_comes_once() -> None:
    chooser = Chooser(Schedule({0: 1}))
    pending = [option(0), Option(-1, DEADLINE, "0")]
    assert [chooser.choose(pending) for _ in range(2)] == [1, 0]


def test_each_pending_answer_comes_early_once_and_the_next_on_tape_first() -> None:
    tried = [schedule.early for schedule in schedules(choices(3, 2), 0, 20)]
    assert tried[:3] == [{0: 1}, {1: 1}, {0: 2}]
    assert not any(tried[3:])


def test_the_same_answer_before_the_same_other_is_tried_once() -> None:
    pending = Choice((option(0), option(1)), 0)
    tried = [schedule.early for schedule in schedules((pending, pending, pending), 0, 20)]
    assert [early for early in tried if early] == [{0: 1}]


@pytest.mark.parametrize(("runs", "seed"), [*product((1, 2, 7, 50), (0, 1))])
def test_there_are_as_many_as_asked_for_and_half_of_them_by_chance(runs: int, seed: int) -> None:
    tried = list(schedules(choices(*[4] * 30), seed, runs))
    assert len(tried) == runs
    assert sum(schedule.seed is not None for schedule in tried) == runs - runs // 2
    assert tried == list(schedules(choices(*[4] * 30), seed, runs))


def test_another_seed_tries_others() -> None:
    assert list(schedules(choices(2, 2), 0, 9)) != list(schedules(choices(2, 2), 1, 9))


def test_where_nothing_else_could_come_nothing_is_tried() -> None:
    assert list(schedules((), 0, 50)) == []


def test_chance_chooses_the_same_again_and_every_option_now_and_then() -> None:
    def chosen(schedule: Schedule) -> list[int]:
        chooser = Chooser(schedule)
        return [chooser.choose([option(3 * n + k) for k in range(3)]) for n in range(60)]

    assert chosen(Schedule(seed=4)) == chosen(Schedule(seed=4))
    assert set(chosen(Schedule(seed=4))) == {0, 1, 2}


def test_a_lane_keeps_its_priority_until_it_falls() -> None:
    pending = [option(0, "0.1"), option(1, "0.2"), option(2, "0.3")]

    def lanes(falls: tuple[int, ...]) -> list[str]:
        chooser = Chooser(Schedule(seed=1, falls=falls))
        # each answer is one of many of its lane, so that none comes whole
        rounds = [[Option(n, 10 + n, each.lane) for each in pending] for n in range(6)]
        return [options[chooser.choose(options)].lane for options in rounds]

    before, after = lanes((99,)), lanes((3,))
    assert len(set(before)) == 1
    assert after[:3] == before[:3]
    assert len(set(after[3:])) == 1
    assert after[3] != before[3]
