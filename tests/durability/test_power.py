"""Power is lost at any moment of a recording: whatever the disk holds then, the tape is sound, and nothing is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.power import COMMITS, FEW, MANY, SAMPLE, committing, recorded, tally_of
from tests.durability.programs import ALONE, PROGRAMS


def test_power_that_is_lost_costs_nothing_that_was_promised(watching: Path, tmp_path: Path) -> None:
    assert not tally_of("alone", recorded(ALONE, watching, tmp_path, FEW), SAMPLE).wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_power_that_is_lost_in_many_ways_costs_nothing_that_was_promised(
    watching: Path, tmp_path: Path, name: str
) -> None:
    assert not tally_of(name, recorded(PROGRAMS[name], watching, tmp_path, MANY), 1000).wrong


def test_power_that_is_lost_costs_no_commit(watching: Path, tmp_path: Path) -> None:
    assert not tally_of("the writer alone", committing(watching, tmp_path, FEW), SAMPLE).wrong


@pytest.mark.slow
def test_power_that_is_lost_in_many_ways_costs_no_commit(watching: Path, tmp_path: Path) -> None:
    assert not tally_of("the writer alone", committing(watching, tmp_path, MANY), 1000).wrong


SPOILT = {
    "it does not wait for the disk": ("for number", "writer._db.execute('PRAGMA synchronous = OFF')\nfor number"),
    "it tells of a commit before it is made": ("    if number", "    print(number, flush=True)\n    if number"),
    "nothing is synced while it is in no hurry": (
        "with writer.in_no_hurry():",
        "for level in ('OFF', 'FULL'):\n            writer._db.execute(f'PRAGMA synchronous = {level}')",
    ),
}


@pytest.mark.parametrize("how", [*list(SPOILT)[:2], pytest.param(list(SPOILT)[2], marks=pytest.mark.slow)])
def test_a_writer_that_promises_too_much_is_found_out(watching: Path, tmp_path: Path, how: str) -> None:
    """That these tests can fail."""
    assert SPOILT[how][0] in COMMITS
    assert any(committing(watching, tmp_path, MANY, COMMITS.replace(*SPOILT[how])))
