"""What a replay found: in order, with causes, steps, and what one has to know to read it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from reenact.engine.divergence import Datum, Divergence, What
from reenact.launch import manifest as manifests
from reenact.launch.launcher import Replayed
from reenact.launch.spec import Report
from reenact.report.findings import SWALLOWED, UNKNOWN_SEED, findings
from reenact.tape.recording import Recording
from tests.trajectory.made import Made, says, user

SETS = Divergence(
    What.OUTPUT,
    "0",
    expected=Datum("stdout", "stdout", b"{'a', 'b'}\n"),
    actual=Datum("stdout", "stdout", b"{'b', 'a'}\n"),
)


def replayed(recording: Recording, *found: Divergence, **manifest: object) -> Replayed:
    given = msgspec.structs.replace(manifests.decode(recording.manifest), **manifest)
    return Replayed(0, Report(divergences=list(found), begun=True, complete=True), given, recording)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "desk-7f3a.tape")


def test_output_and_calls_have_the_step_that_they_come_in(made: Made) -> None:
    for number in range(2):
        made.ask([user(f"Question {number}")], says("Hi"))
    made.http("GET https://shop.example/orders", 200)
    recording = made.done()
    for after, step in ((None, None), (0, 1), (1, 2), (2, None)):
        (found,) = findings(replayed(recording, msgspec.structs.replace(SETS, after=after)))
        assert found.step == step
    missing = Divergence(What.MISSING, "0", 1, expected=Datum("sleep", "1"))
    assert [one.step for one in findings(replayed(recording, missing))] == [2]


def test_the_order_of_sets_is_unknown_where_the_hash_seed_is(made: Made) -> None:
    recording = made.done()
    for entry, seeded, told in (("", False, False), ("agent:work", True, False), ("agent:work", False, True)):
        (found,) = findings(replayed(recording, SETS, entry=entry, hash_seed_set=seeded))
        assert found.cause is not None
        assert found.cause.slug == "unordered"
        assert (UNKNOWN_SEED in found.notes) is told


def test_only_what_was_raised_can_have_been_swallowed(made: Made) -> None:
    recording = made.done()
    call = Divergence(What.EXTRA, "0", actual=Datum("sleep", "1"))
    assert SWALLOWED in findings(replayed(recording, call))[0].notes
    assert SWALLOWED not in findings(replayed(recording, SETS))[0].notes
