"""The frames that an exception came through: as data, and as a traceback that prints the same."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FrameType, TracebackType
from typing import Any

from reenact import _real
from reenact.tape.event import Frame

_RAISE = "raise_here"
_MOST_LINES = 1000  # of one expression: Python 3.13 looks at each of them when it prints a traceback


class _Here(Exception):  # noqa: N818  no error: the way to a frame
    """Raised in a frame that is wanted for a traceback."""


def of(trace: TracebackType | None) -> list[Frame]:
    """The frames of a traceback, outermost first; ours are left out."""
    frames = []
    trace = theirs(trace)
    while trace is not None:
        code = trace.tb_frame.f_code
        _, end_line, column, end_column = _position(code, trace.tb_lasti)
        place = trace.tb_lineno, end_line, column, end_column
        frames.append(Frame(_text(code.co_filename), _text(code.co_name), *place))
        trace = trace.tb_next
    return frames


def theirs(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames that are ours, which are taken out of it."""
    while trace is not None and is_ours(trace.tb_frame):
        trace = trace.tb_next
    kept = trace
    while kept is not None:
        while kept.tb_next is not None and is_ours(kept.tb_next.tb_frame):
            kept.tb_next = kept.tb_next.tb_next
        kept = kept.tb_next
    return trace


def made(frames: Iterable[Frame]) -> TracebackType | None:
    """A traceback that prints as one through these frames does."""
    trace = None
    for frame in reversed(list(frames)):
        trace = _link(frame, trace)
    return trace


def _link(frame: Frame, inner: TracebackType | None) -> TracebackType:
    try:
        exec(_code(frame), {_RAISE: _raise})  # noqa: S102  it is code of ours that has the place and name of another
    except _Here as error:
        real = error.__traceback__
        assert real is not None  # noqa: S101  the first is this function, the next what it runs
        real = real.tb_next
        assert real is not None  # noqa: S101
        return TracebackType(inner, real.tb_frame, real.tb_lasti, _line(frame))
    raise AssertionError(frame)


def _raise() -> None:
    raise _Here


@lru_cache(maxsize=512)
def _code(frame: Frame) -> CodeType:
    """A call that stands where `frame` says."""
    try:
        code = _call(_place(frame))
    except (ValueError, OverflowError):
        code = _without_columns(_call({"lineno": 1, "col_offset": 0}), _line(frame))
    name = _text(frame.name)
    return code.replace(co_filename=_text(frame.file), co_name=name, co_qualname=name)


def _place(frame: Frame) -> dict[str, int]:
    """Where the frame is in its line or lines.

    Raises:
        ValueError: that is not known, or it is nowhere that could be printed.
    """
    end, column, end_column = frame.end_line, frame.column, frame.end_column
    if end is None or column is None or end_column is None or end - frame.line > _MOST_LINES:
        raise ValueError(frame)
    return {"lineno": frame.line, "end_lineno": end, "col_offset": column, "end_col_offset": end_column}


def _call(at: dict[str, int]) -> CodeType:
    call: Any = ast.Call(ast.Name(_RAISE, ast.Load(), **at), [], [], **at)
    return compile(ast.Module([ast.Expr(call, **at)], []), "", "exec")


def _without_columns(code: CodeType, line: int) -> CodeType:
    """The code, all of it in one line of which no more is known (code 13 of CPython's Objects/locations.md)."""
    units = len(code.co_code) // 2
    lengths = [min(8, units - at) for at in range(0, units, 8)]
    table = b"".join(bytes((0x80 | 13 << 3 | length - 1, 0)) for length in lengths)
    return code.replace(co_firstlineno=line, co_linetable=table)


def _text(text: str) -> str:
    """A name that can stand on a tape, and be looked for on disk."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _line(frame: Frame) -> int:
    return frame.line if 0 < frame.line < 2**31 else 1


def is_ours(frame: FrameType) -> bool:
    """Whether it is code of reenact that runs there."""
    return frame.f_code.co_filename.startswith(_real.PACKAGE)


def _position(code: CodeType, instruction: int) -> tuple[int | None, int | None, int | None, int | None]:
    return next(itertools.islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
