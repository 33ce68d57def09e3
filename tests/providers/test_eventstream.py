"""The binary frames of AWS: what is sound is read, what is damaged is told."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.providers.eventstream import frames

# The example of the Smithy specification: headers {"event-id": 1234, ...} in several types, by hand.
EVERY_TYPE = (
    b"\x01t\x00"
    b"\x01f\x01"
    b"\x01b\x02\xff"
    b"\x01s\x03\xff\xfe"
    b"\x01i\x04\x00\x00\x04\xd2"
    b"\x01l\x05\xff\xff\xff\xff\xff\xff\xff\xff"
    b"\x01y\x06\x00\x02\x00\xff"
    b"\x01w\x07\x00\x03\xe2\x82\xac"
    b"\x01m\x08\x00\x00\x00\x00\x00\x00\x03\xe8"
    b"\x01u\x09\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
)


def framed(headers: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def test_the_empty_frame_of_the_specification() -> None:
    body = bytes.fromhex("000000100000000005c248eb7d98c8ff")
    assert framed(b"", b"") == body
    decoded = frames(body)
    assert [(f.headers, f.payload) for f in decoded.frames] == [({}, b"")]
    assert decoded.fault is None


def test_every_type_of_header() -> None:
    (frame,) = frames(framed(EVERY_TYPE, b"payload")).frames
    assert frame.payload == b"payload"
    assert frame.headers == {
        "t": True,
        "f": False,
        "b": -1,
        "s": -2,
        "i": 1234,
        "l": -1,
        "y": b"\x00\xff",
        "w": "€",
        "m": 1000,
        "u": "000102030405060708090a0b0c0d0e0f",
    }
    assert frame.word("w") == "€"
    assert frame.word("i") == ""


@pytest.mark.parametrize("at", range(40))
def test_a_flipped_bit_anywhere_is_noticed(at: int) -> None:
    good = framed(b"\x01w\x07\x00\x01x", b"0123456789abcdefgh")
    assert len(good) == 40
    bad = bytearray(good)
    bad[at] ^= 1
    decoded = frames(good + bytes(bad) + good)
    assert len(decoded.frames) == 1
    assert decoded.end == 40
    assert decoded.fault is not None
    assert decoded.fault.startswith("frame 1: wrong CRC")


def test_a_frame_that_is_cut_is_not_read() -> None:
    good = framed(b"", b"abc")
    for at in range(1, len(good)):
        decoded = frames(good + good[:at])
        assert [f.payload for f in decoded.frames] == [b"abc"]
        assert decoded.fault == "frame 1: cut"


@pytest.mark.parametrize(
    ("total", "headers"),
    [(15, 0), (16, 1), (0, 0), (1 << 31, 0), (20, 0xFFFFFFFF)],
)
def test_lengths_that_cannot_be_are_refused(total: int, headers: int) -> None:
    prelude = struct.pack(">II", total, headers)
    decoded = frames(prelude + struct.pack(">I", zlib.crc32(prelude)) + bytes(64))
    assert decoded.fault == "frame 0: impossible length"


@pytest.mark.parametrize("headers", [b"\x05ab", b"\x01a", b"\x01a\x04\x00", b"\x01a\x07\x00\x09x", b"\x01a\x63"])
def test_headers_that_do_not_fit_their_block_are_refused(headers: bytes) -> None:
    decoded = frames(framed(headers, b"x"))
    assert decoded.frames == ()
    assert decoded.fault is not None


@given(st.binary(max_size=64), st.binary(max_size=64))
def test_arbitrary_headers_never_raise(headers: bytes, payload: bytes) -> None:
    frames(framed(headers, payload))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    frames(body)
