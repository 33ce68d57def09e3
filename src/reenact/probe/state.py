"""The state of a program that stands still, as data: its lanes, their functions, and what the variables hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from reenact.engine import digest as digests
from reenact.engine.digest import Digester
from reenact.engine.glimpse import full_name, glimpse, is_data
from reenact.engine.inside import CODE, array_of, data_in, named_in
from reenact.engine.place import name_of
from reenact.probe.stack import Stack
from reenact.probe.trace import is_own
from reenact.probe.values import LINE, count_of, encodable, is_cut, parts_of, path

EXACT: Final = digests.Bounds(nodes=500_000, depth=48, letters=1 << 26, hides=False)
"""As good as all of a value, whatever it is called."""
_JSON_NUMBERS: Final = 1 << 53  # what any reader of JSON keeps exactly
_NOT_PLAIN: Final = object()


class Limits(msgspec.Struct, frozen=True):
    """How much of a state is shown.

    Of each variable so many levels, of each level so many parts, of a text so many letters, of each variable so many
    values, and so many of all together. `modules`: the variables of the modules, too, that the program's functions are
    of. `things`: also what is no data: the attributes of a library's objects, and of modules the functions, classes and
    modules that they name.
    """

    depth: int = 6
    items: int = 100
    letters: int = 2_000
    nodes: int = 10_000
    total: int = 40_000
    modules: bool = False
    things: bool = False


ALL: Final = Limits(depth=40, items=1_000_000, letters=1 << 26, nodes=100_000, total=400_000, things=True)


class Variable(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a variable holds, or a part of it.

    `name` says how it is had from what it is in: `total`, `[3]`, `['role']`. `text` is a line of it. `value` is there
    when it is plain JSON (objects with texts as keys, arrays, texts, numbers, true, false, null) and shown whole;
    otherwise `inside` holds the first of its `count` parts. `above` names what it is itself inside of: a circle.
    `same_as` is a variable of the same function or one further in that holds the very same thing: `ask.messages`.
    `digest` is equal when what it holds is equal, also where it is not shown; it is missing where a part says it all,
    and for what only its type is known of. With `partly`, the digest does not cover all of it.
    """

    name: str
    type: str
    text: str
    value: Any = msgspec.UNSET
    count: int = 0
    inside: tuple[Variable, ...] = ()
    above: str = ""
    same_as: str = ""
    digest: str = ""
    partly: bool = False


class Frame(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A function that has been called and has not ended. `function` is `module:name`.

    The program's own have a `number`, from the innermost, 0; those of libraries have none, and no variables.
    """

    number: int | None = None
    function: str
    file: str
    line: int
    library: bool = False
    variables: tuple[Variable, ...] = ()


class Strand(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A lane: its functions, the innermost first. `thread` is empty for a task that is suspended."""

    lane: str
    name: str
    thread: str = ""
    waits_for: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()


class State(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Every lane, that which stands first; and the variables of modules, by these modules' names, if asked for."""

    lanes: tuple[Strand, ...]
    modules: dict[str, tuple[Variable, ...]] = {}


def state_of(stacks: Iterable[Stack], limits: Limits) -> State:
    """The state of a program whose lanes are on these stacks."""
    look, stacks = _Look(limits), list(stacks)
    lanes = [
        Strand(
            lane=stack.lane,
            name=encodable(stack.name),
            thread=encodable(stack.thread),
            waits_for=stack.waits_for,
            frames=tuple(look.frames(stack.frames)),
        )
        for stack in stacks
    ]
    frames = [frame for stack in stacks for frame in stack.frames] if limits.modules else []
    return State(lanes=tuple(lanes), modules=look.modules(frames))


def look_at(name: str, value: Any, limits: Limits) -> Variable:
    """One value."""
    return _Look(limits).variable(name, value)


class _Look:
    """One look at all variables, within limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._total = limits.total
        self._left = 0  # of the variable that is looked at
        # by id, with the thing, so that its id stays its own
        self._opened: dict[int, Any] = {}
        self._digests: dict[int, tuple[Any, str, bool]] = {}

    def frames(self, frames: Iterable[FrameType]) -> Iterator[Frame]:
        """The functions of a lane."""
        own, known = 0, dict[int, str]()
        for frame in frames:
            self._opened.clear()
            code, library = frame.f_code, not is_own(frame.f_code)
            yield Frame(
                number=None if library else own,
                function=encodable(name_of(frame)),
                file=encodable(code.co_filename),
                line=frame.f_lineno or 0,
                library=library,
                variables=() if library else tuple(self._variables(frame, known)),
            )
            own += not library

    def _variables(self, frame: FrameType, known: dict[int, str]) -> Iterator[Variable]:
        """The variables of a function; `known` are things that they may hold and functions further in do, by id."""
        for name, value in named_in(frame, code=self._limits.things):
            yield replace(self.variable(name, value), same_as=known.get(id(value), ""))
            if count_of(value) and not issubclass(type(value), str | bytes):
                known.setdefault(id(value), f"{encodable(frame.f_code.co_name)}.{encodable(name)}")

    def modules(self, frames: Iterable[FrameType]) -> dict[str, tuple[Variable, ...]]:
        """The variables of the modules that these functions of the agent's are of."""
        found: dict[str, dict[str, Any]] = {}
        for frame in frames:
            name = frame.f_globals.get("__name__")
            if is_own(frame.f_code) and type(name) is str:
                found.setdefault(name, frame.f_globals)
        return {
            encodable(module): tuple(
                self.variable(name, value) for name, value in data_in(names, code=self._limits.things)
            )
            for module, names in found.items()
        }

    def variable(self, name: str, value: Any) -> Variable:
        """One variable."""
        self._left = given = min(self._limits.nodes, self._total)
        found = self._part(name, value, ())
        self._total -= given - self._left
        return found

    def _part(self, name: str, value: Any, above: tuple[tuple[int, str], ...]) -> Variable:
        """The variable, or a part of it. `above` is what it is inside of, each by its id and its path."""
        self._left -= 1
        kind = type(value)
        text = encodable(glimpse(value, LINE))
        found = Variable(name=encodable(name), type=encodable(full_name(kind)), text=text)
        circle = next((known for one, known in above if one == id(value)), "")
        if circle:
            return replace(found, above=circle)
        before = self._left
        plain = self._plain(value, 0, ())
        if plain is not _NOT_PLAIN:
            return replace(found, value=plain)
        self._left = before
        count, inside = count_of(value) if is_cut(value, text) else 0, self._inside(name, value, above)
        digest, whole = self._digest(value) if not above or len(inside) < count else ("", True)
        return replace(found, count=count, inside=inside, digest=digest, partly=not whole)

    def _inside(self, name: str, value: Any, above: tuple[tuple[int, str], ...]) -> tuple[Variable, ...]:
        if len(above) >= self._limits.depth or not self._opens(value):
            return ()
        here = path(above[-1][1] if above else "", name)
        found = []
        for part, held in parts_of(value, 0, self._limits.items):
            if self._left <= 0:
                break
            found.append(self._part(part, held, (*above, (id(value), here))))
        return tuple(found)

    def _opens(self, value: Any) -> bool:
        """Whether what is inside is shown: of data, and of each thing once in a frame, since things know each other."""
        kind = type(value)
        if is_data(kind) or array_of(value) is not None:
            return True
        if not self._limits.things or issubclass(kind, CODE) or id(value) in self._opened:
            return False
        self._opened[id(value)] = value
        return True

    def _plain(self, value: Any, depth: int, above: tuple[int, ...]) -> Any:
        """The value as JSON, if it is that and nothing of it is left out."""
        kind, limits = type(value), self._limits
        self._left -= 1
        if kind is bool or value is None:
            return value
        if kind is int:
            return value if abs(value) <= _JSON_NUMBERS else _NOT_PLAIN
        if kind is float:
            return value if math.isfinite(value) else _NOT_PLAIN
        if kind is str:
            return value if len(value) <= limits.letters and _is_sound(value) else _NOT_PLAIN
        if (kind is not dict and kind is not list) or len(value) > limits.items:
            return _NOT_PLAIN
        if value and (depth >= limits.depth or self._left <= 0 or id(value) in above):
            return _NOT_PLAIN
        above = (*above, id(value))
        if kind is list:
            return self._plain_list(value, depth, above)
        return self._plain_dict(value, depth, above)

    def _plain_list(self, value: list[Any], depth: int, above: tuple[int, ...]) -> Any:
        found = []
        for item in value:
            found.append(self._plain(item, depth + 1, above))
            if found[-1] is _NOT_PLAIN:
                return _NOT_PLAIN
        return found

    def _plain_dict(self, value: dict[Any, Any], depth: int, above: tuple[int, ...]) -> Any:
        found = {}
        for key, item in value.items():
            if type(key) is not str or not _is_sound(key):
                return _NOT_PLAIN
            found[key] = self._plain(item, depth + 1, above)
            if found[key] is _NOT_PLAIN:
                return _NOT_PLAIN
        return found

    def _digest(self, value: Any) -> tuple[str, bool]:
        if id(value) not in self._digests:  # one object has many names
            digester = Digester(bounds=EXACT)
            found = digester.digest(value)
            told = found.hex() if found is not None else ""
            self._digests[id(value)] = value, told, found is None or digester.whole
        return self._digests[id(value)][1:]


def _is_sound(text: str) -> bool:
    """Whether it can be sent: no half of a surrogate pair."""
    return text.isascii() or encodable(text) == text
