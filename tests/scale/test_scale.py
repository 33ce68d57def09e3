"""A recording under strain does the program no harm, says clearly what it could not do, and holds little in memory."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.scale.cases import CASES, LONG, SHORT, Case

_LINUX = ("full", "full-for-a-while", "full-at-first", "read-only", "closes-in-c", "clock")
_SAMPLE = [name for name in CASES if name not in ("answer-httpx-async", "answer-aiohttp", "closes-each")]


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    name: str = request.param
    if name in _LINUX and sys.platform != "linux":
        pytest.skip("Linux only")
    if name.startswith(("full", "read-only")):
        request.getfixturevalue("namespaces")
    if name == "clock" and shutil.which("gcc") is None:
        pytest.skip("no C compiler, to make a clock that goes back")
    return CASES[name]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("case", _SAMPLE, indirect=True)
def test_a_recording_under_strain(case: Case, tmp_path: Path) -> None:
    row = case(tmp_path / "case", SHORT)
    assert not row.wrong, row


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, indirect=True)
def test_a_recording_under_much_strain(case: Case, tmp_path: Path) -> None:
    row = case(tmp_path / "case", LONG)
    assert not row.wrong, row
