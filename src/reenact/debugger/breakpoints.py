"""Where a user wants to stop: breakpoints and watchpoints, by numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reenact.debugger.course import Course
from reenact.errors import UsageError
from reenact.probe.messages import At, Break, Raised, Stops, Watch
from reenact.probe.wanted import is_due


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Function:
    """The first line of a function, by any of its names."""

    name: str


@dataclass(frozen=True, slots=True)
class AtStep:
    """Where a step begins: its request is about to be made."""

    number: int


@dataclass(frozen=True, slots=True)
class Tool:
    """Where a tool is asked for."""

    name: str


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Where an exception of a class is raised; without a name any. `uncaught`: only one that nobody catches."""

    name: str = ""
    uncaught: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """Where the value of an expression changes. `function` and `lane` are where it means something."""

    text: str
    function: str
    lane: str


Where = Line | Function | AtStep | Tool | Exceptions | Expression


@dataclass(slots=True)
class Breakpoint:
    """One of them. `due` says at which of its hits it stops: `3`, `>= 3`, `% 2`; every one where it is empty.

    `hits` counts them, going forward. `once`: it is gone after it has stopped.
    """

    number: int
    where: Where
    condition: str = ""
    due: str = ""
    enabled: bool = True
    hits: int = 0
    once: bool = False

    @property
    def counted(self) -> tuple[int, str, int]:
        """Its number, and which of its hits are due."""
        return self.number, self.due, self.hits


class Breakpoints:
    """All of them, by number."""

    def __init__(self) -> None:
        self._all: dict[int, Breakpoint] = {}
        self._last = 0

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def add(self, where: Where, condition: str = "", due: str = "", *, once: bool = False) -> Breakpoint:
        """One more.

        Raises:
            UsageError: what is to be evaluated there is no expression, or `due` no count.
        """
        if isinstance(where, Expression):
            check_expression(where.text)
        _check(condition, due)
        self._last += 1
        found = self._all[self._last] = Breakpoint(self._last, where, condition, due, once=once)
        return found

    def get(self, number: int) -> Breakpoint:
        """The one of that number.

        Raises:
            UsageError: there is none.
        """
        if number not in self._all:
            have = ", ".join(map(str, self._all)) or "none yet"
            raise UsageError(f"there is no breakpoint {number} ({have})")
        return self._all[number]

    @staticmethod
    def change(one: Breakpoint, *, condition: str | None = None, due: str | None = None) -> None:
        """Gives it another condition, or other hits that are due.

        Raises:
            UsageError: as `add`.
        """
        _check(condition or "", due or "")
        one.condition = one.condition if condition is None else condition
        one.due = one.due if due is None else due

    def delete(self, number: int) -> None:
        """Forgets one.

        Raises:
            UsageError: there is none of that number.
        """
        del self._all[self.get(number).number]

    def count(self, hits: dict[int, int]) -> None:
        """Takes down how often they have been met."""
        for number, count in hits.items():
            if number in self._all:
                self._all[number].hits = count

    def stopped(self, numbers: Iterable[int]) -> None:
        """A motion has stopped at these: those that were for once are gone."""
        for number in numbers:
            if number in self._all and self._all[number].once:
                del self._all[number]

    def clear(self) -> None:
        """Forgets all."""
        self._all.clear()

    def stops(self, course: Course) -> Stops:
        """What of them a process is to stop at."""
        stops = Stops(breaks=[], watches=[], calls=[], raised=[])
        for one in self._all.values():
            if not one.enabled:
                continue
            match one.where:
                case Line(file, line):
                    stops.breaks.append(Break(file, line, one.condition, "", *one.counted))
                case Function(name):
                    stops.breaks.append(Break("", 0, one.condition, name, *one.counted))
                case AtStep(number):
                    stops.calls.append(At(course.call_of_step(number), one.condition, *one.counted))
                case Tool(name):
                    stops.calls.extend(At(call, one.condition, *one.counted) for call in course.calls_of_tool(name))
                case Exceptions(name, uncaught):
                    stops.raised.append(Raised(name, one.condition, uncaught, *one.counted))
                case Expression(text, function, lane):
                    stops.watches.append(Watch(text, function, lane, one.number))
        return stops


def _check(condition: str, due: str) -> None:
    if condition:
        check_expression(condition)
    try:
        is_due(due, 0)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_expression(text: str) -> None:
    """Checks that it is one.

    Raises:
        UsageError: it is not.
    """
    try:
        compile(text.strip(), "<expression>", "eval")
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(f"{text!r} is no expression: {reason}") from None
