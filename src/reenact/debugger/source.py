"""The program's source: its lines, and which of them can be stopped at."""

from __future__ import annotations

import tokenize
from functools import cache
from pathlib import Path
from types import CodeType

from reenact.errors import UsageError


@cache
def lines_of(file: str) -> tuple[str, ...]:
    """The lines of a file; none where it cannot be read."""
    try:
        with tokenize.open(file) as stream:
            return tuple(stream.read().splitlines())
    except (OSError, SyntaxError, ValueError):
        return ()


@cache
def lines_with_code(file: str) -> tuple[int, ...]:
    """The lines of a file at which the interpreter comes by; none where that cannot be told."""
    try:
        code = compile("\n".join(lines_of(file)) + "\n", file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return ()
    return tuple(sorted(_lines(code)))


def _lines(code: CodeType) -> set[int]:
    begins = code.co_firstlineno if code.co_name != "<module>" else 0
    found = {line for start, _, line in code.co_lines() if line is not None and line > 0}
    found.discard(begins)  # a function does not stop where it is defined: what defines it does
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _lines(inner)
    return found


def stop_at(file: str, line: int) -> int:
    """The line itself, or the next one at which the interpreter comes by.

    Raises:
        UsageError: there is none.
    """
    if line < 1:
        raise UsageError("lines are counted from 1")
    known = lines_with_code(file)
    if not known:
        return line
    found = next((one for one in known if one >= line), None)
    if found is None:
        raise UsageError(f"{Path(file).name} has no line of code at {line} or after: its last is {known[-1]}")
    return found
