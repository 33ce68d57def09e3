"""Bodies as differences: whatever was sent comes back to the byte, and what is stored is the news."""

from __future__ import annotations

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import TapeCorruptError
from reenact.tape import delta as delta_module
from reenact.tape.delta import MAX_BASES, MIN_SHARED, Bodies
from reenact.tape.event import Delta


def shrunk(bodies: list[bytes], near: list[int] | None = None) -> list[Delta]:
    """The deltas of these bodies. `near` is the event that each tries first: the one before it by default."""
    writer = Bodies()
    first = near or range(-1, len(bodies) - 1)
    return [writer.shrink(event, body, at) for event, (body, at) in enumerate(zip(bodies, first, strict=True))]


def restored(deltas: list[Delta]) -> list[bytes]:
    reader = Bodies()
    return [reader.restore(event, delta) for event, delta in enumerate(deltas)]


def stored(deltas: list[Delta]) -> int:
    """The bytes that the deltas take."""
    return sum(len(msgspec.msgpack.encode(delta)) for delta in deltas)


def conversation(steps: int, *, seed: str = "") -> list[bytes]:
    """What an agent sends: its whole history each time, and two messages more."""
    messages: list[dict[str, str]] = [{"role": "system", "content": f"You are an agent. {seed}" * 20}]
    sent = []
    for step in range(steps):
        messages.append({"role": "user", "content": f"{seed} question {step} " * 8})
        sent.append(json.dumps({"model": "m", "messages": messages, "stream": False}).encode())
        messages.append({"role": "assistant", "content": f"{seed} answer {step} " * 8})
    return sent


# Whatever was sent comes back

chunks = st.binary(min_size=1, max_size=200) | st.integers(1, 3000).map(lambda size: b"ab\0\xff" * size)
WAYS = ["grow", "edit", "cut", "insert", "same", "twice", "new", "tiny"]


@st.composite
def sequences(draw: st.DrawFn) -> list[bytes]:
    """Bodies as agents send them and as they do not: growing, shrinking, edited anywhere, taken up again, tiny, new."""
    bodies: list[bytes] = [draw(st.binary(max_size=300))]
    for _ in range(draw(st.integers(0, 40))):
        old = bodies[draw(st.integers(0, len(bodies) - 1))]
        bodies.append(changed(draw, draw(st.sampled_from(WAYS)), old))
    return bodies


def changed(draw: st.DrawFn, way: str, old: bytes) -> bytes:
    at = draw(st.integers(0, len(old)))
    upto = draw(st.integers(at, len(old)))
    match way:
        case "grow":
            return old + draw(chunks)
        case "edit":
            return old[:at] + draw(chunks) + old[upto:]
        case "cut":
            return old[:at] + old[upto:]
        case "insert":
            return old[:at] + draw(chunks) + old[at:]
        case "same":
            return bytes(bytearray(old))
        case "twice":
            return (old + old)[:20_000]
        case "new":
            return draw(st.binary(max_size=300))
        case _:
            return draw(st.binary(max_size=MIN_SHARED))


@given(sequences(), st.data())
def test_any_sequence_of_bodies_comes_back(bodies: list[bytes], data: st.DataObject) -> None:
    near = [data.draw(st.integers(-1, max(at - 1, -1))) for at in range(len(bodies))]
    assert restored(shrunk(bodies, near)) == bodies


@given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=200))
def test_what_two_bodies_share_at_both_ends_is_never_counted_twice(
    head: bytes, one: bytes, two: bytes, tail: bytes
) -> None:
    bodies = [head + one + tail, head + two + tail, head + tail, head + tail + tail]
    for delta, body in zip(shrunk(bodies), bodies, strict=True):
        assert delta.prefix + len(delta.middle) + delta.suffix == len(body)
    assert restored(shrunk(bodies)) == bodies


@pytest.mark.parametrize("size", [0, 1, MIN_SHARED - 1, MIN_SHARED, MIN_SHARED + 1, 4095, 4096, 100_000])
def test_every_size_comes_back(size: int) -> None:
    bodies = [b"x" * size, b"x" * size, b"x" * (size + 1), b"y" + b"x" * size, b"x" * max(size - 1, 0)]
    assert restored(shrunk(bodies)) == bodies


def test_huge_bodies_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together more than the writer keeps: both sides forget the same ones."""
    monkeypatch.setattr(delta_module, "MAX_BASE_BYTES", 3_000_000)
    whole = bytes(range(256)) * 5_000
    bodies = [whole, whole + b"1", b"2" + whole, whole[:-1] + b"3", whole, b"small" * 40, whole + b"4"]
    assert restored(shrunk(bodies)) == bodies


def test_bytes_of_a_subclass_come_back() -> None:
    class Text(bytes):
        __slots__ = ()

    bodies = [b"a" * 200, Text(b"b" * 200), Text(b"a" * 200 + b"c")]
    assert restored(shrunk(bodies)) == bodies


# What is stored is the news


def test_a_growing_history_is_stored_once() -> None:
    bodies = conversation(60)
    deltas = shrunk(bodies)
    assert restored(deltas) == bodies
    assert stored(deltas[1:]) < 60 * 500
    assert sum(map(len, bodies)) > 15 * stored(deltas)
    assert all(delta.base == event - 1 for event, delta in enumerate(deltas[1:], 1))


def test_an_edit_in_the_middle_costs_the_edit() -> None:
    long = bytes(range(256)) * 400
    (_, delta) = shrunk([long, long[:50_000] + b"edited" + long[50_003:]])
    assert (delta.base, delta.middle) == (0, b"edited")


def test_several_conversations_at_once_do_not_disturb_each_other() -> None:
    talks = [conversation(10, seed=name) for name in ("alpha", "beta", "gamma", "delta")]
    bodies = [talk[step] for step in range(10) for talk in talks]
    deltas = shrunk(bodies)
    assert restored(deltas) == bodies
    assert [delta.base for delta in deltas[4:]] == list(range(36))


def test_a_conversation_is_found_again_without_a_hint() -> None:
    one, two = conversation(8, seed="alpha"), conversation(8, seed="beta")
    bodies = [body for pair in zip(one, two, strict=True) for body in pair]
    deltas = shrunk(bodies, [-1] * len(bodies))
    assert [delta.base for delta in deltas[2:]] == list(range(14))


def test_the_same_body_again_costs_nothing() -> None:
    body = conversation(1)[0]
    (_, delta) = shrunk([body, body])
    assert (delta.base, delta.middle) == (0, b"")


def test_bodies_that_share_little_are_stored_whole() -> None:
    bodies = [b'{"model":"a","text":"' + bytes([65 + at]) * 300 for at in range(4)]
    assert all(delta.base == -1 for delta in shrunk(bodies))


def test_only_recent_bodies_are_built_upon() -> None:
    old = conversation(3)[2]
    fill = [bytes([65 + at]) * 100 for at in range(MAX_BASES)]
    assert shrunk([old, *fill[1:], old])[-1].base == 0
    assert shrunk([old, *fill, old])[-1].base == -1


def test_tiny_bodies_push_no_other_out() -> None:
    old = conversation(3)[2]
    assert shrunk([old, *[b"{}"] * 100, old])[-1].base == 0


def test_the_writer_keeps_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_module, "MAX_BASE_BYTES", 10_000)
    bodies = Bodies()
    for event in range(50):
        bodies.shrink(event, bytes([event]) * 3_000, -1)
        assert bodies._bytes == sum(map(len, bodies._bases.values())) <= 10_000
    bodies.shrink(50, b"x" * 50_000, -1)
    assert list(bodies._bases) == [50]


# Deltas that no writer made


@pytest.mark.parametrize(
    "delta",
    [
        Delta(7, 0, 0, b""), Delta(1, 0, 0, b"x"), Delta(0, 101, 0, b""), Delta(0, 0, 101, b""), Delta(0, 60, 41, b""),
        Delta(0, -1, 0, b""), Delta(0, 0, -1, b""), Delta(0, -50, 60, b""), Delta(0, 2**62, 2**62, b""),
    ],
    ids=str,
)  # fmt: skip
def test_a_delta_outside_its_base_is_corrupt(delta: Delta) -> None:
    reader = Bodies()
    reader.restore(0, Delta(-1, 0, 0, b"x" * 100))
    with pytest.raises(TapeCorruptError, match="event 1"):
        reader.restore(1, delta)


@given(
    st.lists(
        st.builds(Delta, st.integers(-2, 12), st.integers(-5, 300), st.integers(-5, 300), st.binary(max_size=90)),
        max_size=12,
    )
)
def test_any_deltas_give_bodies_or_an_error(deltas: list[Delta]) -> None:
    reader = Bodies()
    for event, delta in enumerate(deltas):
        try:
            assert isinstance(reader.restore(event, delta), bytes)
        except TapeCorruptError:
            return


def test_a_writer_holds_one_body_of_a_conversation_that_goes_on() -> None:
    bodies = conversation(60)
    writer, tracing = Bodies(), []
    tracemalloc.start()
    try:
        for event, body in enumerate(bodies):
            writer.shrink(event, bytes(bytearray(body)), event - 1)
            tracing.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert tracing[-1] - tracing[0] < 2 * len(bodies[-1])


def test_lanes_that_share_their_beginning_each_keep_their_own_history() -> None:
    lanes = [conversation(12, seed=f"lane {lane}") for lane in range(4)]
    shared = conversation(30)[-1][:-20]
    bodies, near = [], []
    for step in range(12):
        for lane in range(4):
            bodies.append(shared + lanes[lane][step])
            near.append(len(bodies) - 5 if step else -1)
    deltas = shrunk(bodies, near)
    assert restored(deltas) == bodies
    assert max(len(delta.middle) for delta in deltas[4:]) < 1000
