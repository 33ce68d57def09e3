"""Framing and codings come off, cut bodies give their beginning, bombs and damage are refused."""

from __future__ import annotations

import gzip
import sys
import time
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from reenact.providers import Unreadable
from reenact.providers.encoding import dechunk, decode_content

brotli = pytest.importorskip("brotli")

TEXT = b"".join(b"line %d of the body\n" % (n * n) for n in range(5000))


def raw_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(body) + stream.flush()


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "zstd": zstandard.compress,
    "br": brotli.compress,
}


def decoded(coding: str, body: bytes, limit: int = 1 << 28) -> bytes | Unreadable:
    return decode_content((("Content-Encoding", coding),), body, limit=limit)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("body", [b"", b"x", TEXT, bytes(300_000)])
def test_every_coding_comes_off(coding: str, body: bytes) -> None:
    assert decoded(coding, CODINGS[coding](body)) == body


@pytest.mark.parametrize("coding", CODINGS)
def test_a_cut_body_gives_its_beginning(coding: str) -> None:
    packed = CODINGS[coding](TEXT * 40)
    for at in (len(packed) // 2, len(packed) - 5, len(packed) - 1):
        plain = decoded(coding, packed[:at])
        assert isinstance(plain, bytes)
        assert (TEXT * 40).startswith(plain)
    assert plain


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_refused_soon(coding: str) -> None:
    bomb = CODINGS[coding](bytes(16 << 20))
    began = time.perf_counter()
    refused = decoded(coding, bomb, limit=1 << 20)
    assert isinstance(refused, Unreadable)
    assert refused.reason.endswith("more than 1048576 bytes when decoded")
    assert refused.raw == bomb
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("coding", CODINGS)
def test_the_limit_itself_is_allowed(coding: str) -> None:
    assert decoded(coding, CODINGS[coding](TEXT), limit=len(TEXT)) == TEXT
    assert isinstance(decoded(coding, CODINGS[coding](TEXT), limit=len(TEXT) - 1), Unreadable)


@pytest.mark.parametrize("coding", CODINGS)
def test_damage_is_unreadable(coding: str) -> None:
    assert isinstance(decoded(coding, b"this was never encoded at all, whatever the header says"), Unreadable)


def test_codings_over_one_another_come_off_in_reverse() -> None:
    headers = (("content-encoding", "gzip, br"), ("content-encoding", "zstd"))
    assert decode_content(headers, zstandard.compress(brotli.compress(gzip.compress(TEXT)))) == TEXT
    assert isinstance(decoded(", ".join(["gzip"] * 5), b""), Unreadable)


def test_members_and_frames_one_after_another_are_one_body() -> None:
    assert decoded("gzip", gzip.compress(TEXT) + gzip.compress(b"more") + bytes(8)) == TEXT + b"more"
    assert decoded("zstd", zstandard.compress(TEXT) + zstandard.compress(b"more")) == TEXT + b"more"


def test_very_many_members_take_linear_time() -> None:
    many = gzip.compress(b"") * 50_000
    began = time.perf_counter()
    assert decoded("gzip", many) == b""
    assert time.perf_counter() - began < 3


def test_no_coding_is_the_body_itself() -> None:
    assert decode_content((), b"x") == b"x"
    assert decoded("identity", b"x") == b"x"
    assert decoded("", b"x") == b"x"


def test_an_unknown_coding_is_named() -> None:
    refused = decoded("compress", b"x")
    assert isinstance(refused, Unreadable)
    assert "compress" in refused.reason


def test_without_brotli_the_body_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    refused = decoded("br", b"x")
    assert isinstance(refused, Unreadable)
    assert refused.reason == "br: the library brotli is not installed"


def test_an_old_brotli_without_bounded_output_is_bounded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    new = brotli.Decompressor

    class OldDecompressor:
        def __init__(self) -> None:
            self.inner = new()

        def process(self, data: bytes) -> bytes:
            return bytes(self.inner.process(data))

    packed = brotli.compress(TEXT)
    monkeypatch.setattr(brotli, "Decompressor", OldDecompressor)
    assert decoded("br", packed) == TEXT
    assert isinstance(decoded("br", packed, limit=100), Unreadable)
    assert isinstance(decoded("br", b"this was never encoded at all"), Unreadable)


@given(st.sampled_from(sorted(CODINGS)), st.binary(max_size=300))
def test_arbitrary_bytes_never_raise(coding: str, body: bytes) -> None:
    decoded(coding, body, limit=1 << 16)


def test_chunks_come_off() -> None:
    assert dechunk(b"4\r\nWiki\r\n5;name=value\r\npedia\r\n0\r\nTrailer: x\r\n\r\n") == b"Wikipedia"
    assert dechunk(b"0\r\n\r\n") == b""
    assert dechunk(b"00A\r\n0123456789\r\n0\r\n\r\n") == b"0123456789"
    assert dechunk(b"1\na\n1\nb\n0\n\n") == b"ab"


def test_a_body_that_has_no_chunks_is_left_alone() -> None:
    assert dechunk(b'{"no": "chunks"}') == b'{"no": "chunks"}'
    assert dechunk(b"") == b""


def test_a_chunk_of_any_size_gives_what_is_there() -> None:
    assert dechunk(b"ffffffffffffffff\r\nabc") == b"abc"
    assert dechunk(b"3\r\nabc\r\nffffffffffffffff;x\r\nde") == b"abcde"


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=6), st.integers(min_value=0, max_value=400))
def test_a_cut_in_the_chunks_gives_the_beginning(chunks: list[bytes], at: int) -> None:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    assert dechunk(framed) == b"".join(chunks)
    cut = framed[:at]
    if b"\r\n" in cut:
        assert b"".join(chunks).startswith(dechunk(cut))


@given(st.binary(max_size=200))
def test_arbitrary_chunks_never_raise(body: bytes) -> None:
    dechunk(body)
