"""Tools: functions that are boundaries. What they were given and gave back is on tape, and no replay runs them.

`@tool` makes one, or `[tool.reenact] boundaries` in pyproject.toml names those of code that is not edited. What a tool
does inside (calls, files, clock) is below the boundary, and no part of the run.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeVar

from reenact.engine import failure, values
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import Lane, current, muted
from reenact.engine.moved import Moves
from reenact.errors import UsageError
from reenact.seams.patch import Patches
from reenact.seams.system import generators
from reenact.tape.event import Failed, Kind, PartKind

F = TypeVar("F", bound=Callable[..., Any])


def tool(function: F) -> F:
    """Makes a function (sync or async) a boundary: recorded at each call, and answered from the tape in replay.

    Arguments and result are JSON values, dataclasses, models, enums, dates, paths; in a recording anything else is
    refused by an `ArgumentError`, and nothing is ever pickled. Outside of a run it is the function as it was.

    Raises:
        UsageError: it is a generator function, whose values come one by one.
    """
    return _bounded(function, f"{function.__module__}:{function.__qualname__}", of_class=False)  # type: ignore[return-value]


def meet(module: ModuleType, names: Sequence[str], patches: Patches) -> None:
    """Makes a function of a module, which has been imported, a boundary.

    Raises:
        UsageError: it is not there, or a generator function.
    """
    owner: Any = module
    name, path = names[-1], f"{module.__name__}:{'.'.join(names)}"
    try:
        for part in names[:-1]:
            owner = getattr(owner, part)
        given = inspect.getattr_static(owner, name)
    except AttributeError as error:
        raise UsageError(f"{path} is not there") from error
    if isinstance(given, staticmethod | classmethod):
        patches.set(owner, name, type(given)(_bounded(given.__func__, path, of_class=isinstance(given, classmethod))))
    elif isinstance(owner, ModuleType):
        patches.function(owner, name, _bounded(given, path, of_class=False))
    else:
        patches.set(owner, name, _bounded(given, path, of_class=True))


def _bounded(function: Callable[..., Any], path: str, *, of_class: bool) -> Callable[..., Any]:
    """`of_class`: the first argument is the object or class that it belongs to, which is not kept."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{path} is a generator function: a tool gives one value back")
    boundary = _Boundary(function, path, of_class=of_class)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def crossing_async(*args: Any, **kwargs: Any) -> Any:
            lane = current()
            return await (boundary.across(lane, args, kwargs) if lane is not None else function(*args, **kwargs))

        return crossing_async

    @functools.wraps(function)
    def crossing(*args: Any, **kwargs: Any) -> Any:
        lane = current()
        return boundary.cross(lane, args, kwargs) if lane is not None else function(*args, **kwargs)

    return crossing


class _Boundary:
    """One function as a boundary."""

    def __init__(self, function: Callable[..., Any], path: str, *, of_class: bool) -> None:
        self._function = function
        self._path = path
        self._of_class = of_class
        self._named = functools.partial(function, None) if of_class else function

    def cross(self, lane: Lane, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One call."""
        given = self._given(args, kwargs)
        crossing = self._begin(lane, given)
        results: list[Any] = []

        def perform() -> Answer:
            results.append(self._function(*args, **kwargs))
            return self._answer(lane, results[0], given, self._given(args, kwargs))

        answer = crossing.pull(perform)
        return results[0] if results else self._again(answer)

    async def across(self, lane: Lane, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One call of a coroutine function."""
        given = self._given(args, kwargs)
        crossing = self._begin(lane, given)
        results: list[Any] = []

        async def perform() -> Answer:
            results.append(await self._function(*args, **kwargs))
            return self._answer(lane, results[0], given, self._given(args, kwargs))

        answer = await crossing.apull(perform)
        return results[0] if results else self._again(answer)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        with muted():
            return values.encode(self._named, args[self._of_class :], kwargs)

    def _begin(self, lane: Lane, given: str) -> Crossing:
        crossing = Crossing.begin(lane, Call(Kind.TOOL, self._path, (), given.encode()), self._revive)
        if lane.session is not None:
            crossing.moves = Moves(lane.session, generators)
        return crossing

    def _answer(self, lane: Lane, result: Any, before: str, after: str) -> Answer:
        if before != after and lane.session is not None:
            lane.session.note("tool", f"{self._path} changes what it is given, which a replay does not do")
        return Answer(PartKind.VALUE, values.encode_value(result).encode())

    def _again(self, answer: Answer) -> Any:
        with muted():
            return values.decode_value(answer.data.decode(), self._module)

    def _module(self, name: str) -> ModuleType:
        """A module whose classes a result may be of: one that is imported already, or of the tool's own package."""
        if name not in sys.modules and name.partition(".")[0] != self._path.partition(".")[0].partition(":")[0]:
            raise ImportError(f"{name} is not imported")
        return importlib.import_module(name)

    def _revive(self, failed: Failed) -> BaseException:
        return failure.decode(failed, [sys.modules[failed.module]] if failed.module in sys.modules else ())
