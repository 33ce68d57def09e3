"""Forgeries are found: by the seal, the chain and the tables, and where all of that is made right, by a signature."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from reenact.errors import TapeError
from reenact.tape import seal as seals
from reenact.tape import signatures
from reenact.tape.check import State, Wanted, check
from reenact.tape.reader import read
from tests.integrity.flips import refused
from tests.integrity.forgeries import (
    OTHER_RUN,
    RUN,
    Care,
    Forgery,
    answer_changed,
    by_records,
    forgeries,
    log_beside,
    original,
)

FORGERIES = list(forgeries())
UNSEEN = {
    "answer changed", "answers exchanged", "events reordered", "event removed", "last event removed", "event inserted",
    "event duplicated", "part duplicated", "command changed", "exit status changed", "output changed", "clock changed",
}  # fmt: skip
"""What nobody can see who has no key, when it was done with all care."""


ALL_MADE_RIGHT = [forgery for forgery in FORGERIES if forgery.care is Care.ALL and forgery.name in UNSEEN]


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tapes of one agent, signed by the key `ours`; and a key `theirs`."""
    folder = tmp_path_factory.mktemp("tapes")
    for name in ("ours", "theirs"):
        signatures.new_key(folder / name)
    for run in (RUN, OTHER_RUN):
        sign(original(folder, run), folder / "ours")
    return folder


def sign(tape: Path, key: Path) -> None:
    seal = read(tape).seal
    assert seal is not None
    signatures.sign(tape, seal, signatures.private_key(key, bytes))


@pytest.fixture
def tape(tapes: Path, tmp_path: Path) -> Path:
    """A copy of the first, under its name."""
    return Path(shutil.copy(tapes / f"{RUN}.tape", tmp_path))


def public(folder: Path, name: str = "ours") -> bytes:
    return signatures.public_key(folder / f"{name}.pub")


def test_the_original_is_sound(tapes: Path, tape: Path) -> None:
    """Otherwise all below would be found for another reason."""
    found = check(tape, wanted=Wanted(RUN, public(tapes)))
    assert (found.state, found.damage) == (State.SOUND, ())


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
def test_a_forgery_is_found(tapes: Path, tape: Path, forgery: Forgery) -> None:
    forgery.forge(tape, tapes / f"{OTHER_RUN}.tape")
    found = check(tape, wanted=Wanted(RUN))
    unseen = forgery.care in (Care.CHAIN, Care.ALL) and forgery.name in UNSEEN
    assert found.state is State.DAMAGED or unseen, "found by nothing but a signature"
    if found.state is not State.DAMAGED:
        found = check(tape, wanted=Wanted(RUN, public(tapes)))
    assert found.state is State.DAMAGED
    assert found.damage


@pytest.mark.parametrize("forgery", [one for one in FORGERIES if one.care is Care.NONE], ids=str)
def test_a_forgery_is_not_read(tapes: Path, tape: Path, forgery: Forgery) -> None:
    """By `show`, `replay` and `verify`; what lies beside a tape is not read with it."""
    before = read(tape)
    forgery.forge(tape, tapes / f"{OTHER_RUN}.tape")
    if "beside" in forgery.name:
        assert read(tape).events == before.events
    else:
        assert refused(tape)


@pytest.mark.parametrize("forgery", ALL_MADE_RIGHT, ids=str)
def test_no_care_makes_a_signature(tapes: Path, tape: Path, forgery: Forgery) -> None:
    """The signature of the original is that of no other tape, and one by another key is not ours."""
    kept = seals.read(tape).signatures
    forgery.forge(tape, tape)
    assert check(tape, wanted=Wanted(RUN)).state is State.SOUND
    seal = seals.read(tape)
    seals.change(tape, replace(seal, signatures=kept))
    assert "that key has not signed this tape" in check(tape).damage[0]
    seals.change(tape, seal)
    sign(tape, tapes / "theirs")
    assert check(tape, wanted=Wanted(RUN)).state is State.SOUND
    told = check(tape, wanted=Wanted(RUN, public(tapes))).damage[0]
    assert f"and not by {signatures.name_of(public(tapes))}" in told


def test_sqlite_itself_would_be_fooled_by_what_lies_beside_a_tape(tape: Path) -> None:
    """So that this forgery is one."""
    before = read(tape)
    log_beside(tape, tape)
    assert read(tape).events == before.events
    with closing(sqlite3.connect(tape)) as db:
        assert db.execute("SELECT DISTINCT name FROM event").fetchall() == [("GET https://other.example/",)]


def test_an_answer_that_was_changed_with_all_care_is_read(tape: Path) -> None:
    """What a signature is for: the forged tape says what the forger wants, and all else is right."""
    before = read(tape)
    by_records(answer_changed, Care.ALL)(tape, tape)
    after = read(tape)
    assert [event.name for event in after.events] == [event.name for event in before.events]
    assert after.events != before.events
    with pytest.raises(TapeError, match="it is not signed"):
        signatures.check(after.seal, b"x" * 32)
