"""Answers what a debugger asks of a process that stands still."""

from __future__ import annotations

import linecache
import sys
from functools import cached_property
from types import FrameType
from typing import Any

import msgspec

from reenact.engine.glimpse import glimpse
from reenact.engine.lane import Lane
from reenact.engine.place import name_of
from reenact.engine.session import Session
from reenact.probe.aside import evaluated
from reenact.probe.messages import Answer, Ask
from reenact.probe.path import found_at, named_by
from reenact.probe.stack import Stack, stacks
from reenact.probe.state import Limits, State, Variable, look_at, state_of
from reenact.probe.trace import is_own
from reenact.probe.values import LINE, Handles, Shown

RUNS_CODE = frozenset({"evaluate", "look"})
"""Questions for whose answer code of the program's runs."""
_ROOM = 1_000  # calls of ours above those of a program that may have nearly as many as it can


class Frame(msgspec.Struct, frozen=True):
    """A function that runs. `number` is counted from the innermost, 0; `own`: it is the agent's.

    `ref` opens its variables.
    """

    number: int
    file: str
    line: int
    function: str
    own: bool
    ref: int = 0


class Strand(msgspec.Struct, frozen=True):
    """A lane, and the thread that runs it: none where it is a task that is suspended."""

    lane: str
    name: str
    thread: str
    waits_for: tuple[str, ...] = ()


class Answers:
    """Each question is a method of its name. What they show may be asked for again as long as nothing goes on."""

    def __init__(self, session: Session, frame: FrameType | None, lane: Lane | None) -> None:
        self._session = session
        self._frame = frame
        self._lane = lane
        self._handles = Handles()

    def forget(self) -> None:
        """Lets go of the program's objects."""
        self._frame = None
        self.__dict__.pop("_stacks", None)
        self._handles.clear()

    def answer(self, question: Ask) -> Answer:
        """The answer to a question, or why there is none."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _ROOM)
        try:
            given = [msgspec.json.decode(one) for one in question.args]
            found = getattr(self, f"ask_{question.name}")(*given)
            return Answer(msgspec.Raw(msgspec.json.encode(found)))
        except BaseException as error:  # noqa: BLE001  the program's own, or ours: it is told, and ends nothing
            return Answer(error=f"{type(error).__name__}: {error}")
        finally:
            sys.setrecursionlimit(limit)

    def ask_lanes(self) -> list[Strand]:
        """All lanes, the one that stands first."""
        return [Strand(one.lane, one.name, one.thread, one.waits_for) for one in self._stacks]

    def ask_stack(self, lane: str = "") -> list[Frame]:
        """The functions that run in a lane, or in the one that stands; the innermost first."""
        return [
            Frame(at, one.f_code.co_filename, one.f_lineno, name_of(one), is_own(one.f_code), self._handles.hold(one))
            for at, one in enumerate(self._stack(lane).frames)
        ]

    def ask_variables(self, ref: int, start: int = 0, count: int = 100) -> list[Shown]:
        """So many of what a reference opens, from there on."""
        return self._handles.page(ref, start, count)

    def ask_letters(self, ref: int, start: int, count: int) -> str:
        """So much of a text that a reference opens."""
        return self._handles.letters(ref, start, count)

    def ask_evaluate(self, text: str, frame: int = 0, lane: str = "") -> str:
        """What an expression gives, in a line."""
        return glimpse(evaluated(text, self._stack(lane).frames[frame]), LINE)

    def ask_show(self, text: str, frame: int, lane: str) -> Shown | None:
        """What an expression names, to be opened; None where it would have to run."""
        named = named_by(text, self._stack(lane).frames[frame])
        return self._handles.show(text.strip(), named[0]) if named is not None else None

    def ask_globals(self, frame: int, lane: str) -> int:
        """A reference that opens the variables of the module that a function is of."""
        names = self._stack(lane).frames[frame].f_globals
        module = sys.modules.get(str(names.get("__name__")))
        return self._handles.hold(module if module is not None and vars(module) is names else names)

    def ask_source(self, file: str) -> str:
        """The text of a source, as the interpreter finds it in the world of the replay; empty where it does not."""
        return "".join(linecache.getlines(file))

    def ask_written(self) -> dict[str, dict[int, int]]:
        """How many bytes each lane has written, by its path and the number of the stream."""
        return self._session.boundary.written()

    def ask_locals(self, frame: int = 0, lane: str = "") -> dict[str, str]:
        """Variables, each in a line."""
        shown = self._handles.page(self._handles.hold(self._stack(lane).frames[frame]))
        return {one.name: one.text for one in shown}

    def ask_state(self, limits: dict[str, Any]) -> State:
        """All of it, within limits."""
        return state_of(self._stacks, msgspec.convert(limits, Limits))

    def ask_look(self, text: str, frame: int, lane: str, limits: dict[str, Any]) -> Variable:
        """What an expression gives in one of the agent's own functions, counted from the innermost, within limits.

        What only names a part of a variable runs no code of the agent's.
        """
        where = [one for one in self._stack(lane).frames if is_own(one.f_code)][frame]
        return look_at(text, found_at(text, where), msgspec.convert(limits, Limits))

    @cached_property
    def _stacks(self) -> list[Stack]:
        return stacks(self._session, self._frame, self._lane)

    def _stack(self, lane: str) -> Stack:
        return next(one for one in self._stacks if not lane or one.lane == lane)
