"""A recording is stopped at each of its writes, syncs, renames and so on: the tape is sound, and nothing is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.crash import CASES, WAYS, crashes


@pytest.mark.parametrize("way", WAYS)
def test_a_recording_that_is_stopped_keeps_its_promise(watching: Path, tmp_path: Path, way: str) -> None:
    assert not crashes("alone", way, watching, tmp_path, some=2).wrong


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_recording_that_is_stopped_at_any_operation_keeps_its_promise(
    watching: Path, tmp_path: Path, name: str, way: str
) -> None:
    assert not crashes(name, way, watching, tmp_path).wrong
