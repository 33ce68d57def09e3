"""The frames that an exception came through, and the tracebacks that are made of them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from types import TracebackType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact import _real
from reenact.engine import frames
from reenact.tape.event import Frame


def trace_of(fails: Callable[[], object]) -> TracebackType:
    """The traceback of a function's error."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  whatever it is
        fails()
    return raised.tb


def below(fails: Callable[[], object], times: int) -> object:
    return below(fails, times - 1) if times else fails()


def one_line() -> object:
    return json.loads("{")


def several_lines() -> object:
    return (
        {}
        ["no"]
        .get(
            "thing"
        )
    )  # fmt: skip


@pytest.mark.parametrize("fails", [one_line, several_lines, lambda: 1 / 0, lambda: below(one_line, 9)])
def test_a_made_traceback_prints_as_the_real_one(fails: Callable[[], object]) -> None:
    real = trace_of(fails)
    again = frames.made(frames.of(real))
    error = ValueError("x")
    assert traceback.format_exception(error.with_traceback(again)) == traceback.format_exception(
        ValueError("x").with_traceback(real)
    )


def test_a_made_traceback_stands_below_where_it_is_raised_again() -> None:
    def raise_again() -> None:
        raise ValueError("x").with_traceback(frames.made(frames.of(trace_of(one_line))))

    names = [frame.name for frame in frames.of(trace_of(raise_again))]
    assert names[:2] == ["trace_of", "raise_again"]
    assert names[2:] == [frame.name for frame in frames.of(trace_of(one_line))]


def test_lines_of_ours_are_left_out_wherever_they_stand() -> None:
    place: dict[str, Callable[..., object]] = {}
    source = "def ours(then):\n    return then()\n"
    exec(compile(source, _real.PACKAGE + "engine/x.py", "exec"), place)
    ours = place["ours"]
    theirs = frames.theirs(trace_of(lambda: ours(lambda: ours(one_line))))
    names = [frame.name for frame in frames.of(theirs)]
    assert "ours" not in names
    assert names[-4:] == ["one_line", "loads", "decode", "raw_decode"]
    assert frames.theirs(None) is None


def test_where_no_columns_are_known_none_are_shown() -> None:
    frame = Frame(__file__, "f", 12, 12)
    assert frames.of(frames.made([frame])) == [frame]
    (told,) = traceback.format_tb(frames.made([frame]))
    assert "^" not in told


numbers = st.integers(-5, 2000) | st.integers()
names = st.text(st.characters())


@given(st.builds(Frame, names, names, numbers, st.none() | numbers, st.none() | numbers, st.none() | numbers))
def test_whatever_stands_on_a_tape_becomes_a_traceback(frame: Frame) -> None:
    made = frames.made([frame, frame])
    assert made is not None
    assert len(traceback.format_tb(made)) == 2


@given(st.integers(1, 2**31 - 1), st.integers(0, 99), st.integers(0, 2000), st.integers(0, 2000))
def test_every_place_that_code_can_stand_at_comes_back(line: int, lines: int, column: int, more: int) -> None:
    frame = Frame("x.py", "f", line, min(line + lines, 2**31 - 1), column, column + more)
    assert frames.of(frames.made([frame])) == [frame]
