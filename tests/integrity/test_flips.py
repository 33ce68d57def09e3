"""Not one bit of a closed tape can change unnoticed: those of free space, of SQLite's own, and of the seal among them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from reenact.tape import signatures
from reenact.tape.check import State, check
from reenact.tape.reader import read
from tests.integrity.flips import cut, damaged, flipped, refused
from tests.integrity.forgeries import original


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return original(tmp_path)


@pytest.fixture
def signed(tape: Path, tmp_path: Path) -> Path:
    """The same, with two signatures: their bits are of the file, too."""
    for name in ("one", "two"):
        signatures.new_key(tmp_path / name)
        seal = read(tape).seal
        assert seal is not None
        signatures.sign(tape, seal, signatures.private_key(tmp_path / name, bytes))
    return tape


def bits(path: Path) -> range:
    return range(path.stat().st_size * 8)


def test_a_turned_bit_is_never_read(tape: Path) -> None:
    """One in eleven of all, so at least one of each byte and all eight in turn."""
    count = flipped(tape, bits(tape)[::11], refused)
    assert count.tried > 10_000
    assert count.missed == []
    assert check(tape).state is State.SOUND


@pytest.mark.slow
def test_no_turned_bit_is_ever_read(tape: Path) -> None:
    count = flipped(tape, bits(tape), refused)
    assert (count.tried, count.missed) == (len(bits(tape)), [])


def test_a_turned_bit_is_damage(tape: Path) -> None:
    chance = random.Random(7312)
    count = flipped(tape, chance.sample(bits(tape), 500), damaged)
    assert (count.tried, count.missed) == (500, [])


@pytest.mark.slow
def test_every_turned_bit_is_damage(tape: Path) -> None:
    assert flipped(tape, bits(tape), damaged).missed == []


def test_every_turned_bit_of_a_seal_is_found(signed: Path) -> None:
    seal = read(signed).seal
    assert seal is not None
    assert len(seal.signatures) == 2
    for finds in (refused, damaged):
        count = flipped(signed, bits(signed)[seal.size * 8 :], finds)
        assert (count.tried, count.missed) == ((2 * 96 + 48) * 8, [])


def test_a_tape_that_was_cut_off_anywhere_is_never_read(tape: Path) -> None:
    size = tape.stat().st_size
    assert cut(tape, [*range(0, size, 17), *range(size - 60, size)], refused).missed == []
    assert cut(tape, range(0, size, size // 40), damaged).missed == []
    assert check(tape).state is State.SOUND
