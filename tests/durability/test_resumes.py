"""A resumption is stopped at each of its writes, syncs, renames and so on: nothing is lost, and the next one works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.crash import WAYS
from tests.durability.resumes import resumes


def test_a_resumption_that_is_stopped_loses_nothing(watching: Path, tmp_path: Path) -> None:
    assert not resumes("all is killed", watching, tmp_path, some=2).wrong


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_resumption_that_is_stopped_at_any_operation_loses_nothing(watching: Path, tmp_path: Path, way: str) -> None:
    assert not resumes(way, watching, tmp_path).wrong
