"""Secrets in the messages of a WebSocket: found under masks, in pieces and packed; what is read is the same otherwise."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from reenact.tape import event as ev
from reenact.tape.websocket import Sent
from tests.tape.test_answer import STANDS, TOKEN, answered, body, kept, knowing, lost
from tests.tape.test_heard import said

_END = b"\x00\x00\xff\xff"
WORDS = "the same words again, " * 4
TOLD = [
    *(json.dumps({"heard": number, "words": WORDS}) for number in range(3)),
    json.dumps({"words": WORDS, "key": TOKEN.decode()}),
    json.dumps({"words": WORDS, "key": TOKEN.decode(), "again": TOKEN.decode()[::-1]}),
    f"it was {TOKEN.decode()}",
    f"sk-proj and {WORDS}",
]


def frame(payload: bytes, first: int, mask: bytes = b"") -> bytes:
    size = len(payload)
    short, long = (size, b"") if size < 126 else (126, size.to_bytes(2, "big"))
    covered = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)) if mask else payload
    return bytes((first, short | (0x80 if mask else 0))) + long + mask + covered


def frames(
    texts: Iterable[str], *, bits: int = 15, fresh: bool = False, pieces: int = 1, mask: bytes = b""
) -> Iterator[bytes]:
    """Each message as a library packs it, in so many fragments, with a ping between these."""
    packer = None
    for text in texts:
        if packer is None or fresh:
            packer = zlib.compressobj(6, zlib.DEFLATED, -bits)
        packed = (packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(_END)
        step = len(packed) // pieces + 1
        cut = [packed[at : at + step] for at in range(0, len(packed), step)]
        made = [
            frame(piece, (0xC1 if not at else 0x80) if at == len(cut) - 1 else 0x00 if at else 0x41, mask)
            for at, piece in enumerate(cut)
        ]
        yield frame(b"ping", 0x89, mask).join(made)


def read(data: bytes, *, bits: int = 15, fresh: bool = False, client: bool = True) -> list[str]:
    """What another library reads."""
    packs = PerMessageDeflate(fresh, fresh, bits, bits)
    reader = StreamReader()
    reader.feed_data(data)
    texts, text = [], b""
    while True:
        parsing = Frame.parse(reader.read_exact, mask=not client, extensions=[packs])
        try:
            next(parsing)
        except StopIteration as parsed:
            if parsed.value.opcode is not Opcode.PING:
                text += parsed.value.data
            if parsed.value.opcode is not Opcode.PING and parsed.value.fin:
                texts.append(text.decode())
                text = b""
        else:
            return texts  # it waits for more


def head_of(*, bits: int, fresh: bool) -> bytes:
    terms = b"permessage-deflate; server_max_window_bits=%d" % bits + b"; server_no_context_takeover" * fresh
    return said(b"Upgrade: websocket", b"Sec-WebSocket-Accept: x", b"Sec-WebSocket-Extensions: " + terms, status=101)


def came(data: list[bytes], *, raw: bool, bits: int, fresh: bool, end: bool = True) -> list[ev.AnyRecord]:
    """What came, over a plain socket or as the answer that a seam for HTTP keeps."""
    head = head_of(bits=bits, fresh=fresh)
    if not raw:
        pairs = [line.split(": ") for line in head.decode().split("\r\n")[1:-2]]
        return answered(json.dumps({"status": 101, "headers": pairs}).encode(), *data, end=end)
    opened = ev.Began(0, 0, ev.Kind.SOCKET, "connect to host:80", 0, 0, b"[]", ev.Delta(-1, 0, 0, b""))
    parts = [ev.Part(0, ev.PartKind.CHUNK, 2, piece) for piece in (head + data[0], *data[1:])]
    return [opened, *parts, *([ev.Part(0, ev.PartKind.CLOSED, 4, b"")] if end else [])]


def messages_of(records: list[ev.AnyRecord], *, raw: bool) -> bytes:
    return body(records).partition(b"\r\n\r\n")[2] if raw else body(records)


@pytest.mark.parametrize("raw", [True, False], ids=["socket", "http"])
@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "taken over"])
@pytest.mark.parametrize("bits", [15, 12, 9])
@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("commits", ["one", "each", "by 50 bytes"])
def test_packed_messages_say_the_same_but_for_secrets(
    raw: bool, fresh: bool, bits: int, pieces: int, commits: str
) -> None:
    data = [*frames(TOLD, bits=bits, fresh=fresh, pieces=pieces)]
    if commits == "by 50 bytes":
        whole = b"".join(data)
        data = [whole[at : at + 50] for at in range(0, len(whole), 50)]
    records = came(data, raw=raw, bits=bits, fresh=fresh)
    vault = knowing(TOKEN)
    found = kept(vault, records) if commits == "one" else kept(vault, *([one] for one in records))
    texts = read(messages_of(found, raw=raw), bits=bits, fresh=fresh)
    assert texts == [text.replace(TOKEN.decode(), STANDS.decode()) for text in TOLD]
    assert not lost(found)


def test_without_a_secret_nothing_is_packed_anew() -> None:
    data = [*frames(TOLD)]
    records = came(data, raw=True, bits=15, fresh=False)
    assert messages_of(kept(knowing(b"another secret"), records), raw=True) == b"".join(data)


def test_what_is_learned_from_a_packed_message_is_a_secret_from_then_on() -> None:
    token = "Zx9-4b1c0d8e7f6a5b4cQq"
    records = came(
        [*frames([json.dumps({"access_token": token}), f"so it is {token}"])], raw=True, bits=15, fresh=False
    )
    texts = read(messages_of(kept(knowing(), records), raw=True))
    assert token not in "".join(texts)
    assert json.loads(texts[0])["access_token"] in texts[1]


@pytest.mark.parametrize("raw", [True, False])
def test_a_message_that_never_came_whole_holds_none(raw: bool) -> None:
    data = b"".join(frames([f"{TOKEN.decode()} {WORDS * 30} {json.dumps([*range(900)])}"]))
    records = came([data[:200], data[200:300]], raw=raw, bits=15, fresh=False, end=False)
    found = messages_of(kept(knowing(TOKEN), *([one] for one in records)), raw=raw)
    assert zlib.decompressobj(-15).decompress(data[4:300])[: len(TOKEN)] == TOKEN, "or this shows nothing"
    with contextlib.suppress(zlib.error):  # then nobody can read it at all
        assert TOKEN not in zlib.decompressobj(-15).decompress(found[4:])


def test_a_text_in_fragments_hides_nothing() -> None:
    data = frame(b"it is " + TOKEN[:9], 0x01) + frame(b"", 0x89) + frame(TOKEN[9:], 0x80)
    found = messages_of(kept(knowing(TOKEN), came([data], raw=True, bits=15, fresh=False)), raw=True)
    assert read(found) == [f"it is {STANDS.decode()}"]
    assert len(found) == len(data)


@given(st.binary(max_size=300), st.integers(0, 40))
def test_what_is_no_frame_does_no_harm(data: bytes, at: int) -> None:
    whole = b"".join(frames(TOLD))
    broken = whole[:at] + data + whole[at:]
    found = kept(knowing(TOKEN), came([broken], raw=False, bits=15, fresh=False))
    assert len(body(found)) >= len(broken)
    assert Sent().plain(broken) is not None


# What is sent


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("step", [1 << 20, 11])
def test_what_is_sent_stands_there_without_masks_and_not_packed(fresh: bool, pieces: int, step: int) -> None:
    data = b"".join(frames(TOLD, fresh=fresh, pieces=pieces, mask=b"mask"))
    sent = Sent()
    found = b"".join(sent.plain(piece) for piece in _cut(data, step))
    assert read(found, client=False) == TOLD
    assert TOKEN in found or step < len(TOKEN)


def _cut(data: bytes, step: int) -> Iterator[bytes]:
    """In such pieces, but never within the beginning of a frame."""
    at = 0
    while at < len(data):
        size = data[at + 1] & 0x7F
        start = at + (6 if size < 126 else 8)
        size = size if size < 126 else int.from_bytes(data[at + 2 : at + 4], "big")
        end = start + size
        first = min(start + step, end)
        yield data[at:first]
        yield from (data[each : min(each + step, end)] for each in range(first, end, step))
        at = end


def test_what_is_sent_plainly_is_as_long_as_it_was() -> None:
    data = frame(b"hello " + TOKEN, 0x81, b"mask") + frame(b"", 0x88, b"mask")
    found = Sent().plain(data)
    assert found == frame(b"hello " + TOKEN, 0x81, bytes(4)).replace(b"\x81\x1e", data[:2]) + frame(b"", 0x88, bytes(4))


@settings(max_examples=50)
@given(st.lists(st.text(max_size=400), max_size=6), st.booleans())
def test_whatever_is_said_is_what_is_read(texts: list[str], fresh: bool) -> None:
    data = b"".join(frames(texts, fresh=fresh, mask=b"\x01\x02\x03\x04"))
    assert read(Sent().plain(data), client=False) == texts
