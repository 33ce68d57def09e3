"""Nothing that was planted reaches the disk, wherever a run meets it, and the run is verified all the same."""

from __future__ import annotations

import pytest

from tests.planted.trial import LATE, Trial, trial
from tests.runs import pythons

LEAST = 40


@pytest.fixture(scope="module", params=pythons())
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return trial(tmp_path_factory.mktemp("planted"), request.param)


def test_nothing_that_was_planted_is_in_any_byte_of_the_store(done: Trial) -> None:
    assert len(done.planted) >= LEAST
    assert not done.leaked, done.told


def test_what_nobody_knew_is_on_disk_until_the_tape_is_closed(done: Trial) -> None:
    assert done.during.keys() == LATE.keys(), "or this looks at nothing while the run goes on"
    assert not done.after


def test_the_run_is_verified_all_the_same(done: Trial) -> None:
    recorded, asked, identical = done.boundaries
    assert recorded == asked == identical >= LEAST, done.told
    assert done.verdict == "verified", done.told


def test_the_store_is_private_whatever_the_umask(done: Trial) -> None:
    assert not done.open_files
