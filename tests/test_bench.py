"""What the benchmark says of its runs: an interval of their median, and whether that meets a target."""

from __future__ import annotations

import pytest

from bench.figure import AtMost, AtMostTimes, Figure, Quantity, Verdict, interval


@pytest.mark.parametrize(("runs", "left"), [(1, 0), (2, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5)])
def test_the_interval_is_that_of_the_tables(runs: int, left: int) -> None:
    """As tables of the sign test have it (Conover, table A3), for 95 %."""
    assert interval([float(run) for run in reversed(range(runs))]) == (left, runs - 1 - left)


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([400.0] * 12, Verdict.MET),
        ([400.0] * 10 + [900.0] * 2, Verdict.MET),
        ([400.0] * 9 + [900.0] * 3, Verdict.UNDETERMINED),
        ([400.0] * 3 + [900.0] * 9, Verdict.UNDETERMINED),
        ([400.0] * 2 + [900.0] * 10, Verdict.MISSED),
        ([400.0, 900.0], Verdict.UNDETERMINED),
    ],
)
def test_a_target_is_met_by_all_of_the_interval(runs: list[float], verdict: Verdict) -> None:
    def judged(target: AtMost | AtMostTimes) -> Verdict | None:
        return Figure("group", "what", Quantity(0), "next to", 0, target, tuple(runs)).verdict

    assert judged(AtMost(Quantity(500))) is verdict
    assert judged(AtMostTimes(500)) is verdict
