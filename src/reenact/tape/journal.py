"""The journal's outer form: records <-> chained pieces, which are zstd frames. No files here."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, get_args

import msgspec
import zstandard

from reenact.errors import TapeCorruptError
from reenact.tape import schema
from reenact.tape.allowance import Allowance
from reenact.tape.event import (
    AnyRecord,
    Began,
    Content,
    Draws,
    Kin,
    LaneBorn,
    Mark,
    Note,
    Part,
    SiteNamed,
    Slice,
    Stored,
    Wrote,
)

GENESIS = bytes(32)
_SLICE_BYTES = 1024
SEGMENT_BYTES = 16 * 1024 * 1024
STORED_BYTES = 16 * 1024
_STORED = b"\x28\xb5\x2f\xfd\xa0"  # magic number; one segment, whose size follows in four bytes
_LITTLE_BYTES: Final = 4096
_LEVEL = 1
_CLOSE_LEVEL, _LARGE_LEVEL = 9, 3
_WINDOW_LOG = 21
_STRETCH_BYTES = 128 * 1024
LONG_BYTES = 1024 * 1024  # data beyond this stands in slices
RECORD_BYTES, DRAW_BYTES = 32, 16  # roughly, of a record without its data and of each value that was drawn

_PLACE: Final = struct.Struct(">QQ").pack

_sha256 = hashlib.sha256()
try:
    # Python's own: OpenSSL's is quicker, but so much code that it takes longer to be loaded anew after each wait
    _sha256_of_little = hashlib.__get_builtin_constructor("sha256")()  # type: ignore[attr-defined]  # noqa: SLF001
except (AttributeError, ValueError):
    _sha256_of_little = _sha256
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[AnyRecord])
_TAGS = frozenset(record.__struct_config__.tag for record in get_args(AnyRecord))


class Piece(msgspec.Struct, frozen=True):
    """One commit of a journal: a row of the `piece` table."""

    id: int
    segment: int
    data: bytes
    chain: bytes


def link(chain: bytes, piece_id: int, segment: int, data: bytes) -> bytes:
    """The chain value of a piece, from the chain before it."""
    digest = (_sha256_of_little if len(data) <= _LITTLE_BYTES else _sha256).copy()  # sooner there than a new one
    digest.update(chain)
    digest.update(_PLACE(piece_id, segment))
    digest.update(data)
    return digest.digest()


def _is_piece(piece: Piece) -> bool:
    """Whether the columns hold what they should: SQLite keeps any type in any column."""
    numbers = isinstance(piece.id, int) and isinstance(piece.segment, int) and min(piece.id, piece.segment) >= 0
    return numbers and isinstance(piece.data, bytes) and isinstance(piece.chain, bytes)


class Packer:
    """Turns batches of records into pieces while their run goes on and waits for each.

    Every piece is a frame of its own. A small one is stored as it is: packing it would cost more than it saves.
    """

    def __init__(self, next_id: int = 1, segment: int = 0, chain: bytes = GENESIS) -> None:
        self._next_id = next_id
        self._segment = segment
        self.chain = chain
        self.encode: Callable[[Sequence[AnyRecord]], bytes] = encode

    def pack(self, records: Sequence[AnyRecord], *, plainly: bool = False) -> Piece:
        """The records as the next piece; `plainly`: as they are."""
        raw = encode(records) if plainly else self.encode(records)
        return self._piece(_stored(raw) if len(raw) <= STORED_BYTES else zstandard.compress(raw, _LEVEL), ends=True)

    def _piece(self, data: bytes, *, ends: bool) -> Piece:
        """`ends`: with it ends its segment."""
        self.chain = link(self.chain, self._next_id, self._segment, data)
        piece = Piece(self._next_id, self._segment, data, self.chain)
        self._next_id += 1
        self._segment += ends
        return piece


class ClosePacker(Packer):
    """Packs the records of a run that is over: the pieces of a segment are one long frame, flushed after each."""

    def __init__(self, *, large: bool = False) -> None:
        super().__init__()
        level = _LARGE_LEVEL if large else _CLOSE_LEVEL
        params = zstandard.ZstdCompressionParameters.from_level(level, window_log=_WINDOW_LOG)
        self._compressor = zstandard.ZstdCompressor(compression_params=params)
        self._frame = self._compressor.compressobj()
        self._frame_bytes = 0

    def pack(self, records: Sequence[AnyRecord], *, plainly: bool = True) -> Piece:
        """The records as the next piece. It can be read without a later one, but not without those before it."""
        del plainly
        raw = encode(records)
        self._frame_bytes += len(raw)
        full = self._frame_bytes > SEGMENT_BYTES
        mode = zstandard.COMPRESSOBJ_FLUSH_FINISH if full else zstandard.COMPRESSOBJ_FLUSH_BLOCK
        data = self._frame.compress(raw) + self._frame.flush(mode)
        if full:
            self._frame, self._frame_bytes = self._compressor.compressobj(), 0
        return self._piece(data, ends=full)


def _stored(raw: bytes) -> bytes:
    """A zstd frame that holds bytes as they are: one raw block (RFC 8878, 3.1.1)."""
    size = len(raw)
    return b"".join((_STORED, size.to_bytes(4, "little"), (size << 3 | 1).to_bytes(3, "little"), raw))


def encode(records: Sequence[AnyRecord]) -> bytes:
    """The records as a msgpack array."""
    try:
        return _encoder.encode(records)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return _encoder.encode([_writable(record) for record in records])


def _writable(record: AnyRecord) -> AnyRecord:
    """The record, or what stands for one that cannot be written: later records must still find what they refer to."""
    try:
        _encoder.encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError) as error:
        match record:
            case Began():
                return msgspec.structs.replace(record, name=_text(record.name), head=b"")
            case LaneBorn():
                return msgspec.structs.replace(record, name=_text(record.name))
            case SiteNamed():
                return msgspec.structs.replace(record, place=_text(record.place), file=_text(record.file))
            case Part():
                return msgspec.structs.replace(record, failed=None)
            case Mark():
                return msgspec.structs.replace(record, name=_text(record.name), attributes={})
            case _:
                return Note("fault", f"a {type(record).__name__} could not be written: {error!r}", -1)
    return record


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def unpack(pieces: Iterable[Piece], allowance: Allowance | None = None) -> Iterable[list[AnyRecord]]:
    """The records of each piece, with every chain value checked. No more is unpacked than the allowance of the tape.

    Raises:
        TapeCorruptError: a piece is missing, out of place, or not what was written.
        TapeTooLargeError: the allowance is spent.
    """
    allowance = allowance or Allowance()
    chain, segment, frame, expected = GENESIS, -1, None, 1
    for piece in pieces:
        if not _is_piece(piece):
            raise TapeCorruptError(f"piece {expected} of the journal is not what was written")
        chain = link(chain, piece.id, piece.segment, piece.data)
        if piece.id != expected or chain != piece.chain:
            raise TapeCorruptError(f"piece {expected} of the journal is not what was written (its digest differs)")
        expected += 1
        if piece.segment != segment:
            segment, frame = piece.segment, zstandard.ZstdDecompressor().decompressobj(write_size=1 << 16)
        try:
            assert frame is not None  # noqa: S101  the first piece never has segment -1
            allowance.grow(len(piece.data))
            raw = _decompress(frame, piece, allowance)
            allowance.spend(raw)
            yield _decoded(raw)
        except (zstandard.ZstdError, msgspec.MsgspecError, RecursionError, MemoryError, UnicodeDecodeError) as error:
            raise TapeCorruptError(f"piece {piece.id} of the journal cannot be read: {error}") from error


def _decoded(raw: bytes) -> list[AnyRecord]:
    """The records of a piece. One of a sort that is not known is no reason to leave it out, but to stop.

    Raises:
        msgspec.MsgspecError: they are none; it says so where one is of another sort.
    """
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError as error:
        plain = msgspec.msgpack.decode(raw)
        tags = [record[0] for record in plain if isinstance(record, list) and record] if isinstance(plain, list) else []
        unknown = {tag for tag in tags if isinstance(tag, int) and tag not in _TAGS}
        if not unknown:
            raise
        sorts = ", ".join(map(str, sorted(unknown)))
        told = f"records of sort {sorts}, which tape format {schema.FORMAT} does not have as this reenact knows it"
        raise msgspec.ValidationError(told) from error


def fold(lane: str, name: str, batches: Iterable[Sequence[AnyRecord]]) -> Iterator[Kin]:
    """The journal of a process as records of the journal of the run that started it."""
    for stretch in stretches(batches):
        yield Kin(lane, name, encode(stretch))


def unfold(kin: Kin, allowance: Allowance) -> list[AnyRecord]:
    """The records of a process that stand in one of its run.

    Raises:
        TapeCorruptError: they are none.
        TapeTooLargeError: the allowance of the tape is spent.
    """
    allowance.spend(kin.data)
    try:
        return _decoded(kin.data)
    except (msgspec.MsgspecError, RecursionError, MemoryError, UnicodeDecodeError) as error:
        raise TapeCorruptError(f"the journal of process {kin.name} ({kin.lane}) cannot be read: {error}") from error


def sliced(records: Iterable[AnyRecord]) -> Iterator[list[AnyRecord]]:
    """The same records one by one, long data in slices. It is not copied for that."""
    for record in records:
        data = memoryview(data_of(record))
        last = max(len(data) - 1, 0) // LONG_BYTES * LONG_BYTES
        for at in range(0, last, LONG_BYTES):
            yield [Slice(data[at : at + LONG_BYTES])]  # type: ignore[arg-type]  # msgspec writes it as it does bytes
        yield [with_data(record, data[last:]) if last else record]


def assembled(records: Iterable[AnyRecord]) -> Iterator[AnyRecord]:
    """The inverse of `sliced`."""
    slices: list[bytes] = []
    for record in records:
        if isinstance(record, Slice):
            slices.append(record.data)
        elif slices and (data := data_of(record)):
            yield with_data(record, b"".join([*slices, data]))
            slices = []
        else:
            yield record


def data_of(record: AnyRecord) -> bytes:
    """What of a record may be long."""
    match record:
        case Began(body=body):
            return body.middle
        case Part(data=data) | Wrote(data=data) | Content(data=data) | Stored(data=data):
            return data
        case _:
            return b""


def with_data(record: AnyRecord, data: Any) -> AnyRecord:
    """A record that has data, with that in its place."""
    if isinstance(record, Began):
        return msgspec.structs.replace(record, body=msgspec.structs.replace(record.body, middle=data))
    return msgspec.structs.replace(record, data=data)


def stretches(batches: Iterable[Sequence[AnyRecord]], limit: int | None = None) -> Iterator[list[AnyRecord]]:
    """The same records in batches of like size."""
    limit = limit or _STRETCH_BYTES
    pending: list[AnyRecord] = []
    size = 0
    for batch in batches:
        pending.extend(batch)
        size += sum(weight(record) for record in batch)
        if size > limit:
            yield pending
            pending, size = [], 0
    if pending:
        yield pending


def _decompress(frame: zstandard.ZstdDecompressionObj, piece: Piece, allowance: Allowance) -> bytes:
    """The plain bytes of a piece, which may be a bomb."""
    plain: list[bytes] = []
    size = 0
    for at in range(0, len(piece.data), _SLICE_BYTES):
        plain.append(frame.decompress(piece.data[at : at + _SLICE_BYTES]))
        size += len(plain[-1])
        if size > allowance.room:
            raise allowance.exceeded()
    return b"".join(plain)


def weight(record: AnyRecord) -> int:
    """Roughly the plain bytes of a record: enough to cut a journal into pieces of like size."""
    match record:
        case Began(body=body, head=head):
            return len(body.middle) + len(head) + 2 * RECORD_BYTES
        case Part() | Wrote() | Kin() | Content() | Slice() | Stored():
            return len(record.data) + RECORD_BYTES
        case Draws(draws=draws):
            return sum(DRAW_BYTES * len(values) for _, _, values in draws)
        case _:
            return 2 * RECORD_BYTES
