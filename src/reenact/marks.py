"""What a program may say of itself: which agent it is, what step it is at, whose session it serves.

Light, and next to nothing where no run goes on: there it is said to nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

from reenact.engine.lane import Lane, current, get_lane
from reenact.engine.place import Place
from reenact.engine.scope import Scope, enter, here
from reenact.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
Scalar = str | int | float | bool | None

_bare = object.__new__  # one look-up less


class _Mark:
    """A stretch of what a program does, by a name: a block, or each call of a function. It never raises."""

    __slots__ = ("_attributes", "_name", "_open")
    _kind: ClassVar[str]
    _name: Any
    _attributes: dict[str, Any]
    _open: list[Scope]

    def __new__(cls, what: Any = "", /, **attributes: Any) -> Any:
        """`what` is a name, or the function to mark."""
        self = _bare(cls)
        self._attributes = attributes
        self._open = []
        if type(what) is str or not (callable(what) or isinstance(what, classmethod)):
            self._name = what
            return self
        self._name = ""
        return self(what)

    def __enter__(self) -> Self:
        """What the calling context does from now on is in it, and so is what is begun there: tasks, threads, jobs."""
        lane = get_lane()
        if lane is not None and lane.live:
            scope = self._begin(lane, self._name)
            if scope is not None:
                self._open.append(scope)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it."""
        if self._open:
            scope = self._innermost()
            self._open.remove(scope)
            _end(scope, error)
            scope.leave(get_lane())

    async def __aenter__(self) -> Self:
        """As `__enter__`."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As `__exit__`."""
        self.__exit__(kind, error, trace)

    def __call__(self, function: F, /) -> F:
        """The function, each of whose calls is in it; a generator while it is asked for its next value."""
        from reenact.engine.around import around  # noqa: PLC0415  blocks do without it

        if isinstance(function, type):
            raise UsageError(
                f"reenact.{self._kind} marks functions and blocks: mark the methods of {function.__name__}"
            )
        return around(function, self._call)

    def _innermost(self) -> Scope:
        """Of those that are open, that which the calling context is in; maybe it was opened in another."""
        inside = here()
        mine = (scope for scope in inside.outwards() if scope in self._open) if inside is not None else iter(())
        return next(mine, self._open[-1])

    def _call(self, function: Callable[..., Any], _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> _Call | None:
        lane = current()
        if lane is None:
            return None
        outside = here()
        scope = self._begin(lane, self._name or getattr(function, "__name__", self._kind), _place_of(function))
        return _Call(scope, outside) if scope is not None else None

    def _begin(self, lane: Lane, name: str, place: Place | None = None) -> Scope | None:
        from reenact.tape.event import MarkKind  # noqa: PLC0415  where a run goes on it is there

        if lane.session is None:
            return None
        return lane.session.marks.begin(lane, MarkKind[self._kind.upper()], name, self._attributes, place)


class _Call:
    """One call of a marked function, `outside` of which the context was in another scope or in none."""

    __slots__ = ("_inside", "_outside", "_scope")

    def __init__(self, scope: Scope, outside: Scope | None) -> None:
        self._scope = scope
        self._outside = outside
        self._inside: Scope | None = scope

    def gave(self, _value: Any) -> None:
        """The generator is away."""
        self._inside = here()
        enter(self._outside)

    def asked(self, _sent: Any) -> None:
        """It goes on, maybe in another context."""
        self._outside = here()
        enter(self._inside)

    def end(self, error: BaseException | None, _returned: Any = None, *, finished: bool = True) -> None:
        """It is over."""
        _end(self._scope, error)
        enter(self._outside)


def _end(scope: Scope, error: BaseException | None) -> None:
    session = scope.lane.session
    if session is not None:
        session.marks.end(scope, type(error).__name__ if error is not None else "")


def _place_of(function: Callable[..., Any]) -> Place | None:
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return Place(code.co_filename, code.co_firstlineno, f"{function.__module__}:{function.__qualname__}")


class agent(_Mark):  # noqa: N801  used as `with reenact.agent("planner"):`
    """Marks what an agent does: `with reenact.agent("planner", role="plans the trip"):`, `async with`, as a decorator.

    `reenact show` tells the events by agent, and `reenact show --agent planner` those of one. Attributes are texts,
    numbers, truth values or None. Outside of a run it does nothing.
    """

    __slots__ = ()
    _kind = "agent"

    if TYPE_CHECKING:  # which sees from this what the common `__new__` gives

        @overload
        def __new__(cls, name: str = "", /, *, role: str = ..., **attributes: Scalar) -> Self: ...
        @overload
        def __new__(cls, function: F, /) -> F: ...  # type: ignore[misc]  # a decorator without brackets is the function
        def __new__(cls, what: Any = "", /, **attributes: Any) -> Any:
            """`what` is a name, or the function to mark."""


class step(_Mark):  # noqa: N801  as above
    """Marks a step of the program's own: `with reenact.step("find flights"):`, `async with`, as a decorator.

    Otherwise as `agent`.
    """

    __slots__ = ()
    _kind = "step"

    if TYPE_CHECKING:

        @overload
        def __new__(cls, name: str = "", /, **attributes: Scalar) -> Self: ...
        @overload
        def __new__(cls, function: F, /) -> F: ...  # type: ignore[misc]  # as above
        def __new__(cls, what: Any = "", /, **attributes: Any) -> Any:
            """As of `agent`."""


def session(id: str, /) -> None:  # noqa: A002  it is what users call it
    """Says which session the present run belongs to: a conversation of several runs. Without a run it does nothing."""
    lane = current()
    if lane is not None and lane.session is not None:
        lane.session.marks.session(lane, id)


def tag(*keys: str, **tags: str | float | bool) -> None:
    """Adds tags to the present run: `reenact.tag("beta", customer="acme")`. Outside of a run it does nothing."""
    lane = current()
    if lane is not None and lane.session is not None:
        lane.session.marks.tags(lane, keys, tags)


def current_run() -> str | None:
    """The id of the run that the calling code is in, to be logged beside a ticket; None where nothing is recorded.

    A replay gives the id of the recorded run.
    """
    lane = current()
    return lane.session.run_id or None if lane is not None and lane.session is not None else None
