"""Where in the program's source something happens: the agent's own line, not the library's that it called."""

from __future__ import annotations

import asyncio.base_events
import threading
from types import CodeType, FrameType
from typing import NamedTuple

from reenact import _real

MAIN_AGAIN = "__reenact_main__"  # a recorded main module that is imported again, so that its functions can be called
_LIBRARY_MARKS = ("/site-packages/", "/dist-packages/", "<frozen ")
_LIBRARY: dict[str, bool] = {}
# by id, which is quick; equal code of two files is not the same place. The code is kept, so that its id stays its own
NAMES: dict[int, tuple[CodeType, str]] = {}
# Below these a stack belongs to whoever turns the loop or runs the thread, not to the lane that is running
_BOTTOM = (
    asyncio.base_events.BaseEventLoop._run_once.__code__,  # type: ignore[attr-defined]  # noqa: SLF001
    threading.Thread._bootstrap_inner.__code__,  # type: ignore[attr-defined]  # noqa: SLF001
)


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
        module = frame.f_globals.get("__name__", "?")
        known = NAMES[id(code)] = (code, f"{'__main__' if module == MAIN_AGAIN else module}:{code.co_qualname}")
    return known[1]


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
    while frame is not None and frame.f_code not in _BOTTOM:
        if not is_library(frame.f_code.co_filename):
            return Place(frame.f_code.co_filename, frame.f_lineno, name_of(frame))
        frame = frame.f_back
    return None
