"""Lanes: the logical strands of a run, named by birth path so that they are the same in every run."""

from __future__ import annotations

from contextvars import Context, ContextVar, Token
from types import CodeType, FrameType
from typing import TYPE_CHECKING
from weakref import ref
from zlib import crc32

from reenact import _real
from reenact.engine.place import Place, agent_place, name_of
from reenact.engine.scope import Scope, scope_of

if TYPE_CHECKING:
    from reenact.engine.session import Session

MAX_PENDING = 8192  # draws of one kind at one call site; bounds memory between commits
_SPAN = 64  # addresses of code lie further apart than there are kinds
_DRAWN_AT: dict[int, tuple[int, CodeType]] = {}  # kind and call site by key, see `Drawn`
_KEYS: dict[tuple[str, int], int] = {}  # of all code of one name, the key of that which drew first
_ALIASES: dict[int, int] = {}  # that one by the key of each of the others

type_of_draw = int | float | bytes | list[int]


class Drawn(dict[int, list[type_of_draw]]):
    """What a lane has drawn and nobody has taken yet: values in order, by the address of the code that drew plus kind.

    A look-up makes the list that is missing, for code that is on the stack. Code of the same name (two lambdas of one
    function, say) shares a list: a tape knows call sites by name, and the order of what they drew must not be lost.
    """

    __slots__ = ("_empty", "_lane")

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self._lane = ref(lane)
        self._empty: set[int] = set()  # lists that nothing was in the last time

    def __missing__(self, key: int) -> list[type_of_draw]:
        values: list[type_of_draw] = []
        lane = self._lane()
        if lane is None or lane.session is None:
            return values  # the run is over, in another thread, since who asks has seen that it goes on
        if key not in _DRAWN_AT:
            frame = _real.getframe(1)
            while not 0 < key - id(frame.f_code) < _SPAN:
                assert frame.f_back is not None  # noqa: S101  who asks is on the stack
                frame = frame.f_back
            kind = key - id(frame.f_code)
            first = _KEYS.setdefault((name_of(frame), kind), key)  # the name keeps the code, and so its address
            if first != key:
                _ALIASES[key] = first
            _DRAWN_AT[key] = kind, frame.f_code
        first, dirty = _ALIASES.get(key, key), lane.session.dirty
        # no call from here on, so that no other thread, signal or finalizer comes in between
        if first in self:
            values = self[first]
        else:
            self[first] = values
            dirty[lane] = True
        self[key] = values
        return values

    def take(self) -> list[tuple[int, CodeType, list[type_of_draw]]]:
        """Kind, call site and values. What is drawn meanwhile is in it, or will be in the next.

        Who has drawn has a new list, as it will mostly draw again: until that has been empty twice.
        """
        taken: list[tuple[int, CodeType, list[type_of_draw]]] = []
        empty: set[int] = set()
        for key in list(self):
            if key in _ALIASES:
                continue
            values = self.get(key)
            if values:
                self[key] = []
            elif key in self._empty:
                values = self.pop(key, None)
            else:
                empty.add(key)
            if values:
                taken.append((*_DRAWN_AT[key], values))
        self._empty = empty
        for key in self.keys() & _ALIASES.keys() if _ALIASES else ():
            self.pop(key, None)  # the list that it shares has been taken, and from now on it shares another
        return taken


class Lane:
    """One strand. `origin` is the line that bore it.

    `live` is false for a lane whose crossings are not ours to see; `keeps` is true while its draws
    are kept as they come. `scope` is that in which the lane was begun, `inside` what the tape says of its last event.
    """

    __slots__ = (
        "__weakref__",
        "born",
        "current",
        "drawn",
        "events",
        "index",
        "inside",
        "keeps",
        "last_http",
        "live",
        "marks",
        "name",
        "origin",
        "out",
        "path",
        "scope",
        "session",
        "stored",
    )

    def __init__(self, session: Session | None, path: str, index: int, name: str, origin: Place | None = None) -> None:
        self.session = session
        self.path = path
        self.index = index
        self.name = name
        self.origin = origin
        self.live = session is not None
        self.keeps = session is not None and session.live
        self.born = 0
        self.marks = crc32(path.encode()) << 20
        self.events = 0
        self.last_http = -1
        self.current = -1
        self.stored = 0
        self.drawn = Drawn(self)
        self.out: list[tuple[int, bytes]] = []
        self.scope: Scope | None = None
        self.inside: Scope | None = None

    def child(self, name: str) -> Lane:
        """A new lane born of this one; a muted lane bears itself."""
        if self.session is None:
            return self
        origin = agent_place(_real.getframe(1)) or self.origin
        child = self.session.bear(self.path_of_child(), name, origin)
        child.scope = scope_of(self)
        return child

    def path_of_child(self) -> str:
        """The path of the next lane that is born of this one: here, or in a process that it starts."""
        self.born += 1
        return f"{self.path}.{self.born}"

    def mark(self) -> int:
        """A number for something that this lane makes: no other has it, and the same thing has it in every run."""
        self.marks += 1
        return self.marks

    def drew(self, kind: int, frame: FrameType, value: type_of_draw) -> None:
        """Keeps a draw until the next commit. `frame` is the call site, and on the stack.

        The seams of what is read most often, clock and `urandom`, do the same in their own lines.
        """
        values = self.drawn[id(frame.f_code) + kind]
        values.append(value)  # no other thread runs between these two: none takes the list away
        if len(values) == MAX_PENDING:
            self.spill()

    def spill(self) -> None:
        """Many draws wait for a commit: they need not do so in memory."""
        if self.session is not None:
            self.session.unload(self)


MUTED = Lane(None, "", -1, "")
UNTOLD = Scope(MUTED, 0, -1, "", None)
"""In the place of what the tape says of a lane's last event, where that is not known."""

_LANE: ContextVar[Lane | None] = ContextVar("reenact_lane", default=None)

get_lane = _LANE.get


def get_lane_of(context: Context) -> Lane | None:
    """The lane of another context: of a callback that is scheduled, say."""
    return context.get(_LANE)


def current() -> Lane | None:
    """The lane that the calling code is in, if what it does is ours to see."""
    lane = _LANE.get()
    return lane if lane is not None and lane.live else None


def enter(lane: Lane | None) -> Token[Lane | None]:
    """The calling context is in `lane` until `leave`."""
    return _LANE.set(lane)


def leave(token: Token[Lane | None]) -> None:
    """Undoes `enter`."""
    _LANE.reset(token)


class muted:  # noqa: N801  reads as a word in `with muted():`
    """What happens inside crosses no boundary of the agent's: it is below one, or our own."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _LANE.set(MUTED)

    def __exit__(self, *exc: object) -> None:
        _LANE.reset(self._token)
