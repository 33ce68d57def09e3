"""Threads that are not there in a copy of a process, of which the interpreter still has what they ran.

Their frames lie on stacks of the system's that new threads get, so whoever asks where all threads are
(`sys._current_frames`) would read what others have written there. The interpreter's own fork forgets such threads, with
all that they held; here they have no frame any more, and all else stays as it is.
"""

from __future__ import annotations

import ctypes
import sys
from typing import NamedTuple

from reenact import _real

_API = ctypes.PyDLL(None)
for _name in ("PyThreadState_Get", "PyInterpreterState_Get", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
    getattr(_API, _name).restype = ctypes.c_void_p


class _Layout(NamedTuple):
    """In bytes: where the state of a thread says what runs, where that says which frame, and where that says the code.

    Before 3.13 it says it by a struct that lies on the stack, too.
    """

    running: int
    frame: int | None
    code: int


# struct _ts (cpython/pystate.h), _PyCFrame (the same) and _PyInterpreterFrame (pycore_frame.h)
_LAYOUTS = {(3, 11): _Layout(56, 8, 32), (3, 12): _Layout(56, 0, 0), (3, 13): _Layout(72, None, 0)}
_LAYOUT = _LAYOUTS.get(sys.version_info[:2])
_NOTHING = ctypes.create_string_buffer(64)  # in the place of that struct


def can_forget() -> bool:
    """Whether this interpreter has all of that where we look for it."""
    if _LAYOUT is None:
        return False
    at = ctypes.c_size_t.from_address  # no function of ours, which would be what runs
    here = at(_API.PyThreadState_Get() + _LAYOUT.running).value
    if _LAYOUT.frame is not None:
        here = at(here + _LAYOUT.frame).value
    return at(here + _LAYOUT.code).value == id(_real.getframe().f_code)


def forget() -> None:
    """No thread but the calling one runs anything; to be called in a copy."""
    assert _LAYOUT is not None  # noqa: S101  callers have asked
    own = _API.PyThreadState_Get()
    state = _API.PyInterpreterState_ThreadHead(ctypes.c_void_p(_API.PyInterpreterState_Get()))
    while state:
        if state != own:
            nothing = None if _LAYOUT.frame is None else ctypes.addressof(_NOTHING)
            ctypes.c_void_p.from_address(state + _LAYOUT.running).value = nothing
        state = _API.PyThreadState_Next(ctypes.c_void_p(state))
