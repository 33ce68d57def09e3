"""WebSockets (RFC 6455) and their compression (RFC 7692): what is sent, as it stands on tape, and what comes.

What a message is packed to depends on those before it. So what comes is unpacked twice, as the program of the recording
does and as that of a replay will, and packed anew where the latter would read something else than it should.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import accumulate, count
from typing import Final, NamedTuple, Protocol

from reenact.tape.packed import MOST, filler

_FIN, _PACKED, _OPCODE, _MASKED = 0x80, 0x40, 0x0F, 0x80
_OPCODES: Final = frozenset((0, 1, 2, 8, 9, 10))
_CONTROL: Final = 8
_LONGER: Final = {126: 2, 127: 8}
_MASK: Final = 4
_END: Final = b"\x00\x00\xff\xff"  # with this a packed message goes on (RFC 7692, 7.2.2)
_WINDOW: Final = 32 * 1024  # bytes that a packed message may refer back to, where no less was agreed on
_BITS: Final = re.compile(rb"server_max_window_bits=\"?(\d{1,2})", re.IGNORECASE)
_LEAST_BITS: Final = 9  # of zlib, which refers back less far then than 8 of them allow
_FRESH: Final = b"server_no_context_takeover"
_HELD: Final = 4 * 1024 * 1024  # bytes of a message that are held until the rest of it has come


class Cleaner(Protocol):
    """Who knows the secrets, see `vault.Vault`."""

    def clean(self, data: bytes) -> bytes:
        """The same without secrets, as long as it was."""

    def discover(self, data: bytes) -> None:
        """Learns what in it is one."""


class _Frame(NamedTuple):
    """A frame by its first byte; its mask, if it has one, where it begins, and from where to where what it says is."""

    first: int
    mask: bytes
    begin: int
    start: int
    end: int

    @property
    def is_control(self) -> bool:
        return self.first & _OPCODE >= _CONTROL

    @property
    def is_last(self) -> bool:
        return bool(self.first & _FIN)

    @property
    def is_packed(self) -> bool:
        return bool(self.first & _PACKED)


def _frame(data: bytes, at: int) -> _Frame | None:
    """The frame that begins there, as far as that can be told; it may end after the data."""
    if len(data) < at + 2:
        return None
    size, at_mask = data[at + 1] & 0x7F, at + 2
    if size in _LONGER:
        at_mask += _LONGER[size]
        size = int.from_bytes(data[at + 2 : at_mask], "big")
    start = at_mask + (_MASK if data[at + 1] & _MASKED else 0)
    return _Frame(data[at], data[at_mask:start], at, start, start + size) if len(data) >= start else None


def _is_frame(first: int) -> bool:
    return first & _OPCODE in _OPCODES and not first & 0x30


def _is_whole(data: bytes) -> bool:
    """Whether it is nothing but whole frames under masks."""
    frames = [*_frames(data)]
    return bool(frames) and frames[-1].end == len(data) and all(_is_frame(one.first) and one.mask for one in frames)


def _unmasked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    pad = (mask * (size // len(mask) + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")


def _unpacked(data: bytes, window: bytes) -> bytes | None:
    """What a message says that is packed, after what has been said; None where that cannot be told, or is too much."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS, zdict=window)
    try:
        plain = unpacker.decompress(data + _END, MOST)
    except zlib.error:
        return None
    return None if unpacker.unconsumed_tail else plain


# What is sent


class Sent:
    """What a program sends over a WebSocket, as it stands on tape: without masks, which are noise, and not packed.

    So what is compared is what is said. A replay may say it in other words of the same meaning, as long as its secrets
    have something in their place.
    """

    def __init__(self) -> None:
        self._lost = False
        self._left = 0  # bytes of the frame that has begun
        self._frame = _Frame(0, b"", 0, 0, 0)
        self._unpacker: zlib._Decompress | None = None
        self._window = b""

    def plain(self, data: bytes) -> bytes:
        """The frames, or pieces of frames, that are sent; what is none stays as it is."""
        if self._lost and _is_whole(data):
            self._lost, self._left = False, 0
        out, at = bytearray(), 0
        while at < len(data) and not self._lost:
            at = self._one(data, at, out)
        return bytes(out + data[at:])

    def _one(self, data: bytes, at: int, out: bytearray) -> int:
        """A frame, or as much of it as there is; where it ends."""
        begins, start = not self._left, at
        if begins:
            frame = _frame(data, at)
            if frame is None or not _is_frame(frame.first):
                self._lost = True
                return at
            self._frame, self._left, start = frame, frame.end - frame.start, frame.start
            if frame.is_packed:
                self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS, zdict=self._window)
        frame, piece = self._frame, data[start : start + self._left]
        self._left -= len(piece)
        ends = frame.is_last and not self._left
        said: bytes | None = _unmasked(piece, frame.mask) if frame.mask and piece else piece
        turn = len(piece) % _MASK
        self._frame = frame._replace(mask=frame.mask[turn:] + frame.mask[:turn])
        if self._unpacker is not None and not frame.is_control:
            said = self._unpack(said or b"", ends=ends)
        if said is None:
            self._lost = True
            return at
        first = (frame.first & _OPCODE if begins else 0) | (_FIN if ends else 0)
        out += _head(first, len(said), bytes(_MASK)) + said
        return start + len(piece)

    def _unpack(self, data: bytes, *, ends: bool) -> bytes | None:
        assert self._unpacker is not None  # noqa: S101  the caller has asked
        try:
            said = self._unpacker.decompress(data + (_END if ends else b""), MOST)
        except zlib.error:
            return None
        if self._unpacker.unconsumed_tail:
            return None
        self._window = (self._window + said)[-_WINDOW:]
        if ends:
            self._unpacker = None
        return said


def _head(first: int, size: int, mask: bytes = b"") -> bytes:
    """What a frame begins with."""
    width = 0 if size < min(_LONGER) else 2 if size < 1 << 16 else 8
    short = next((code for code, long in _LONGER.items() if long == width), size)
    return bytes((first, short | (_MASKED if mask else 0))) + (size.to_bytes(width, "big") if width else b"") + mask


# What comes


class Came:
    """What comes over a WebSocket, and what of it is on disk already. `torn`: there is a secret in that.

    A message that is packed is written as what a program will unpack that has not seen the secrets before it, either.
    Where that takes more bytes than the message had, its frame is longer. `head` is the answer that the WebSocket
    began with, and says how far back a packed message may refer.
    """

    def __init__(self, head: bytes) -> None:
        self.torn = False
        narrow = _BITS.search(head)
        self._bits = min(max(int(narrow[1]), _LEAST_BITS), zlib.MAX_WBITS) if narrow is not None else zlib.MAX_WBITS
        self._back = 0 if _FRESH in head.lower() else 1 << self._bits
        self._rest = b""  # a message that has not come whole, as it came
        self._written = b""  # and as it was written
        self._lost = False
        self._came = b""  # what packed messages said, as far back as they may refer
        self._kept = b""  # the same as it stands on tape

    def cleaned(self, parts: list[bytes], vault: Cleaner, *, goes_on: bool) -> list[bytes]:
        """What came, as it is written."""
        self.torn = False
        if self._lost:
            return [*map(vault.clean, parts)]
        data, said = self._rest + b"".join(parts), (self._came, self._kept)
        messages = [*_messages(data)]
        edits = [edit for message, _ in messages for edit in self._edits(message, data, vault)]
        done = messages[-1][1] if messages else 0
        last = vault.clean(data[done:]) if goes_on else self._cut(data[done:], vault)
        written, *news = _edited(data, [len(self._written), *map(len, parts)], [*edits, _Edit(done, len(data), last)])
        if written != self._written:
            self.torn, last, news = True, data[done:], parts
            self._came, self._kept = said
            self._leave((message for message, _ in messages), data)
        self._rest, self._written = data[done:], last
        if len(self._rest) > _HELD:
            self._lost = self.torn = True  # it is looked through when the tape is closed
        return news

    def _leave(self, messages: Iterable[list[_Frame]], data: bytes) -> None:
        """These are written as they came, and anew when the tape is closed."""
        for message in messages:
            if message[0].is_packed:
                said = _said(message, data)
                self._came = (self._came + (_unpacked(said, self._came) or b""))[-_WINDOW:]
                self._kept = (self._kept + (_unpacked(said, self._kept) or b""))[-_WINDOW:]

    def _edits(self, message: list[_Frame], data: bytes, vault: Cleaner) -> Iterator[_Edit]:
        """What of a message is written otherwise."""
        said = _said(message, data)
        cleaned = self._packed(said, vault) if message[0].is_packed else _discovered(said, vault)
        if cleaned == said:
            return
        for frame in message:
            size = frame.end - frame.start if frame is not message[-1] else len(cleaned)
            news, cleaned = cleaned[:size], cleaned[size:]
            yield _Edit(frame.begin, frame.end, _head(frame.first, size) + news)

    def _cut(self, data: bytes, vault: Cleaner) -> bytes:
        """A message of which no more comes. No program reads such a one, so of a secret in it nothing need be left."""
        frame = _frame(data, 0)
        if frame is None or not frame.is_packed:
            return vault.clean(data)
        unpacker, said = zlib.decompressobj(-zlib.MAX_WBITS, zdict=self._came), b""
        with suppress(zlib.error):
            said = unpacker.decompress(_said(_frames(data), data), MOST)
        return data if _discovered(said, vault) == said else data[: frame.start] + bytes(len(data) - frame.start)

    def _packed(self, data: bytes, vault: Cleaner) -> bytes:
        plain = _unpacked(data, self._came)
        if plain is None:
            return data
        wanted = _discovered(plain, vault)
        read = plain if self._kept == self._came else _unpacked(data, self._kept)
        if read != wanted:
            data = _repacked(wanted, self._kept[-self._back :] if self._back else b"", self._bits, len(data))
        self._came = (self._came + plain)[-_WINDOW:]
        self._kept = (self._kept + wanted)[-_WINDOW:]
        return data


def said_in(data: bytes) -> Iterator[bytes]:
    """What the messages say."""
    window = b""
    for message, _ in _messages(data):
        said = _said(message, data)
        if message[0].is_packed:
            said = _unpacked(said, window) or b""
            window = (window + said)[-_WINDOW:]
        yield said


class _Edit(NamedTuple):
    """Other bytes in the place of some, at least as many."""

    start: int
    end: int
    news: bytes


def _edited(data: bytes, sizes: list[int], edits: list[_Edit]) -> list[bytes]:
    """The parts of some data, of those sizes, with what is to stand there; what is over goes to its end."""
    flat, more = bytearray(data), {}
    for start, end, news in edits:
        flat[start:end] = news[: end - start]
        if len(news) > end - start:
            more[end] = news[end - start :]
    parts, begin = [], 0
    for end in accumulate(sizes):
        part = flat[begin:end]
        for place in sorted((one for one in more if begin < one <= end), reverse=True):
            part[place - begin : place - begin] = more[place]
        parts.append(bytes(part))
        begin = end
    return parts


def _said(message: Iterable[_Frame], data: bytes) -> bytes:
    return b"".join(data[frame.start : frame.end] for frame in message)


def _discovered(data: bytes, vault: Cleaner) -> bytes:
    vault.discover(data)
    return vault.clean(data)


def _messages(data: bytes) -> Iterator[tuple[list[_Frame], int]]:
    """The whole messages that it begins with, each with where what may be forgotten ends; frames of control alone."""
    done = 0
    message: list[_Frame] = []
    for frame in _frames(data):
        if frame.end > len(data):
            return
        if frame.is_control:
            done = done if message else frame.end
            yield [frame], done
            continue
        message.append(frame)
        if frame.is_last:
            done = frame.end
            yield message, done
            message = []


def _frames(data: bytes) -> Iterator[_Frame]:
    """All that have begun."""
    at = 0
    while (frame := _frame(data, at)) is not None:
        yield frame
        at = frame.end


def _repacked(said: bytes, before: bytes, bits: int, least: int) -> bytes:
    """A message packed after what has been said, with what means nothing before it, in at least so many bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -bits, 9, zdict=before)
    deflated = (packer.compress(said) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(_END)
    over = max(0, least - len(deflated))
    return next(nothing for size in count(over) if len(nothing := filler(size)) == size) + deflated
