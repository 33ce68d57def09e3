"""Which runs are recorded: rates, and sessions that are recorded whole or not at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reenact.errors import UsageError
from reenact.launch import sampling
from reenact.launch.sampling import is_off, is_sampled, rate_around, rate_of

RUNS = 4000


@pytest.mark.parametrize("given", [0, 1, 0.05, "0.05", "1e-3", True])
def test_a_rate_is_a_number_from_0_to_1(given: object) -> None:
    assert 0 <= rate_of(given) <= 1


@pytest.mark.parametrize(
    "given", [-0.1, 1.1, float("nan"), float("inf"), "nan", "", "half", "5%", None, [0.5], 10**400]
)
def test_what_is_no_rate_is_told_with_where_it_was_given(given: object) -> None:
    with pytest.raises(
        UsageError, match=r"^REENACT_SAMPLE is the share of runs to record, a number from 0 to 1, and not"
    ):
        rate_of(given, "REENACT_SAMPLE")


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("sessions", [True, False])
def test_as_many_runs_are_recorded_as_are_asked_for(rate: float, sessions: bool) -> None:
    """Off by 5 standard deviations once in two million times; the sessions are always the same ones."""
    count = sum(is_sampled(rate, f"session {number}" if sessions else "") for number in range(RUNS))
    assert abs(count - rate * RUNS) < 5 * (rate * (1 - rate) * RUNS) ** 0.5


def test_nobody_and_everybody() -> None:
    assert not any(is_sampled(0, session) for session in ("", "a", "b") for _ in range(50))
    assert all(is_sampled(1, session) for session in ("", "a", "b") for _ in range(50))


def test_a_session_is_recorded_whole_and_by_every_process_alike() -> None:
    chosen = [session for session in (f"support-{number}" for number in range(40)) if is_sampled(0.2, session)]
    assert all(is_sampled(0.2, session) for session in chosen for _ in range(20))
    assert chosen == [
        f"support-{number}" for number in (6, 8, 9, 13, 21, 22, 23, 26, 29, 30, 34)
    ]  # so it stays, with every version


def test_who_is_in_a_small_sample_is_in_a_larger_one() -> None:
    small, large = ({one for one in map(str, range(500)) if is_sampled(rate, one)} for rate in (0.1, 0.3))
    assert small < large


def test_the_program_s_random_numbers_are_left_alone() -> None:
    random.seed(4711)
    expected = random.random()
    random.seed(4711)
    for _ in range(20):
        is_sampled(0.5)
    assert random.random() == expected


def test_the_environment_counts_more_than_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sampling.SAMPLE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert rate_around() == 1
    (tmp_path / "pyproject.toml").write_text("[tool.reenact]\nsample = 0.25\n")
    assert rate_around() == 0.25
    monkeypatch.setenv(sampling.SAMPLE, "0.5")
    assert rate_around() == 0.5
    monkeypatch.delenv(sampling.SAMPLE)
    (tmp_path / "pyproject.toml").write_text("[tool.reenact]\nsample = 25\n")
    with pytest.raises(UsageError, match=r"^\[tool.reenact\] sample is"):
        rate_around()


@pytest.mark.parametrize(
    ("given", "off"), [("false", True), ("0", True), ("OFF", True), ("no", True), ("", False), ("true", False)]
)
def test_the_environment_turns_it_off(given: str, off: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sampling.ENABLED, given)
    assert is_off() is off
