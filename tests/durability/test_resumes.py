"""A resumption is stopped at each of its writes, syncs, renames and so on: nothing is lost, and the next one works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.crash import WAYS
from tests.durability.power import FEW, MANY, SAMPLE, tally_of
from tests.durability.resumes import power, resumes


def test_a_resumption_that_is_stopped_loses_nothing(watching: Path, tmp_path: Path) -> None:
    assert not resumes("all is killed", watching, tmp_path, some=2).wrong


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_resumption_that_is_stopped_at_any_operation_loses_nothing(watching: Path, tmp_path: Path, way: str) -> None:
    assert not resumes(way, watching, tmp_path).wrong


def test_power_that_is_lost_while_a_run_is_resumed_costs_nothing(watching: Path, tmp_path: Path) -> None:
    assert not tally_of("resume", power(watching, tmp_path / "resume", FEW), SAMPLE).wrong


@pytest.mark.slow
def test_power_that_is_lost_in_many_ways_while_a_run_is_resumed_costs_nothing(watching: Path, tmp_path: Path) -> None:
    assert not tally_of("resume", power(watching, tmp_path / "resume", MANY), 1000).wrong
