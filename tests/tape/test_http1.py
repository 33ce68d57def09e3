"""HTTP/1.1 in the bytes of a connection: where a message ends, however its bytes come."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.tape.http1 import Message, answer, begins_request, request

POST = b"POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
PUT = b"PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n"
FOLDED = b"GET / HTTP/1.0\nA: 1\n  2\nB:3\n\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"
CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n"


def taken(message: Message, pieces: list[bytes]) -> tuple[bytes, bytes]:
    """The body, and what came after the message."""
    body = rest = b""
    for piece in pieces:
        if message.whole:
            rest += piece
            continue
        start, end = message.take(piece)
        body += piece[start:end]
        rest += piece[end:]
    return body, rest


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("make", "data", "words", "body"),
    [
        (request, POST, ("POST", "/v1/x", "HTTP/1.1"), b"hello"),
        (request, PUT, ("PUT", "/x", "HTTP/1.1"), b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n"),
        (request, FOLDED, ("GET", "/", "HTTP/1.0"), b""),
        (lambda: answer("GET"), OK, ("HTTP/1.1", "200", "OK"), b"abc"),
        (lambda: answer("POST"), CHUNKS, ("HTTP/1.1", "200", "OK"), b"A\r\n0123456789\r\n0\r\n\r\n"),
        (lambda: answer("HEAD"), OK.removesuffix(b"abc"), ("HTTP/1.1", "200", "OK"), b""),
        (lambda: answer("GET"), b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", None, b""),
        (lambda: answer("CONNECT"), b"HTTP/1.1 200\r\n\r\n", ("HTTP/1.1", "200", ""), b""),
        (lambda: answer("GET"), b"HTTP/1.1 100 Continue\r\n\r\n", ("HTTP/1.1", "100", "Continue"), b""),
    ],
)
def test_a_message_ends_where_it_says_however_it_comes(
    make: Callable[[], Message], data: bytes, words: tuple[str, ...] | None, body: bytes, size: int
) -> None:
    after = b"GET /next HTTP/1.1\r\n\r\n"
    message = make()
    stream = data + after
    assert taken(message, [stream[at : at + size] for at in range(0, len(stream), size)]) == (body, after)
    assert message.whole
    assert message.fault == ""
    assert message.head is not None
    assert message.head.words == (words or ("HTTP/1.1", "304", "Not Modified"))


def test_headers_may_be_folded() -> None:
    message = request()
    message.take(FOLDED)
    assert message.head is not None
    assert message.head.headers == (("A", "1 2"), ("B", "3"))


def test_an_answer_without_a_length_lasts_as_long_as_the_connection() -> None:
    message = answer("GET")
    assert taken(message, [b"HTTP/1.0 200 OK\r\n\r\nab", b"cd"]) == (b"abcd", b"")
    assert (message.lasts, message.whole) == (True, False)


@pytest.mark.parametrize("data", [POST[:-1], PUT[:-1], POST[:30], b"GET / HT"])
def test_what_was_cut_is_not_whole(data: bytes) -> None:
    message = request()
    message.take(data)
    assert (message.whole, message.fault) == (False, "")


@pytest.mark.parametrize(
    "data",
    [
        b"EHLO me\r\n",
        b"GET /\r\n",
        b"\x16\x03\x01\n",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"x" * (2 << 20),
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200_000,
    ],
    ids=["words", "no version", "binary", "HTTP/2", "no line", "no end"],
)
def test_what_is_no_http_says_so(data: bytes) -> None:
    message = request()
    assert message.take(data) == (0, len(data))
    assert message.fault.startswith("no HTTP: b'")
    assert len(message.fault) < 200


def test_what_is_no_chunk_says_so() -> None:
    message = answer("GET")
    assert (
        taken(message, [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n", b"zz\r\n", b"x"])[1] == b""
    )
    assert message.fault == "no chunk begins with b'zz\\r\\n'"
    assert not message.whole


@pytest.mark.parametrize("length", ["-1", "9" * 5000, "five", "1.0", "٣"])
def test_a_length_that_is_none_is_passed_over(length: str) -> None:
    message = answer("GET")
    message.take(f"HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n".encode("latin-1", "replace"))
    assert message.lasts


def test_a_request_is_known_by_its_first_line() -> None:
    assert begins_request(POST)
    assert not begins_request(b"POST /v1/x HTTP/1.1")
    assert not begins_request(b" GET / HTTP/1.1\r\n")
    assert not begins_request(OK)


WIRE = st.lists(
    st.sampled_from([POST, PUT, OK, CHUNKS, b"\r\n", b"0\r\n", b"\xff", b"HTTP/1.1 999 \r\n\r\n"]) | st.binary()
)


@given(WIRE, st.sampled_from(["GET", "HEAD", "CONNECT", ""]))
def test_nothing_makes_it_raise(pieces: list[bytes], method: str) -> None:
    for message in (request(), answer(method)):
        for piece in pieces:
            start, end = message.take(piece)
            assert 0 <= start <= end <= len(piece)


@given(st.data())
def test_how_it_is_cut_changes_nothing(data: st.DataObject) -> None:
    whole = b"".join(data.draw(st.lists(st.sampled_from([CHUNKS, OK, b"garbage\n", PUT]), min_size=1, max_size=3)))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)))))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    one, many = answer("GET"), answer("GET")
    bodies = taken(one, [whole]), taken(many, [piece for piece in pieces if piece])
    assert (one.whole, one.fault, one.head) == (many.whole, many.fault, many.head)
    assert one.fault or bodies[0] == bodies[1]


def test_a_head_that_comes_byte_by_byte_takes_linear_time() -> None:
    head = b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 40_000 + b"\r\n"
    began = time.perf_counter()
    message = request()
    for at in range(len(head)):
        message.take(head[at : at + 1])
    assert message.head is not None
    assert len(message.head.headers) == 40_000
    assert time.perf_counter() - began < 5
