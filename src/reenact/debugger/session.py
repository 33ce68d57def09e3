"""What every debugger does with a run: it moves, stops, looks around. No input and no output."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec
from msgspec.structs import replace

from reenact.debugger.breakpoints import (
    AtStep,
    Breakpoint,
    Breakpoints,
    Exceptions,
    Expression,
    Function,
    Line,
    Tool,
    check_expression,
)
from reenact.debugger.course import Course, Told
from reenact.debugger.output import Output, Written
from reenact.debugger.process import GoneError
from reenact.debugger.source import stop_at
from reenact.debugger.timeline import Timeline
from reenact.engine.divergence import What
from reenact.engine.place import is_library
from reenact.errors import UsageError
from reenact.launch.settings import Settings
from reenact.probe.answers import Frame, Strand
from reenact.probe.messages import Break, Call, Ended, Moment, Place, Raised, Stopped, Stops, Watch
from reenact.probe.state import ALL, Variable
from reenact.probe.values import Shown
from reenact.probe.wanted import is_file
from reenact.tape.recording import Recording

Motion = Literal["", "into", "over", "out"]

type_of_answer = TypeVar("type_of_answer")

BEGIN = Moment()
_UNCAUGHT = Stops(raised=[Raised(uncaught=True)])


class Why(StrEnum):
    """What a motion came to."""

    STEP = "step"  # where it was to go
    BREAKPOINT = "breakpoint"
    WATCH = "watch"
    EXCEPTION = "exception"
    BEGIN = "begin"  # there is nothing before
    END = "end"  # there is nothing after
    NOWHERE = "nowhere"  # there is no such place, and it has stayed where it was
    INTERRUPTED = "interrupted"  # it has stayed where it was
    GONE = "gone"  # the process died; another one stands where it was


_WHY = {
    "step": Why.STEP,
    "break": Why.BREAKPOINT,
    "call": Why.BREAKPOINT,
    "watch": Why.WATCH,
    "raised": Why.EXCEPTION,
    "hold": Why.INTERRUPTED,
}


class Position(msgspec.Struct, frozen=True):
    """Where a run stands, as people count. `step` is 0 before the first.

    `event` is the call that it is about to make (`reenact show --event`), if it stands at one.
    """

    moment: Moment
    step: int
    event: int | None
    lane: str
    name: str
    place: Place | None
    ended: bool = False


class Stop(msgspec.Struct, frozen=True):
    """What a motion came to. `numbers` are the breakpoints and watches that it met.

    `text` is what changed, or the exception; `place` the line that changed it. `faults` are errors of conditions.
    `diverged`: the replay has left its tape there or before, in that way, so that this is not what was recorded.
    """

    why: Why
    position: Position
    numbers: tuple[int, ...] = ()
    text: str = ""
    place: Place | None = None
    faults: dict[int, str] = {}
    diverged: str = ""


class Debugger:
    """A run that can be moved about in. One thread asks; `interrupt` may come from another, or from a signal.

    `busy`: something goes on in the run that can be interrupted.
    """

    def __init__(self, recording: Recording, settings: Settings | None = None) -> None:
        self.course = Course(recording)
        self.breakpoints = Breakpoints()
        self.output = Output(recording)
        self._interrupted = False
        self.busy = False
        self._lane = ""
        self._frame: int | None = None
        self._timeline = Timeline(recording, settings)

    # Where one is

    @property
    def position(self) -> Position:
        """The present."""
        told = self._timeline.told
        if isinstance(told, Ended):
            return Position(told.moment, len(self.course.steps), None, "", "", None, ended=True)
        step = self.course.step_after(self._timeline.past, told.lane)
        event = self.course.event_of(told.call) if told.call is not None else None
        return Position(told.moment, step, event, told.lane, self.course.names.get(told.lane, ""), told.place)

    # Moving

    def step(self) -> Stop:
        """To the next line of this lane, into functions."""
        return self._forward("into")

    def next(self) -> Stop:
        """To the next line of this function, or of the one that called it."""
        return self._forward("over")

    def out(self) -> Stop:
        """To the line after the call of this function."""
        return self._forward("out")

    def resume(self) -> Stop:
        """On to the next breakpoint, or the end."""
        return self._forward("")

    def back(self) -> Stop:
        """To the line before, into functions."""
        return self._backward("into")

    def reverse_next(self) -> Stop:
        """To the line of this function before, or to where it was called."""
        return self._backward("over")

    def reverse_out(self) -> Stop:
        """To the line that called this function."""
        return self._backward("out")

    def reverse_resume(self) -> Stop:
        """Back to the breakpoint before, or the beginning."""
        return self._backward("")

    def to_step(self, number: int) -> Stop:
        """To where a step of `reenact show` begins: its request is about to be made.

        Raises:
            UsageError: there is none.
        """
        call = self.course.call_of_step(number)
        return self._jump(lambda: self._timeline.seek_call(call))

    def to_event(self, number: int) -> Stop:
        """To where an event of `reenact show --event` is about to begin.

        Raises:
            UsageError: there is none.
        """
        call = self.course.call_of_event(number)
        return self._jump(lambda: self._timeline.seek_call(call))

    def to_line(self, file: str, line: int, *, earlier: bool = False) -> Stop:
        """To where the run comes to a line next, or came to it last, past all breakpoints."""
        stops = Stops(breaks=[Break(self.file(file), line)])
        if earlier:
            return self._move(lambda: self._timeline.back(stops))
        return self._move(lambda: self._timeline.forward(stops))

    def to_moment(self, moment: Moment) -> Stop:
        """To a moment where one has been."""
        return self._jump(lambda: self._timeline.seek(moment))

    def to_begin(self) -> Stop:
        """Before the first line."""
        return self.to_moment(BEGIN)

    def to_end(self) -> Stop:
        """After the last line, past all breakpoints."""
        return self._move(lambda: self._timeline.forward(Stops()))

    def to_last(self) -> Stop:
        """To the last line."""

        def last() -> Stopped | Ended | None:
            self._timeline.forward(Stops())
            told = self._timeline.back(Stops("into"))
            return replace(told, hit=None) if told is not None else None

        return self._move(last)

    def to_raise(self) -> Stop:
        """Back from the end to where the exception was raised that nobody caught."""

        def raised() -> Stopped | Ended | None:
            self._timeline.forward(Stops())
            return self._timeline.back(_UNCAUGHT)

        return self._move(raised)

    def when(self, text: str, *, later: bool = False) -> Stop:
        """Back to the line that last changed what an expression gives; or on, past the one that changes it next.

        Raises:
            UsageError: it is no expression, or there is no function here in which it could mean something.
        """
        stops = Stops(watches=[self.watched(text)])
        if later:
            return self._move(lambda: self._timeline.forward(stops))
        return self._move(lambda: self._timeline.back(stops))

    def find(self, text: str) -> tuple[Told, Stop] | None:
        """To the first step whose request tells a model that text."""
        told = self.course.first_told(text)
        return (told, self.to_step(told.step)) if told is not None else None

    def interrupt(self) -> None:
        """Ends a motion that goes on, or an evaluation, and goes back to where that began."""
        if self.busy:
            self._interrupted = True
            self._timeline.interrupt()

    def hold(self) -> None:
        """Has a motion that goes on stand where it is, when it next comes by a call or by lines that are seen."""
        if self.busy:
            self._interrupted = True
            self._timeline.hold()

    # Stopping

    def break_at(self, file: str, line: int, condition: str = "", due: str = "", *, once: bool = False) -> Breakpoint:
        """At a line, or the next one with code.

        Raises:
            UsageError: there is none, or it is a library's.
        """
        path = self.file(file)
        if is_library(path):
            raise UsageError(f"{path} is a library's: only lines of the program's own are stopped at")
        where = Line(path, stop_at(path, line))
        return self.breakpoints.add(where, condition, due, once=once)

    def break_in(self, function: str, condition: str = "", due: str = "", *, once: bool = False) -> Breakpoint:
        """Where a function begins."""
        return self.breakpoints.add(Function(function), condition, due, once=once)

    def break_at_step(self, number: int, condition: str = "", due: str = "", *, once: bool = False) -> Breakpoint:
        """Where a step begins.

        Raises:
            UsageError: there is none.
        """
        self.course.call_of_step(number)
        return self.breakpoints.add(AtStep(number), condition, due, once=once)

    def break_at_tool(self, name: str, condition: str = "", due: str = "", *, once: bool = False) -> Breakpoint:
        """Where a model is asked and answers by calling that tool.

        Raises:
            UsageError: the run never does.
        """
        if not self.course.calls_of_tool(name):
            have = ", ".join(self.course.tools) or "none"
            raise UsageError(f"no tool of that name is called: {name} (the run calls {have})")
        return self.breakpoints.add(Tool(name), condition, due, once=once)

    def break_at_raise(self, name: str = "", condition: str = "", *, uncaught: bool = False) -> Breakpoint:
        """Where exceptions are raised: of a class, or all; or those that nobody catches."""
        return self.breakpoints.add(Exceptions(name, uncaught), condition)

    def watch(self, text: str, condition: str = "") -> Breakpoint:
        """Where the value of an expression changes, in the function that is selected.

        Raises:
            UsageError: it is no expression, or there is no function here in which it could mean something.
        """
        found = self.watched(text)
        return self.breakpoints.add(Expression(text, found.function, found.lane), condition)

    # Looking around

    @property
    def lanes(self) -> list[Strand]:
        """The strands of the program that are there: tasks and threads, first the one that stands."""
        found = self._timeline.ask("lanes", kind=list[Strand]) if not self.position.ended else []
        return [one for one in found if one.lane]  # a worker that has nothing to do has none

    @property
    def lane(self) -> str:
        """The one that is looked at."""
        return self._lane or self.position.lane

    def select_lane(self, lane: str) -> Strand:
        """Looks at another lane, by its path or its name. Motions are still of the one that stands.

        Raises:
            UsageError: there is none.
        """
        lanes = self.lanes
        found = next((one for one in lanes if lane in (one.lane, one.name)), None)
        if found is None:
            there = ", ".join(one.lane for one in lanes) or "none"
            raise UsageError(f"there is no lane {lane} here: there are {there}")
        self._lane, self._frame = found.lane, None
        return found

    @property
    def frames(self) -> list[Frame]:
        """The functions that run in the lane that is selected, the innermost first."""
        if self.position.ended:
            return []
        return self._timeline.ask("stack", self._lane, kind=list[Frame])

    @property
    def frame(self) -> Frame | None:
        """The one that is selected: the innermost of the agent's own, where none has been."""
        frames = self.frames
        if self._frame is not None and self._frame < len(frames):
            return frames[self._frame]
        return next((frame for frame in frames if frame.own), None)

    def select_frame(self, number: int) -> Frame:
        """Looks at a function by its number.

        Raises:
            UsageError: there is none.
        """
        frames = self.frames
        if not 0 <= number < len(frames):
            raise UsageError(f"there is no frame {number}: {len(frames)} functions run here")
        self._frame = number
        return frames[number]

    def up(self, count: int = 1) -> Frame:
        """Looks at the function of the agent's that called this one; with a negative count, at what it has called.

        Raises:
            UsageError: there is none.
        """
        own = [frame for frame in self.frames if frame.own]
        here = self.frame
        at = next((at for at, frame in enumerate(own) if here is not None and frame.number >= here.number), 0) + count
        if not own or not 0 <= at < len(own):
            raise UsageError(
                "no function of the program's own called this one" if count > 0 else "this is the innermost"
            )
        return self.select_frame(own[at].number)

    @property
    def past(self) -> Sequence[Call]:
        """The calls that have begun by now, in their order."""
        return self._timeline.past

    @property
    def written(self) -> Written:
        """How much the program has written by now, see `output`."""
        told = self._timeline.told
        if isinstance(told, Ended):
            return told.written
        written: Written = self.ask("written", kind=Written)
        return written

    def ask(self, name: str, *args: Any, kind: Any) -> Any:
        """What the process of the present answers to a question of `probe.answers`, as a `kind`.

        Raises:
            UsageError: it says why not.
        """
        return self._ask(lambda: self._timeline.ask(name, *args, kind=kind))

    def evaluate(self, text: str) -> str:
        """What an expression gives in the function that is selected, in a line.

        Raises:
            UsageError: there is no function here, or it failed.
        """
        frame = self._here()
        check_expression(text)
        return self._ask(lambda: self._timeline.ask("evaluate", text.strip(), frame.number, self._lane, kind=str))

    def look(self, text: str) -> Variable:
        """All that an expression gives there. What only names a part of a variable runs none of the program's code.

        Raises:
            UsageError: as `evaluate`.
        """
        frame = self._here()
        check_expression(text)
        if not frame.own:
            raise UsageError("a library's function is looked into with p only")
        number = sum(one.own for one in self.frames[: frame.number])
        return self._ask(lambda: self._timeline.ask("look", text, number, self._lane, ALL, kind=Variable))

    def variables(self) -> list[Shown]:
        """Those of the function that is selected, each in a line.

        Raises:
            UsageError: there is no function here.
        """
        ref = self._here().ref
        return self._ask(lambda: self._timeline.ask("variables", ref, kind=list[Shown]))

    def file(self, name: str) -> str:
        """A file of the program's: a path, or the end of one."""
        manifest, place = self.course.manifest, self.position.place
        near = [place.file] if place is not None else []
        folders = [manifest.cwd, *map(_folder, near), *map(_folder, manifest.sources), *manifest.import_path]
        found = (str(Path(folder) / name) for folder in folders if (Path(folder) / name).is_file())
        return next((file for file in near if is_file(name, file)), None) or next(found, name)

    def end(self) -> None:
        """Ends all processes."""
        self._timeline.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.end()

    # How it is done

    def _here(self) -> Frame:
        frame = self.frame
        if frame is not None:
            return frame
        if self.position.ended:
            raise UsageError("the program has ended, and no function runs: go back first")
        raise UsageError("no function of the program runs here yet: go on first")

    def watched(self, text: str) -> Watch:
        """What watching an expression in the function that is selected means: there, or in its module.

        Raises:
            UsageError: it is no expression, or there is no function here in which it could mean something.
        """
        check_expression(text)
        frame = self._here()
        function, lane = frame.function, self._lane or self.position.lane
        names = {node.id for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)}
        local = names & {one.name for one in self.variables()}
        if names and not local and self.evaluate(f"{names!r} <= {{*globals()}}") == "True":
            function = f"{function.partition(':')[0]}:<module>"
        return Watch(text, function, lane)

    def _forward(self, motion: Motion) -> Stop:
        stops = self.breakpoints.stops(self.course)
        return self._move(lambda: self._timeline.forward(replace(stops, motion=motion)))

    def _backward(self, motion: Motion) -> Stop:
        stops = self.breakpoints.stops(self.course)

        def back() -> Stopped | Ended:
            if self._timeline.moment == BEGIN:
                return self._timeline.told
            return self._timeline.back(replace(stops, motion=motion)) or self._timeline.seek(BEGIN)

        return self._move(back)

    def _jump(self, motion: Callable[[], Stopped | Ended]) -> Stop:
        def jump() -> Stopped | Ended:
            told = motion()
            return told if told.hit is not None and told.hit.why == "hold" else replace(told, hit=None)

        return self._move(jump)

    def _move(self, motion: Callable[[], Stopped | Ended | None]) -> Stop:
        self._lane, self._frame = "", None
        return self._safely(lambda: self._stop(motion()), lambda why, text: Stop(why, self.position, text=text))

    def _ask(self, question: Callable[[], type_of_answer]) -> type_of_answer:
        def gone(why: Why, text: str) -> type_of_answer:
            raise UsageError("it was interrupted" if why is Why.INTERRUPTED else text)

        return self._safely(question, gone)

    def _safely(
        self, action: Callable[[], type_of_answer], gone: Callable[[Why, str], type_of_answer]
    ) -> type_of_answer:
        """Does something in the process of the present. If that does not live through it, another takes its place."""
        moment, ended = self._timeline.moment, self.position.ended
        self._interrupted, self.busy = False, True
        try:
            return action()
        except GoneError as error:
            self.busy = False
            self._timeline.renew(moment, ended=ended)
            return gone(Why.INTERRUPTED if self._interrupted else Why.GONE, str(error))
        finally:
            self.busy = False

    def _stop(self, told: Stopped | Ended | None) -> Stop:
        if told is None:
            return Stop(Why.NOWHERE, self.position)
        hit = told.hit
        if hit is not None and hit.moment < told.moment:
            self._timeline.seek(hit.moment)
        numbers = tuple(number for number in hit.numbers if number) if hit is not None else ()
        self.breakpoints.count(told.hits)
        self.breakpoints.stopped(numbers)
        position, diverged = self.position, self._diverged(told)
        if hit is not None:
            return Stop(_WHY[hit.why], position, numbers, hit.text, hit.place, told.faults, diverged)
        why = Why.END if position.ended else Why.BEGIN if position.moment == BEGIN else Why.STEP
        return Stop(why, position, faults=told.faults, diverged=diverged)

    def _diverged(self, told: Stopped | Ended) -> str:
        """How the replay has left its tape; one that ends early has not made all of its calls."""
        if isinstance(told, Stopped) or told.diverged:
            return told.diverged
        short = len(self._timeline.past) < self.course.calls
        return What.MISSING if short else ""


def _folder(file: str) -> str:
    return str(Path(file).parent)
