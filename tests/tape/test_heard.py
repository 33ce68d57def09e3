"""Secrets in what comes over a plain socket where HTTP is spoken: packed, in chunks, spelled over events."""

from __future__ import annotations

import gzip
import re

import pytest

from reenact.tape import event as ev
from reenact.tape.vault import Vault
from tests.tape.spelling import FORMATS, cut, spelled
from tests.tape.test_answer import CODINGS, STANDS, TOKEN, body, kept, knowing, lost

TEXT = b" ".join(b"%d plain words" % (number**5) for number in range(200)) + TOKEN + b" end"
CUTS = ("at once", "by 7 bytes", "by 1000 bytes", "commit by commit")


def came(*data: bytes, end: bool = True) -> list[ev.AnyRecord]:
    """What came over a connection."""
    opened = ev.Began(0, 0, ev.Kind.SOCKET, "connect to host:80", 0, 0, b"[]", ev.Delta(-1, 0, 0, b""))
    parts = [ev.Part(0, ev.PartKind.OPENED, 1, b""), *(ev.Part(0, ev.PartKind.CHUNK, 2, piece) for piece in data)]
    return [opened, *parts, ev.Part(0, ev.PartKind.CLOSED, 4, b"")] if end else [opened, *parts]


def taped(vault: Vault, data: bytes, how: str, *, end: bool = True) -> list[ev.AnyRecord]:
    """That on a tape, in so many pieces and commits."""
    size = {"at once": len(data), "by 7 bytes": 7}.get(how, 1000)
    records = came(*(data[at : at + size] for at in range(0, len(data), size)), end=end)
    return kept(vault, *([one] for one in records)) if how == "commit by commit" else kept(vault, records)


def said(*headers: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d Fine\r\n%s\r\n" % (status, b"".join(line + b"\r\n" for line in headers))


def chunked(data: bytes) -> bytes:
    pieces = [data[at : at + 500] for at in range(0, len(data), 500)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("framing", ["length", "chunks", "until the end"])
@pytest.mark.parametrize("coding", CODINGS)
def test_what_is_packed_is_packed_anew(coding: str, framing: str, how: str) -> None:
    pack, unpack = CODINGS[coding]
    packed = pack(TEXT)
    coded = b"Content-Encoding: " + coding.encode()
    data = {
        "length": said(coded, b"content-length: %d" % len(packed)) + packed,
        "chunks": said(coded, b"Transfer-Encoding: chunked") + chunked(packed),
        "until the end": said(coded) + packed,
    }[framing]
    before = said(b"content-length: 3") + b"abc"
    found = body(taped(knowing(TOKEN), before + data, how))
    assert len(found) == len(before + data)
    rest = found[len(before) + data.index(b"\r\n\r\n") + 4 :]
    plain = rest if framing != "chunks" else re.sub(rb"(?:\A|\r\n)[0-9a-f]+\r\n", b"", rest).removesuffix(b"\r\n")
    assert unpack(plain) == TEXT.replace(TOKEN, STANDS)


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("form", ["chat", "responses", "anthropic-arguments", "gemini"])
def test_what_a_stream_spells_is_found(form: str, how: str) -> None:
    _, spell = FORMATS[form]
    events = b"".join(spell(["the key is ", *cut(TOKEN.decode(), 3), ", I think"]))
    head = said(b"content-type: text/event-stream", b"content-length: %d" % len(events))
    found = body(taped(knowing(TOKEN), head + events + said(b"content-length: 2") + b"ok", how))
    texts = [*spelled(found.partition(b"\r\n\r\n")[2][: len(events)])]
    assert any(STANDS.decode() in text for text in texts)
    assert not any(TOKEN.decode() in text for text in texts)


@pytest.mark.parametrize("how", CUTS)
def test_a_chunks_border_hides_nothing(how: str) -> None:
    data = said(b"transfer-encoding: chunked") + b"8\r\n" + TOKEN[:8] + b"\r\n"
    data += b"%x\r\n" % len(TOKEN[8:]) + TOKEN[8:] + b"\r\n0\r\n\r\n"
    found = body(taped(knowing(TOKEN), data, how))
    assert TOKEN[:8] not in found
    assert STANDS[:8] in found
    assert STANDS[8:] in found


def test_an_answer_without_a_body_does_not_hide_the_next() -> None:
    packed = gzip.compress(TEXT, 6)
    head = said(b"content-encoding: gzip", b"content-length: %d" % len(packed))
    found = body(taped(knowing(TOKEN), head + head + packed, "at once"))
    assert gzip.decompress(found[2 * len(head) :]) == TEXT.replace(TOKEN, STANDS)


@pytest.mark.parametrize("how", CUTS)
def test_a_run_that_ends_within_a_packed_answer_is_looked_through_all_the_same(how: str) -> None:
    packed = gzip.compress(TEXT, 6)
    head = said(b"content-encoding: gzip", b"content-length: 99999")
    found = body(taped(knowing(TOKEN), head + packed, how, end=False))
    assert TOKEN not in gzip.decompress(found[len(head) :])


@pytest.mark.parametrize("how", CUTS)
def test_what_is_no_http_is_a_text_as_ever(how: str) -> None:
    data = b"220 ready\r\n" * 200 + TOKEN + b"\r\n" + b"HTTP/1.1 200 said nobody"
    found = taped(knowing(TOKEN), data, how)
    assert body(found) == data.replace(TOKEN, STANDS)
    assert not lost(found)


@pytest.mark.parametrize("how", CUTS)
def test_what_begins_as_http_and_is_none_is_a_text(how: str) -> None:
    data = b"HTTP/1.1 is not spoken here\r\n" + b"x" * 990 + TOKEN + b"y" * 2000
    assert body(taped(knowing(TOKEN), data, how)) == data.replace(TOKEN, STANDS)
