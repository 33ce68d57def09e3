"""The variables of a function that is running or suspended, read without leaving a trace.

Python 3.13 gives a view of them. Before, `f_locals` copies them into a dictionary that stays with the frame: it keeps
alive what the function lets go, refreshes what the program has from `locals()`, and below a trace function what is
missing in it is deleted from the function. So they are read where they lie.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FrameType
from typing import Any

_OPTIMIZED = 1  # of a function, whose variables are no dictionary (inspect.CO_OPTIMIZED)
_COPIES = sys.version_info < (3, 13)
# struct _frame and _PyInterpreterFrame (pycore_frame.h) of CPython 3.11 and 3.12, where these two places are the same
_INNER = object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)  # f_frame, behind f_back
_SLOTS = 9 * ctypes.sizeof(ctypes.c_void_p)  # localsplus


def variables_of(frame: FrameType) -> dict[str, Any]:
    """By name, in the order of the code; what is not bound is left out, and what the compiler made for itself."""
    code = frame.f_code
    pairs: Iterable[tuple[str, Any]] = ()
    if not (_COPIES and code.co_flags & _OPTIMIZED):
        found = frame.f_locals
        if type(found) is dict or code.co_flags & _OPTIMIZED:  # else it is a mapping of the agent's own
            pairs = list(found.items())
    else:
        pairs = _read(frame, code)
    return {name: value for name, value in pairs if type(name) is str and not name.startswith(".")}


def is_of_module(frame: FrameType) -> bool:
    """Whether its variables are those of its module."""
    return not frame.f_code.co_flags & _OPTIMIZED and frame.f_locals is frame.f_globals


def _read(frame: FrameType, code: CodeType) -> Iterator[tuple[str, Any]]:
    """As `f_locals` has them: a variable that inner functions share lies in a cell."""
    own = code.co_varnames
    shared = [name for name in code.co_cellvars if name not in own] + list(code.co_freevars)
    cells = {*code.co_cellvars, *code.co_freevars}
    inner = ctypes.c_void_p.from_address(id(frame) + _INNER).value
    assert inner is not None  # noqa: S101  a frame has one as long as it is there
    names = [*own, *shared]
    slots = (ctypes.py_object * len(names)).from_address(inner + _SLOTS)
    for at, name in enumerate(names):
        try:
            value: Any = slots[at]
            yield name, value.cell_contents if name in cells and type(value) is CellType else value
        except ValueError:
            continue  # not bound
