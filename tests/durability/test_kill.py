"""A recording is killed at any moment: the tape opens, and explains everything that the world has seen (law 3)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.durability.kills import KILLS, killed_once, kills
from tests.runs import Bench

SAMPLE = 12


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_a_killed_recording_explains_what_the_world_saw(bench: Bench, seed: int) -> None:
    killed_once(bench, random.Random(seed))


@pytest.mark.slow
def test_200_killed_recordings_explain_what_the_world_saw(tmp_path: Path) -> None:
    assert not kills(KILLS, tmp_path).wrong
