"""Breakpoints as editors set them: all of a sort anew whenever one of them changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from reenact.debugger.breakpoints import Breakpoint, Exceptions, Expression, Line, check_expression
from reenact.debugger.dap import arguments, bodies
from reenact.debugger.dap.server import RefusedError
from reenact.debugger.dap.standing import Standing
from reenact.debugger.session import Debugger
from reenact.debugger.source import lines_with_code
from reenact.errors import UsageError

RAISED: Final = "raised"
UNCAUGHT: Final = "uncaught"
FILTERS: Final = [
    bodies.ExceptionBreakpointsFilter(
        filter=RAISED,
        label="Raised exceptions",
        description="Where the program's own code raises an exception, or meets one of a library's",
        supports_condition=True,
        condition_description="the name of a class: ValueError",
    ),
    bodies.ExceptionBreakpointsFilter(
        filter=UNCAUGHT,
        label="Uncaught exceptions",
        description="Where an exception was raised that nobody catches",
        default=True,
        supports_condition=True,
        condition_description="the name of a class: ValueError",
    ),
]

Watched = tuple[str, str, str]
"""An expression, and the function and the lane in which it means something."""

_Key = tuple[object, str, str]
_Wanted = tuple[_Key, Callable[[], Breakpoint]]


class Breaks:
    """Those of one session. What stays as it was keeps its number, and the count of its hits."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._of: dict[str, dict[_Key, Breakpoint]] = {}

    def set_lines(self, given: arguments.SetBreakpoints) -> bodies.Breakpoints:
        """Those of one file."""
        path = given.source.path or given.source.name or ""
        wanted = given.breakpoints or [arguments.SourceBreakpoint(line) for line in given.lines]
        debugger = self._debugger

        def at(one: arguments.SourceBreakpoint) -> _Wanted:
            condition, due = one.condition or "", one.hit_condition or ""
            return (one.line, condition, due), lambda: debugger.break_at(path, one.line, condition, due)

        return self._set(f"line {path}", map(at, wanted))

    def set_functions(self, given: arguments.SetFunctionBreakpoints) -> bodies.Breakpoints:
        """Functions by name; `tool NAME` and `step N` name those."""
        debugger = self._debugger

        def at(one: arguments.FunctionBreakpoint) -> _Wanted:
            condition, due = one.condition or "", one.hit_condition or ""

            def add() -> Breakpoint:
                match one.name.split():
                    case ["tool", name]:
                        return debugger.break_at_tool(name, condition, due)
                    case ["step", number] if number.isdecimal():
                        return debugger.break_at_step(int(number), condition, due)
                    case _:
                        return debugger.break_in(one.name, condition, due)

            return (one.name, condition, due), add

        return self._set("function", map(at, given.breakpoints))

    def set_exceptions(self, given: arguments.SetExceptionBreakpoints) -> bodies.Breakpoints:
        """The filters that are on, each with the name of a class, or without."""
        debugger = self._debugger
        chosen = [(name, "") for name in given.filters]
        chosen += [(one.filter_id, (one.condition or "").strip()) for one in given.filter_options]

        def at(one: tuple[str, str]) -> _Wanted:
            which, name = one
            if which not in (RAISED, UNCAUGHT):
                raise RefusedError(f"there is no filter {which!r} for exceptions")
            return (which, name, ""), lambda: debugger.break_at_raise(name, uncaught=which == UNCAUGHT)

        return self._set("exception", map(at, chosen))

    def set_watches(self, given: arguments.SetDataBreakpoints) -> bodies.Breakpoints:
        """Expressions whose value is not to change unseen."""
        debugger = self._debugger

        def at(one: arguments.DataBreakpoint) -> _Wanted:
            condition, due = one.condition or "", one.hit_condition or ""
            where = Expression(*watched_of(one.data_id))
            return (where, condition, due), lambda: debugger.breakpoints.add(where, condition, due)

        return self._set("data", map(at, given.breakpoints))

    def reason(self, numbers: Iterable[int]) -> str:
        """The protocol's word for a stop at these."""
        found = {
            number: one for some in self._of.values() for number, one in ((one.number, one) for one in some.values())
        }
        sorts = [type(found[number].where) for number in numbers if number in found]
        return "breakpoint" if not sorts or Line in sorts else "function breakpoint"

    def is_uncaught(self, numbers: Iterable[int]) -> bool:
        """Whether these are about exceptions that nobody catches."""
        chosen = set(numbers)
        found = [one.where for some in self._of.values() for one in some.values() if one.number in chosen]
        return any(isinstance(where, Exceptions) and where.uncaught for where in found)

    def _set(self, sort: str, wanted: Iterable[_Wanted]) -> bodies.Breakpoints:
        before, now, told = self._of.get(sort, {}), dict[_Key, Breakpoint](), list[bodies.Breakpoint]()
        for key, add in list(wanted):
            try:
                found = now[key] = now.get(key) or before.pop(key, None) or add()
            except UsageError as error:
                told.append(bodies.Breakpoint(verified=False, message=str(error)))
            else:
                told.append(_told(found))
        for one in before.values():
            self._debugger.breakpoints.delete(one.number)
        self._of[sort] = now
        return bodies.Breakpoints(breakpoints=told)


def locations(given: arguments.BreakpointLocations) -> bodies.BreakpointLocations:
    """The lines of a stretch at which a breakpoint may stand."""
    lines = lines_with_code(given.source.path or "")
    end = given.end_line or given.line
    return bodies.BreakpointLocations(
        breakpoints=[bodies.BreakpointLocation(line=line) for line in lines if given.line <= line <= end]
    )


def data_info(standing: Standing, given: arguments.DataBreakpointInfo) -> bodies.DataBreakpointInfo:
    """Whether a variable can be watched."""
    try:
        watched = standing.watched(given)
        check_expression(watched[0])
    except (RefusedError, UsageError) as error:
        return bodies.DataBreakpointInfo(data_id=None, description=str(error))
    return bodies.DataBreakpointInfo(
        data_id=data_id(watched), description=watched[0], access_types=["write"], can_persist=True
    )


def data_id(watched: Watched) -> str:
    """The name by which the editor asks for it again, also in another session."""
    return msgspec.json.encode(watched).decode()


def watched_of(name: str) -> Watched:
    """What `data_id` was made of.

    Raises:
        RefusedError: of nothing.
    """
    try:
        found: Watched = msgspec.json.decode(name, type=Watched)
    except msgspec.DecodeError:
        raise RefusedError(f"{name!r} is no data id of ours") from None
    return found


def _told(one: Breakpoint) -> bodies.Breakpoint:
    if isinstance(one.where, Line):
        source = bodies.Source(name=Path(one.where.file).name, path=one.where.file)
        return bodies.Breakpoint(verified=True, id=one.number, line=one.where.line, source=source)
    return bodies.Breakpoint(verified=True, id=one.number)
