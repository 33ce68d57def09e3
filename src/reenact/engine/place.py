"""Where in the program's source something happens: the agent's own line, not the library's that it called."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import NamedTuple

from reenact import _real

_LIBRARY_MARKS = ("/site-packages/", "/dist-packages/", "<frozen ")
_LIBRARY: dict[str, bool] = {}
# by id, which is quick; equal code of two files is not the same place. The code is kept, so that its id stays its own
NAMES: dict[int, tuple[CodeType, str]] = {}
# Below these a stack belongs to whoever turns the loop or runs the thread, not to the lane that is running. By id, with
# the code, too; the seams fill it
BOTTOM: dict[int, CodeType] = {}
_PASSED: dict[int, CodeType] = {}  # what an agent's line was looked for above before, likewise
_PLACES: dict[tuple[int, int], Place] = {}  # by code and instruction: to find the line of that takes a while


class Place(NamedTuple):
    """A line of source. `function` is `module:qualified.name`."""

    file: str
    line: int
    function: str


def name_of(frame: FrameType) -> str:
    """`module:function` of a frame: the name of a call site, the same on every machine."""
    code = frame.f_code
    known = NAMES.get(id(code))
    if known is None:
        known = NAMES[id(code)] = (code, f"{frame.f_globals.get('__name__', '?')}:{code.co_qualname}")
    return known[1]


def is_bottom(code: CodeType) -> None:
    """A stack belongs to a lane only above the frames of this code."""
    BOTTOM[id(code)] = code
    _PASSED.pop(id(code), None)


def is_library(filename: str) -> bool:
    """Whether a source file belongs to an installed library, the standard library, or reenact."""
    known = _LIBRARY.get(filename)
    if known is None:
        path = filename.replace("\\", "/")
        known = any(mark in path for mark in _LIBRARY_MARKS) or path.startswith((_real.STDLIB, _real.PACKAGE))
        _LIBRARY[filename] = known
    return known


def agent_place(frame: FrameType | None) -> Place | None:
    """The innermost line of the agent's own on the stack of this lane; None when it has none."""
    while frame is not None:
        code = frame.f_code
        if id(code) not in _PASSED:
            if id(code) in BOTTOM:
                return None
            if not is_library(code.co_filename):
                where = id(code), frame.f_lasti
                known = _PLACES.get(where)
                if known is None:
                    known = _PLACES[where] = Place(code.co_filename, frame.f_lineno, name_of(frame))
                return known
            _PASSED[id(code)] = code
        frame = frame.f_back
    return None
