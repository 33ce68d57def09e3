"""Server-sent events as the standard reads them, and what is left of a cut stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.providers.sse import Event, events


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_separates_events(end: bytes) -> None:
    body = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"data: 3", b"", b""])
    assert events(body) == (Event("a", b"1"), Event("", b"2\n3"))


def test_line_ends_may_be_mixed() -> None:
    assert events(b"data: 1\r\ndata: 2\rdata: 3\n\r\n") == (Event("", b"1\n2\n3"),)


def test_comments_ids_and_unknown_fields_are_passed_over() -> None:
    assert events(b": ping\nid: 7\nretry: 10\nother\ndata: x\n\n: bye\n\n") == (Event("", b"x"),)


def test_one_space_after_the_colon_is_not_data() -> None:
    assert [e.data for e in events(b"data:x\n\ndata: x\n\ndata:  x\n\ndata\n\n")] == [b"x", b"x", b" x", b""]


def test_an_event_without_data_is_none_and_its_name_does_not_leak() -> None:
    assert events(b"event: a\n\ndata: x\n\n") == (Event("", b"x"),)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert events(b"\xef\xbb\xbfdata: x\n\n") == (Event("", b"x"),)


@pytest.mark.parametrize("body", [b"data: {}", b"data: {}\n", b"data:{}\r"])
def test_a_last_event_that_was_not_ended_is_marked(body: bytes) -> None:
    assert events(body) == (Event("", b"{}", whole=False),)


def test_a_cut_field_name_is_dropped() -> None:
    assert events(b"data: 1\n\ndat") == (Event("", b"1"),)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), max_size=5))
def test_what_is_framed_is_read_back(lines: list[str]) -> None:
    body = "".join(f"data: {line}\n\n" for line in lines).encode()
    assert [event.data.decode() for event in events(body)] == lines


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    events(body)
