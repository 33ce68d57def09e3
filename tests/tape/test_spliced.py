"""Bytes of pieces of others are what they would be as a copy, and take no memory of their own until they are many."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from reenact.tape.delta import Bodies
from reenact.tape.event import Delta
from reenact.tape.spliced import Spliced


@given(st.lists(st.tuples(st.integers(0), st.integers(0), st.binary(max_size=90)), max_size=300), st.integers(1, 16))
def test_each_is_what_a_copy_would_be(told: list[tuple[int, int, bytes]], back: int) -> None:
    copies, spliced = [b"abc"], [Spliced([b"abc"])]
    for first, last, middle in told:
        base = copies[-back:][0]
        prefix = first % (len(base) + 1)
        suffix = last % (len(base) - prefix + 1)
        copies.append(base[:prefix] + middle + base[len(base) - suffix :])
        spliced.append(spliced[-back:][0].around(prefix, middle, suffix))
        assert len(spliced[-1]) == len(copies[-1])
    assert [bytes(one) for one in spliced] == copies


def test_a_history_that_grows_is_held_once() -> None:
    """As an agent's: what is new stands before the same end."""
    history, end = bytes(1 << 20), b"e" * 700
    writer, reader, deltas = Bodies(), Bodies(), []
    for event in range(200):
        history += b"%1600d" % event
        deltas.append(writer.shrink(event, history + end, event - 1))
    tracemalloc.start()
    try:
        held = [reader.splice(event, delta) for event, delta in enumerate(deltas)]
        assert tracemalloc.get_traced_memory()[1] < 4 * len(history)
    finally:
        tracemalloc.stop()
    assert bytes(held[-1]) == history + end


def test_a_writer_goes_on_where_a_reader_stands() -> None:
    bodies, body = Bodies(), b"0123456789" * 100
    for event in range(40):
        body += b"%d" % event
        bodies.splice(
            event,
            Delta(event - 1, len(body) - len(b"%d" % event), 0, b"%d" % event) if event else Delta(-1, 0, 0, body),
        )
    delta = bodies.shrink(40, body + b"more", 39)
    assert (delta.base, delta.prefix, delta.middle) == (39, len(body), b"more")
