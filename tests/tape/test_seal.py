"""The seal, with no code of ours: what somebody else would write to check a tape, and a signature on it."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace

from reenact.errors import SignatureError, TapeCorruptError, UsageError
from reenact.tape import replacing as replacing_module
from reenact.tape import seal as seals
from reenact.tape import signatures
from reenact.tape.close import close
from reenact.tape.reader import read
from reenact.tape.replacing import replacing
from reenact.tape.seal import MOST_SIGNATURES, Seal, Signature
from tests.tape.records import run, written


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = written(tmp_path / "run-1.tape", run())
    close(path, 0)
    return path


def seal_of(tape: Path) -> Seal:
    seal = read(tape).seal
    assert seal is not None
    return seal


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_seal_is_what_the_documents_say(tape: Path) -> None:
    data = tape.read_bytes()
    assert data[-8:] == b"rnctseal"
    assert data[-40:-8] == hashlib.sha256(data[:-40]).digest()
    size = int.from_bytes(data[-48:-40], "big")
    assert size == len(data) - 48
    assert seal_of(tape) == Seal(size, hashlib.sha256(data[:size]).digest())


def test_a_signature_is_what_the_documents_say(tape: Path) -> None:
    key = Ed25519PrivateKey.generate()
    before = tape.read_bytes()[:-48]
    public = signatures.sign(tape, seal_of(tape), key)
    data = tape.read_bytes()
    assert data[: len(before)] == before
    made = data[len(before) : -48]
    assert (len(made), made[:32]) == (96, public)
    statement = b"a sealed tape of reenact\n" + hashlib.sha256(before).digest()
    Ed25519PublicKey.from_public_bytes(made[:32]).verify(made[32:], statement)
    with pytest.raises(InvalidSignature):
        key.public_key().verify(made[32:], hashlib.sha256(before).digest())


def test_sqlite_reads_a_sealed_tape_like_any_database(tape: Path) -> None:
    before = tape.read_bytes()
    with closing(sqlite3.connect(tape)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM event").fetchone() == (3,)
    assert tape.read_bytes() == before


@pytest.mark.parametrize("count", [0, 1, 5, MOST_SIGNATURES])
def test_no_seal_makes_a_file_as_long_as_a_database(tape: Path, count: int) -> None:
    """So one that is being written need not be opened to see that it has none."""
    seal = replace(seal_of(tape), signatures=(Signature(b"k" * 32, b"v" * 64),) * count)
    seals.change(tape, seal)
    assert tape.stat().st_size % 512
    assert seals.read(tape) == seal


def test_more_signatures_than_there_can_be_are_refused(tape: Path) -> None:
    seals.change(tape, replace(seal_of(tape), signatures=(Signature(b"k" * 32, b"v" * 64),) * MOST_SIGNATURES))
    with pytest.raises(UsageError, match="as many as there can be"):
        signatures.sign(tape, seals.read(tape), Ed25519PrivateKey.generate())
    seals.change(tape, replace(seals.read(tape), signatures=(Signature(b"k" * 32, b"v" * 64),) * (MOST_SIGNATURES + 1)))
    with pytest.raises(TapeCorruptError):
        seals.read(tape)


def test_a_key_that_is_none_has_signed_nothing(tape: Path) -> None:
    for key in (bytes(32), b"\xff" * 32):
        seals.change(tape, replace(seals.read(tape), signatures=(Signature(key, bytes(64)),)))
        with pytest.raises(SignatureError, match="that key has not signed this tape"):
            signatures.check(seals.read(tape), key)


def test_a_seal_of_another_database_is_not_put_on_a_tape(tape: Path) -> None:
    before = tape.read_bytes()
    with pytest.raises(TapeCorruptError, match="has changed meanwhile"):
        seals.change(tape, replace(seal_of(tape), digest=bytes(32)))
    assert tape.read_bytes() == before
    assert names(tape.parent) == [tape.name]


@pytest.mark.parametrize("data", [b"", b"rnctseal", b"x" * 47, bytes(40) + b"rnctseal", b"\xff" * 40 + b"rnctseal"])
def test_a_file_that_is_nothing_but_a_seal_is_corrupt_or_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.tape"
    path.write_bytes(data)
    assert seals.is_sealed(path) == data.endswith(b"rnctseal")
    if seals.is_sealed(path):
        with pytest.raises(TapeCorruptError):
            seals.read(path)


def test_what_takes_the_place_of_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fails(_path: Path) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(replacing_module.disk, "sync", fails)
        with pytest.raises(OSError, match="the disk is gone"), replacing(path) as new:
            new.write_text("new")
    assert (path.read_text(), names(tmp_path)) == ("old", ["file"])
    with replacing(path) as new:
        new.write_text("new")
        assert path.read_text() == "old"
    assert (path.read_text(), names(tmp_path)) == ("new", ["file"])
    assert path.stat().st_mode & 0o777 == 0o600
