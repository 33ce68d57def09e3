"""The journal: every record comes back, and every change to what was written is found."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable, Sequence

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import TapeCorruptError
from reenact.tape import allowance, schema
from reenact.tape import event as ev
from reenact.tape import journal as journal_module
from reenact.tape.allowance import Allowance
from reenact.tape.journal import GENESIS, STORED_BYTES, ClosePacker, Packer, Piece, link, unfold, unpack
from tests.tape.records import beginning, each, exchange, packed, records, run

batches = st.lists(st.lists(records, min_size=1, max_size=5), max_size=8)


def unpacked(pieces: Sequence[Piece]) -> list[list[ev.AnyRecord]]:
    return list(unpack(pieces))


def sealed(*batches: bytes, segment: int = 0) -> list[Piece]:
    """Pieces with a right chain around any bytes at all."""
    pieces, chain = [], GENESIS
    for number, data in enumerate(batches, 1):
        chain = link(chain, number, segment, data)
        pieces.append(Piece(number, segment, data, chain))
    return pieces


# Whatever was packed comes back


def test_every_sort_of_record_is_tried() -> None:
    assert set(each) == set(ev.Record.__subclasses__())


@pytest.mark.parametrize("kind", [Packer, ClosePacker])
@given(batches)
def test_any_records_come_back(kind: type[Packer], batches: list[list[ev.AnyRecord]]) -> None:
    assert unpacked(packed(batches, kind)) == batches


@given(batches, st.integers(0, 200))
def test_records_come_back_over_many_segments(batches: list[list[ev.AnyRecord]], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal_module, "SEGMENT_BYTES", size)
        pieces = packed(batches, ClosePacker)
        assert unpacked(pieces) == batches
        if size == 0:
            assert [piece.segment for piece in pieces] == list(range(len(pieces)))


@given(batches, batches)
def test_another_process_goes_on_in_a_segment_of_its_own(
    one: list[list[ev.AnyRecord]], two: list[list[ev.AnyRecord]]
) -> None:
    pieces = packed(one)
    packer = Packer(pieces[-1].id + 1, pieces[-1].segment + 1, pieces[-1].chain) if pieces else Packer()
    assert unpacked([*pieces, *(packer.pack(batch) for batch in two)]) == one + two


@pytest.mark.parametrize("kind", [Packer, ClosePacker])
def test_a_piece_can_be_read_without_the_later_ones(kind: type[Packer]) -> None:
    pieces = packed(run(), kind)
    for upto in range(len(pieces) + 1):
        assert unpacked(pieces[:upto]) == run()[:upto]


@pytest.mark.parametrize("kind", [Packer, ClosePacker])
def test_large_records_come_back(kind: type[Packer]) -> None:
    data = b"".join(hashlib.sha256(b"%d" % at).digest() for at in range(60_000))
    batch: list[ev.AnyRecord] = [ev.Part(0, 2, 0, data), ev.Part(0, 2, 0, b"x" * 5_000_000)]
    assert unpacked(packed([batch, batch], kind)) == [batch, batch]


@pytest.mark.parametrize("beyond", range(-40, 10))
def test_pieces_of_about_the_size_up_to_which_they_are_stored_come_back(beyond: int) -> None:
    batches: list[list[ev.AnyRecord]] = [[ev.Part(0, 2, 0, b"x" * (STORED_BYTES + beyond))], [ev.Part(0, 2, 0, b"y")]]
    assert unpacked(packed(batches)) == batches


def test_an_empty_journal_is_empty() -> None:
    assert unpacked([]) == []


def test_what_repeats_costs_little_when_the_run_is_over() -> None:
    text = b"".join(b"%x" % hash((at, "word")) for at in range(400))
    pieces = packed([[ev.Part(0, 2, 0, text)] for _ in range(50)], ClosePacker)
    assert sum(len(piece.data) for piece in pieces) < 2 * len(text)


# What the documents say of it


def test_the_chain_is_what_the_schema_says() -> None:
    chain = bytes(32)
    for piece in packed(run()):
        numbers = piece.id.to_bytes(8, "big") + piece.segment.to_bytes(8, "big")
        chain = hashlib.sha256(chain + numbers + piece.data).digest()
        assert piece.chain == chain


@pytest.mark.parametrize("kind", [Packer, ClosePacker])
def test_a_segment_is_one_zstd_frame_of_msgpack_arrays(kind: type[Packer]) -> None:
    """With no code of ours: this is what somebody else would write to read a tape."""
    pieces = packed(run(1), kind)
    frames = {piece.segment: zstandard.ZstdDecompressor().decompressobj() for piece in pieces}
    plain = [msgspec.msgpack.decode(frames[piece.segment].decompress(piece.data)) for piece in pieces]
    assert plain[0] == [[0, beginning()[0].manifest], [1, 0, "0", "main"]]  # type: ignore[union-attr]
    assert plain[1][1] == [4, 0, 1, 1, b'{"status":200,"headers":[]}', None]


# Every change is found


def changed(piece: Piece, field: str, value: object) -> Piece:
    return msgspec.structs.replace(piece, **{field: value})


@pytest.mark.parametrize("kind", [Packer, ClosePacker])
def test_every_single_bit_of_data_and_chain_counts(kind: type[Packer]) -> None:
    """All of them are tried."""
    pieces, tried = packed(run(2), kind), 0
    for at, piece in enumerate(pieces):
        before = pieces[:at]
        for field in ("data", "chain"):
            original: bytes = getattr(piece, field)
            for bit in range(len(original) * 8):
                flipped = bytearray(original)
                flipped[bit // 8] ^= 1 << bit % 8
                with pytest.raises(TapeCorruptError, match=f"piece {piece.id} "):
                    unpacked([*before, changed(piece, field, bytes(flipped)), *pieces[at + 1 :]])
                tried += 1
    assert tried == sum(len(piece.data) + 32 for piece in pieces) * 8


def test_every_single_bit_of_the_numbers_counts() -> None:
    pieces = packed(run(2))
    for at, piece in enumerate(pieces):
        for field in ("id", "segment"):
            for bit in range(64):
                value = getattr(piece, field) ^ 1 << bit
                with pytest.raises(TapeCorruptError):
                    unpacked([*pieces[:at], changed(piece, field, value), *pieces[at + 1 :]])


def test_no_piece_can_be_cut_or_made_longer() -> None:
    pieces = packed(run(2))
    for at, piece in enumerate(pieces):
        for data in (b"", piece.data[:-1], piece.data[1:], piece.data + b"\0", b"\0" + piece.data):
            with pytest.raises(TapeCorruptError):
                unpacked([*pieces[:at], changed(piece, "data", data), *pieces[at + 1 :]])


def removed(pieces: list[Piece], at: int) -> list[Piece]:
    return pieces[:at] + pieces[at + 1 :]


def removed_and_numbered_anew(pieces: list[Piece], at: int) -> list[Piece]:
    return [changed(piece, "id", number) for number, piece in enumerate(removed(pieces, at), 1)]


def exchanged(pieces: list[Piece], at: int) -> list[Piece]:
    return [*pieces[:at], pieces[at + 1], pieces[at], *pieces[at + 2 :]]


def exchanged_and_numbered_anew(pieces: list[Piece], at: int) -> list[Piece]:
    return [changed(piece, "id", number) for number, piece in enumerate(exchanged(pieces, at), 1)]


def duplicated(pieces: list[Piece], at: int) -> list[Piece]:
    return [*pieces[: at + 1], *pieces[at:]]


def duplicated_and_numbered_anew(pieces: list[Piece], at: int) -> list[Piece]:
    return [changed(piece, "id", number) for number, piece in enumerate(duplicated(pieces, at), 1)]


def inserted(pieces: list[Piece], at: int) -> list[Piece]:
    """One that is right in itself: after it the chain is another."""
    before = pieces[at - 1].chain if at else GENESIS
    new = Packer(at + 1, pieces[at].segment + 1, before).pack([ev.Note("forged", "", -1)])
    return [*pieces[:at], new, *(changed(piece, "id", piece.id + 1) for piece in pieces[at:])]


def replaced(pieces: list[Piece], at: int) -> list[Piece]:
    before = pieces[at - 1].chain if at else GENESIS
    new = Packer(at + 1, pieces[at].segment, before).pack([ev.Note("forged", "", -1)])
    return [*pieces[:at], new, *pieces[at + 1 :]]


FORGERIES: list[Callable[[list[Piece], int], list[Piece]]] = [
    removed, removed_and_numbered_anew, exchanged, exchanged_and_numbered_anew, duplicated,
    duplicated_and_numbered_anew, inserted, replaced,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES)
def test_pieces_cannot_be_removed_exchanged_duplicated_inserted_or_replaced(
    forge: Callable[[list[Piece], int], list[Piece]],
) -> None:
    pieces = packed(run(4))
    for at in range(len(pieces) - 1):
        with pytest.raises(TapeCorruptError, match=r"piece \d+ of the journal"):
            unpacked(forge(pieces, at))


def test_pieces_of_another_journal_do_not_fit() -> None:
    ours, theirs = packed(run(3)), packed([beginning(), *(exchange(at, b"other") for at in range(3))])
    for at in range(1, 4):
        with pytest.raises(TapeCorruptError):
            unpacked([*ours[:at], theirs[at], *ours[at + 1 :]])


def test_what_comes_before_the_damage_is_read() -> None:
    """So a reader can say how far a tape is right."""
    pieces = packed(run(3))
    found = iter(unpack([*pieces[:3], changed(pieces[3], "data", b"x"), *pieces[4:]]))
    assert [next(found) for _ in range(3)] == run(3)[:3]
    with pytest.raises(TapeCorruptError):
        next(found)


@pytest.mark.parametrize("numbers", [(0, 1), (2, 3), (1, 3), (1, 1), (2, 1)], ids=str)
def test_numbers_with_a_gap_are_found_although_the_chain_is_right(numbers: tuple[int, int]) -> None:
    pieces, chain = [], GENESIS
    for number, piece in zip(numbers, packed(run(1)), strict=False):
        chain = link(chain, number, 0, piece.data)
        pieces.append(Piece(number, 0, piece.data, chain))
    with pytest.raises(TapeCorruptError):
        unpacked(pieces)


# Bytes with a right chain that no writer made


def frame(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


HOSTILE = {
    "no-zstd": b"not a frame",
    "nothing": b"",
    "no-msgpack": frame(b"\xc1\xc1\xc1"),
    "no-array": frame(msgspec.msgpack.encode({"a": 1})),
    "unknown-record": frame(msgspec.msgpack.encode([[99, 1]])),
    "wrong-types": frame(msgspec.msgpack.encode([[4, "x", 1, 1, b"", None]])),
    "too-few-fields": frame(msgspec.msgpack.encode([[3, 1]])),
    "half-an-array": frame(msgspec.msgpack.encode([[10, 1, None]])[:-1]),
    "more-than-an-array": frame(msgspec.msgpack.encode([[10, 1, None]]) * 2),
    "nested-without-end": frame(b"\x91" * 200_000),
    "causes-without-end": frame(b"\x91\x96\x04\x00\x04\x00\xc4\x00" + b"\x95\xa1m\xa1n\x90\x80" * 100_000),
    "text-that-is-none": frame(
        msgspec.msgpack.encode([[1, 0]])[:-1].replace(b"\x92", b"\x94") + b"\x00\xa2\xff\xfe\xa0"
    ),
    "long-ago-in-the-window": frame(b"x")[:-3] + b"\xff\xff\xff",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_pieces_that_no_writer_made_are_corrupt(data: bytes) -> None:
    with pytest.raises(TapeCorruptError, match="piece 1 of the journal cannot be read"):
        unpacked(sealed(data))


@pytest.mark.parametrize("nested", [False, True])
def test_a_record_of_an_unknown_sort_is_named_and_not_left_out(nested: bool) -> None:
    records: list[object] = [[10, 1, None], [99, 1], [98]]
    if nested:
        records = [[24, "0.1", "worker", msgspec.msgpack.encode(records)]]
    told = f"records of sort 98, 99, which tape format {schema.FORMAT} does not have"
    with pytest.raises(TapeCorruptError, match=told):
        for batch in unpacked(sealed(frame(msgspec.msgpack.encode(records)))):
            assert isinstance(batch[0], ev.Kin)
            unfold(batch[0], Allowance())


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_are_records_or_corrupt(batches: list[bytes]) -> None:
    for pieces in (sealed(*batches), sealed(*map(frame, batches))):
        try:
            unpacked(pieces)
        except TapeCorruptError:
            continue


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", -1), ("id", "1"), ("id", 1.0), ("id", None), ("segment", -1), ("segment", "0"), ("segment", 0.5),
        ("segment", None), ("data", "text"), ("data", None), ("data", 5), ("chain", None), ("chain", "x"),
        ("chain", b""),
    ],
)  # fmt: skip
def test_columns_of_another_type_are_corrupt(field: str, value: object) -> None:
    """SQLite keeps any type in any column."""
    with pytest.raises(TapeCorruptError, match="piece 1 of the journal"):
        unpacked([changed(packed(run())[0], field, value)])


def test_a_piece_that_grows_beyond_all_bounds_is_corrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "BYTES", 1_000_000)
    (piece,) = sealed(frame(bytes(200_000_000)))
    assert len(piece.data) < 20_000
    tracemalloc.start()
    with pytest.raises(TapeCorruptError):
        unpacked([piece])
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


# What cannot be written


@pytest.mark.parametrize(
    "odd",
    [
        ev.Part(0, 4, 0, b"", ev.Failed("m", "n", ["\udcff"], {})),
        ev.Part(0, 4, 0, b"", ev.Failed("m", "n", [10**30], {})),
        ev.Began(0, 0, 1, "GET http://h/\udcff", -1, 0, b"[]", ev.Delta(-1, 0, 0, b"")),
        ev.LaneBorn(1, "0.1", "\ud800"),
        ev.SiteNamed(0, "m:\udcff", "/\udcff.py", 1),
        ev.Note("x", "\udcff", -1),
        ev.Draws(0, [(1, 0, [2**70])]),
    ],
    ids=lambda odd: type(odd).__name__,
)
def test_a_record_that_cannot_be_written_takes_no_other_with_it(odd: ev.AnyRecord) -> None:
    batch: list[ev.AnyRecord] = [*beginning(), odd, ev.Ended(1, None)]
    (found,) = unpacked(packed([batch]))
    assert [found[0], found[1], found[3]] == [batch[0], batch[1], batch[3]]
    kept = type(found[2]) is type(odd)
    assert kept or (isinstance(found[2], ev.Note) and found[2].slug == "fault")
    if isinstance(odd, ev.Began | ev.LaneBorn | ev.SiteNamed | ev.Part):
        assert kept, "later records refer to it"
