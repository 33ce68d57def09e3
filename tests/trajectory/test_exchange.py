"""An event's bytes put together from its parts."""

from __future__ import annotations

import gzip
import json

import pytest

from reenact.providers import Unreadable
from reenact.tape.event import Delta, Failed, Kind, Part, PartKind
from reenact.tape.recording import Event
from reenact.trajectory import exchange
from reenact.trajectory.exchange import Exchange, Room


def event(*parts: Part, head: bytes = b"[]", kind: Kind = Kind.HTTP) -> Event:
    found = Event(0, "0", kind, "POST https://api.example/v1/x", None, 5, head, Delta(-1, 0, 0, b""))
    found.parts.extend(enumerate(parts))
    return found


def head(framing: str = "", **headers: str) -> Part:
    document = {"status": 200, "headers": list(headers.items()), "reason": "OK", "framing": framing}
    return Part(0, PartKind.HEAD, 10, json.dumps(document).encode())


def chunks(*data: bytes) -> list[Part]:
    return [Part(0, PartKind.CHUNK, 20 + at, piece) for at, piece in enumerate(data)]


def test_framing_and_content_coding_come_off() -> None:
    pressed = gzip.compress(b'{"a": 1}')
    framed = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (5, pressed[:5], len(pressed) - 5, pressed[5:])
    pieces = [framed[at : at + 7] for at in range(0, len(framed), 7)]
    exchange = Exchange(event(head("chunked", **{"content-encoding": "gzip"}), *chunks(*pieces)), b"{}")
    assert exchange.received == framed
    assert exchange.answer == b'{"a": 1}'
    assert exchange.wire.response_body == b'{"a": 1}'
    assert exchange.wire.status == 200


def test_framing_that_was_off_already_is_left_alone() -> None:
    exchange = Exchange(event(head(**{"transfer-encoding": "chunked"}), *chunks(b"5\r\nhello")), b"")
    assert exchange.answer == b"5\r\nhello"


def test_a_body_that_was_decoded_already_is_left_alone() -> None:
    document = {"status": 200, "headers": [("content-encoding", "gzip")], "read": 31}
    exchange = Exchange(event(Part(0, PartKind.HEAD, 10, json.dumps(document).encode()), *chunks(b"plain")), b"")
    assert exchange.answer == b"plain"


@pytest.mark.parametrize("cut", [12, 40, 200])
def test_a_cut_stream_gives_what_came(cut: int) -> None:
    text = b"".join(b"data: %d\n\n" % number for number in range(400))
    exchange = Exchange(event(head(**{"content-encoding": "gzip"}), *chunks(gzip.compress(text)[:cut])), b"")
    assert isinstance(exchange.answer, bytes)
    assert text.startswith(exchange.answer)


def test_what_cannot_be_decoded_says_so_and_is_no_body() -> None:
    exchange = Exchange(event(head(**{"content-encoding": "gzip"}), *chunks(b"no gzip at all")), b"")
    assert isinstance(exchange.answer, Unreadable)
    assert exchange.wire.response_body == b""


def test_a_pressed_request_is_read_too() -> None:
    headers = json.dumps([["Content-Encoding", "gzip"]]).encode()
    assert Exchange(event(head=headers), gzip.compress(b"{}")).wire.request_body == b"{}"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"status":"x"}', b"\xff", b'{"status":200,"headers":[["a"]]}'])
def test_a_head_that_is_none_counts_as_no_answer(data: bytes) -> None:
    exchange = Exchange(event(Part(0, PartKind.HEAD, 10, data), *chunks(b"x"), head=data), b"")
    assert exchange.status is None
    assert exchange.wire.response_body == b""
    assert exchange.entry().received == 1


def test_an_exception_tells_its_class_and_message_or_those_of_its_cause() -> None:
    cause = Failed("builtins", "ConnectionResetError", [104, "reset by peer"], {})
    failed = Failed("httpx2", "ReadError", [""], {}, cause)
    trouble = Exchange(event(Part(0, PartKind.FAILURE, 9, b"", failed)), b"").trouble()
    assert trouble is not None
    assert (trouble.type, trouble.message) == ("httpx2.ReadError", "104, reset by peer")


def test_standard_input_is_told_as_text_and_not_without_end() -> None:
    part = Part(0, PartKind.VALUE, 9, ("ø" * 5000).encode() + b"\xff")
    assert Exchange(event(part, kind=Kind.STDIN), b"").entry().value == "ø" * 1000


def test_bodies_of_a_run_do_not_come_to_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_ROOM", 10 << 20)
    room, packed = Room(), gzip.compress(bytes(4 << 20))
    found = [room.decoded((("content-encoding", "gzip"),), packed) for _ in range(20)]
    assert isinstance(found[0], bytes)
    assert isinstance(found[-1], Unreadable)
    assert sum(len(one) for one in found if isinstance(one, bytes)) < 20 << 20
    assert room.decoded((), b"as it is") == b"as it is"
