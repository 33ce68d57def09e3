"""What a motion is to stop at: lines, calls, exceptions, changes of what an expression gives."""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import NamedTuple

from reenact.engine.digest import Digester
from reenact.engine.glimpse import glimpse
from reenact.engine.lane import Lane
from reenact.engine.place import name_of
from reenact.probe.aside import evaluated
from reenact.probe.messages import At, Break, Call, Hit, Moment, Place, Raised, Stops, Watch
from reenact.probe.state import EXACT
from reenact.probe.trace import Error, Steps, is_own, serials, the_agents

_WAITS = frozenset({"YIELD_VALUE", "SEND", "YIELD_FROM"})
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR"}) | _WAITS
_POOL = "concurrent/futures/thread.py"
_MODULE = ":<module>"


def place_of(frame: FrameType) -> Place:
    """Where a frame is."""
    return Place(frame.f_code.co_filename, frame.f_lineno, name_of(frame))


def is_file(wanted: str, name: str) -> bool:
    """Whether the name of a file ends as the wanted one does."""
    return name == wanted or name.endswith(f"/{wanted}") or wanted.endswith(f"/{name}")


def waits(frame: FrameType) -> bool:
    """Whether a frame that is left is one of a coroutine or a generator that will go on."""
    code = frame.f_code
    if not code.co_flags & 0x2A0:  # a generator, a coroutine or both (inspect.CO_GENERATOR, …)
        return False
    return dis.opname[code.co_code[frame.f_lasti]] in _WAITS


FramesOf = Callable[[str], Sequence[FrameType]]
"""The functions that run in a lane, or wait there, the innermost first."""


class Forward:
    """The first moment that a motion is to stop at, from `frame` on."""

    def __init__(self, stops: Stops, frame: FrameType | None, lane: str, frames_of: FramesOf) -> None:
        self._stops = stops
        self._lane = lane
        ways = serials(frame)
        self._ways = frozenset(ways[1:] if stops.motion == "out" else ways)
        self._last = ways[-1] if ways else 0
        self._anywhere = bool(stops.motion) and not ways
        self._before = place_of(frame) if frame is not None else None
        self.marks = Marks(stops, frames_of, counts=True)

    def line(self, moment: Moment, steps: Steps, frame: FrameType, lane: Lane) -> Hit | None:
        """What of it is at this line."""
        if hit := self._comes(frame, self.marks.line(moment, steps, frame, lane)):
            return hit
        if self._anywhere or self._moves(steps, lane):
            return Hit("step", moment, place_of(frame))
        return None

    def event(self, moment: Moment, frame: FrameType | None, lane: Lane) -> Hit | None:
        """What of it is where a call is about to be made."""
        return self._comes(frame, self.marks.event(moment, frame, lane))

    def left(self, steps: Steps, frame: FrameType) -> Hit | None:
        """A frame is left: with the outermost of the motion's own, the next line of any lane counts."""
        if self._stops.motion and steps.serial == self._last and not waits(frame):
            self._anywhere = True
        return self.marks.left(frame)

    def raised(self, moment: Moment, frame: FrameType, error: Error, lane: Lane) -> Hit | None:
        """What of it is an exception."""
        return self._comes(frame, self.marks.raised(moment, frame, error, lane))

    def _comes(self, frame: FrameType | None, hit: Hit | None) -> Hit | None:
        """What has changed by now, what ran before has changed."""
        place, self._before = self._before, place_of(frame) if frame is not None else None
        return Hit(hit.why, hit.moment, place, hit.text, hit.numbers) if hit and hit.why == "watch" else hit

    def _moves(self, steps: Steps, lane: Lane) -> bool:
        if self._stops.motion == "into":
            return lane.path == self._lane
        return bool(self._stops.motion) and steps.serial in self._ways


class Back:
    """The last moment before the goal at which a motion would have stopped, in a process that comes from earlier."""

    def __init__(self, stops: Stops, frame: FrameType | None, moment: Moment, frames_of: FramesOf) -> None:
        self._stops = stops
        self._by_frame: dict[int, tuple[Moment, CodeType, int, str]] = {}
        self._by_lane: dict[str, tuple[Moment, CodeType, int, str]] = {}
        self._before = moment, place_of(frame) if frame is not None else None
        self._hit: Hit | None = None
        self.marks = Marks(stops, frames_of)

    def line(self, moment: Moment, steps: Steps, frame: FrameType, lane: Lane) -> None:
        """Remembers the line, if it is to be stopped at."""
        self._comes(moment, frame, self.marks.line(moment, steps, frame, lane))
        if self._stops.motion:
            here = moment, frame.f_code, frame.f_lineno, name_of(frame)
            self._by_frame[steps.serial] = self._by_lane[lane.path] = here

    def event(self, moment: Moment, frame: FrameType | None, lane: Lane) -> None:
        """The same where a call is about to be made."""
        self._comes(moment, frame, self.marks.event(moment, frame, lane))

    def left(self, _steps: Steps, frame: FrameType) -> None:
        """A frame is left."""
        self._take(self.marks.left(frame))

    def raised(self, moment: Moment, frame: FrameType, error: Error, lane: Lane) -> None:
        """The same of an exception."""
        self._comes(moment, frame, self.marks.raised(moment, frame, error, lane))

    def found(self, frame: FrameType | None, lane: Lane | None) -> Hit | None:
        """The last of them; the goal has been reached, in `frame`, or without a lane the end."""
        if lane is not None:
            self._comes(self._before[0], frame, self.marks.change(self._before[0], frame, lane))
        if found := self._moved(frame, lane):
            moment, code, line, name = found
            if self._hit is None or self._hit.moment < moment:
                return Hit("step", moment, Place(code.co_filename, line, name))
        return self._hit

    def _moved(self, frame: FrameType | None, lane: Lane | None) -> tuple[Moment, CodeType, int, str] | None:
        """The last line that the motion itself goes back to."""
        motion = self._stops.motion
        ways = serials(the_agents(frame))[motion == "out" :]
        if lane is None:
            found = list(self._by_lane.values())
        elif motion == "into":
            found = [one for path, one in self._by_lane.items() if path == lane.path]
        else:
            found = [self._by_frame[one] for one in ways if one in self._by_frame]
        return max(found, default=None, key=_first)

    def _comes(self, moment: Moment, frame: FrameType | None, hit: Hit | None) -> None:
        """A moment has come. What has changed by then, what ran at the moment before has changed."""
        if hit is not None and hit.why == "watch":
            before, place = self._before
            hit = Hit("watch", before, place, hit.text, hit.numbers)
        self._take(hit)
        self._before = moment, place_of(frame) if frame is not None else None

    def _take(self, hit: Hit | None) -> None:
        if hit is not None and (self._hit is None or self._hit.moment <= hit.moment):
            self._hit = hit


def _first(found: tuple[Moment, CodeType, int, str]) -> Moment:
    return found[0]


class Marks:
    """What a motion stops at that is not its own: breakpoints, calls, exceptions, watches."""

    def __init__(self, stops: Stops, frames_of: FramesOf, *, counts: bool = False) -> None:
        self.faults: dict[int, str] = {}
        self.hits: dict[int, int] = {}
        self._counts = counts
        self._lines: dict[int, list[Break]] = {}
        self._functions = [one for one in stops.breaks if one.function]
        for one in stops.breaks:
            if not one.function:
                self._lines.setdefault(one.line, []).append(one)
        self._calls: dict[Call, list[At]] = {}
        for at in stops.calls:
            self._calls.setdefault(at.call, []).append(at)
        self._watched = [Watched(watch, frames_of(watch.lane)) for watch in stops.watches]
        self._raised = stops.raised
        self._origins: dict[int, Hit] = {}  # where an exception that is on its way was raised, by its id
        self._leaving: dict[int, Hit | None] = {}  # that of the last one in each outermost frame, by the frame's id

    def line(self, moment: Moment, steps: Steps, frame: FrameType, lane: Lane) -> Hit | None:
        """What is at a line."""
        if hit := self.change(moment, frame, lane):
            return hit
        found = [
            one.number
            for one in self._lines.get(frame.f_lineno, ())
            if is_file(one.file, frame.f_code.co_filename) and self._holds(one, frame)
        ]
        if steps.begins:
            found += [one.number for one in self._functions if _is_named(one, frame) and self._holds(one, frame)]
        return Hit("break", moment, place_of(frame), "", found) if found else None

    def event(self, moment: Moment, frame: FrameType | None, lane: Lane) -> Hit | None:
        """What is where a call is about to be made."""
        if hit := self.change(moment, frame, lane):
            return hit
        there = self._calls.get((lane.path, lane.events), ())
        found = [at.number for at in there if self._holds(at, frame)]
        return Hit("call", moment, place_of(frame) if frame is not None else None, "", found) if found else None

    def change(self, moment: Moment, frame: FrameType | None, lane: Lane) -> Hit | None:
        """What has changed."""
        found = [(one.number, text) for one in self._watched if (text := one.change(frame, lane))]
        if not found:
            return None
        place = place_of(frame) if frame is not None else None
        return Hit("watch", moment, place, "\n".join(text for _, text in found), [number for number, _ in found])

    def raised(self, moment: Moment, frame: FrameType, error: Error, lane: Lane) -> Hit | None:
        """What an exception is, where it is raised, or where it comes out of a library into the agent's code."""
        hit = self.change(moment, frame, lane)
        if not self._raised:
            return hit
        if not _has_come(error):
            place, text = place_of(frame), f"{error[0].__name__}: {_words(error[1])}"
            wanted = [one for one in self._raised if _is_a(error[0], one) and self._holds(one, frame)]
            self._origins.pop(id(error[1]), None)
            if found := [one.number for one in wanted if one.uncaught]:
                self._origins[id(error[1])] = Hit("raised", moment, place, text, found)
            if found := [one.number for one in wanted if not one.uncaught]:
                hit = Hit("raised", moment, place, text, found)
        if _is_outermost(frame):
            self._leaving[id(frame)] = self._origins.get(id(error[1]))
        return hit

    def left(self, frame: FrameType) -> Hit | None:
        """A frame is left. What leaves the outermost of a thread by an exception, nobody has caught."""
        for watched in self._watched:
            watched.left(frame)
        hit = self._leaving.pop(id(frame), None)
        return hit if hit is not None and not _returns(frame) else None

    def _holds(self, one: Break | At | Raised, frame: FrameType | None) -> bool:
        """Whether its condition does, and this hit is due. A condition that fails does not hold, and that is told."""
        if one.condition:
            try:
                if frame is None or not evaluated(one.condition, frame):
                    return False
            except Exception as error:  # noqa: BLE001  the user's own
                self.faults.setdefault(one.number, f"{type(error).__name__}: {error}")
                return False
        if not self._counts:
            return True
        hits = self.hits[one.number] = self.hits.get(one.number, one.hits) + 1
        return is_due(one.due, hits)


_DUE = re.compile(r"(==|>=|>|%)? *([0-9]{1,9})")


def is_due(due: str, hits: int) -> bool:
    """Whether the hit of that number is one to stop at.

    Raises:
        ValueError: that says no count.
    """
    if not due:
        return True
    found = _DUE.fullmatch(due.strip())
    if found is None:
        raise ValueError(f"{due!r} says no count: 3, >= 3, > 3 or % 3")
    number = int(found[2])
    match found[1]:
        case ">=":
            return hits >= number
        case ">":
            return hits > number
        case "%":
            return number == 0 or hits % number == 0
        case _:
            return hits == number


class Watched:
    """An expression as it changes: in the frame of its function that runs in its lane, as long as that is there.

    `frames` are those of the lane where the motion begins, the innermost first, though another lane stands there.
    """

    def __init__(self, watch: Watch, frames: Sequence[FrameType]) -> None:
        self.number = watch.number
        self._watch = watch
        self._module = watch.function.removesuffix(_MODULE) if watch.function.endswith(_MODULE) else ""
        self._code = compile(watch.text.strip(), "<watch>", "eval")
        self._digester = Digester(bounds=EXACT)
        self._frame: FrameType | None = None
        self._value: _Value | None = None
        self._frame = next(filter(self._is_it, frames), None)
        if self._frame is not None:
            self._value = self._now()

    def change(self, frame: FrameType | None, lane: Lane) -> str:
        """What it was and what it is, if it is another than when that was last asked."""
        if self._frame is None:
            if (lane.path != self._watch.lane and not self._module) or not self._find(frame):
                return ""
            self._value = self._now()
            return ""
        before, self._value = self._value, self._now()
        return _change(before, self._value)

    def left(self, frame: FrameType) -> None:
        """A frame is left; when it is this one, another of the same function is another life."""
        if frame is self._frame and not waits(frame):
            self._frame = None
            self._value = None if not self._module else self._value

    def _find(self, frame: FrameType | None) -> bool:
        while frame is not None and not self._is_it(frame):
            frame = frame.f_back
        self._frame = frame
        return frame is not None

    def _is_it(self, frame: FrameType) -> bool:
        if self._module:
            return frame.f_globals.get("__name__") == self._module
        return name_of(frame) == self._watch.function

    def _now(self) -> _Value | None:
        """What it is; None where it is nothing."""
        assert self._frame is not None  # noqa: S101  callers have asked
        try:
            value = evaluated(self._code, self._frame, of_module=bool(self._module))
        except Exception:  # noqa: BLE001  it need not be there yet
            return None
        digest = self._digester.digest(value)
        same = id(value) if digest is None else digest
        if type(value) is not list or not value:
            return _Value(same, glimpse(value))
        return _Value(same, glimpse(value), tuple(map(id, value)), glimpse(value[-1]))


class _Value(NamedTuple):
    """What an expression gave: a digest or its identity, and how it is told; of a list its items, and the last."""

    same: bytes | int
    told: str
    items: tuple[int, ...] = ()
    last: str = ""


def _change(before: _Value | None, after: _Value | None) -> str:
    """What it was and what it is, if that is another; of a list to which something was added, as it mostly is, what."""
    if before is not None and after is not None:
        if (before.same, before.told) == (after.same, after.told):
            return ""  # its items may be other ones, and equal
        had, has = len(before.items), len(after.items)
        if 0 < had < has and after.items[:had] == before.items:
            new = f"[{had}] is new" if has == had + 1 else f"[{had}] to [{has - 1}] are new, the last"
            return f"{new}: {after.last}"
    if before is after:
        return ""
    return " → ".join("nothing" if value is None else value.told for value in (before, after))


def _is_named(one: Break, frame: FrameType) -> bool:
    """Whether a function is the one that is meant: by its name, with those of its class and module, or without."""
    name = name_of(frame)
    return name == one.function or name.replace(":", ".").endswith(f".{one.function.replace(':', '.')}")


def _is_a(kind: type[BaseException], one: Raised) -> bool:
    if not one.name:
        return not (one.uncaught and issubclass(kind, SystemExit))
    return any(one.name in (base.__name__, f"{base.__module__}.{base.__qualname__}") for base in kind.__mro__)


def _has_come(error: Error) -> bool:
    """Whether an exception came through the agent's code before."""
    trace = error[2].tb_next if error[2] is not None else None
    while trace is not None and not is_own(trace.tb_frame.f_code):
        trace = trace.tb_next
    return trace is not None


def _words(error: BaseException) -> str:
    """What an exception says, with nothing of the agent's called."""
    args = error.args
    return glimpse(args[0]) if len(args) == 1 else glimpse(args)


def _is_outermost(frame: FrameType) -> bool:
    """Whether it is the first of the agent's in its thread, and no job of a pool, whose exceptions others get."""
    above = frame.f_back
    while above is not None and not is_own(above.f_code):
        if above.f_code.co_filename.endswith(_POOL):
            return False
        above = above.f_back
    return above is None


def _returns(frame: FrameType) -> bool:
    """Whether a frame that is left gives something back, or waits."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in _RETURNS
