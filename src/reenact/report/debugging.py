"""What a debugger says, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reenact.debugger import commands
from reenact.debugger.course import Course
from reenact.debugger.results import (
    Brief,
    Found,
    Help,
    Info,
    Lanes,
    Listing,
    Moved,
    Over,
    Point,
    Points,
    Result,
    Said,
    Stack,
    Steps,
    Value,
    Variables,
    Whole,
    Wrote,
)
from reenact.debugger.session import Position, Stop, Why
from reenact.debugger.source import lines_of
from reenact.engine.divergence import What
from reenact.probe.answers import Frame
from reenact.report import state as states
from reenact.report.figures import counted, inside
from reenact.report.source import source
from reenact.report.terminal import Paint, clip, columns, padded, plain, wrapped
from reenact.trajectory.sought import Grade

_AROUND: Final = 2  # lines of source on either side, where one has come to another function
_NAME: Final = 24  # columns that names are lined up to
_USAGE: Final = 28  # columns of a command's names
_ROWS: Final = 12  # of what the program has written, at a stop
_ALL: Final = 1_000_000  # columns
_ADDED: Final = re.compile(r"\[\d+\] (is|to \[\d+\] are) new")
_BESIDE: Final = 30  # letters on either side of what was found
_TRY: Final = (
    ("s n o c", "go on: step into, next line, out of the function, continue"),
    ("bs rn ro rc", "the same backward"),
    ("j 3 · j end", "jump to step 3, or to the end"),
    ("p EXPR · locals", "look at values; w shows the functions that run"),
    ("when EXPR", "back to the line that last changed a value"),
    ("find TEXT", "to the first step in which the model is told that"),
    ("h · q", "all commands; end"),
)


class View:
    """How one debugger's words look. It remembers where one was, so as to say only what is new."""

    def __init__(self, course: Course, *, width: int, paint: Paint) -> None:
        self._course = course
        self._width = width
        self._paint = paint
        self._last: Position | None = None

    def prompt(self, position: Position) -> str:
        """Where one is, in a few letters."""
        if position.ended:
            return "end"
        if position.place is None:
            return "begin" if not position.moment.event else f"step {position.step}"
        lane = f"{position.lane} · " if position.lane not in ("", "0") else ""
        before = "before step 1 · " if self._course.steps else ""
        step = f"step {position.step} · " if position.step else before
        file = position.place.file.rpartition("/")[2]
        return plain(f"{step}{lane}{file}:{position.place.line}")

    def welcome(self, info: Info, steps: Steps) -> Iterator[str]:
        """The first words."""
        yield from self._info(info)
        yield ""
        yield from self._steps(steps)
        if steps.steps:
            yield ""
        yield self._paint.dim("The program runs again on what its tape holds: nothing leaves this machine. Try:")
        for words, does in _TRY:
            yield f"  {self._paint.name(padded(words, 16))}  {does}"

    def told(self, result: Result) -> Iterator[str]:  # noqa: C901, PLR0912  one arm for each sort
        """A result, line by line."""
        match result:
            case Moved(stop, asked, wrote):
                yield from self._wrote(wrote, _ROWS)
                yield from self._stop(stop, asked)
            case Wrote():
                yield from self._wrote(result)
                if not result.pieces:
                    yield self._paint.dim("  it has written nothing up to here")
            case Found():
                yield from self._found(result)
            case Stack():
                yield from self._stack(result)
            case Value(_, text):
                yield from (f"  {line}" for line in wrapped(text, self._width - 2))
            case Whole(variable):
                page = states.Page(cwd=self._course.manifest.cwd, width=self._width, paint=self._paint, whole=True)
                yield from (f"  {line}" for line in page.value(variable))
            case Variables():
                yield from self._variables(result)
            case Points():
                yield from self._points(result)
            case Lanes():
                yield from self._lanes(result)
            case Steps():
                yield from self._steps(result)
            case Listing(file, first, shown, line, stops):
                yield self._paint.dim(self._path(file))
                yield from source(shown, first, line, stops=stops, width=self._width, paint=self._paint)
            case Info():
                yield from self._info(result)
            case Help(topic):
                yield from self._help(topic)
            case Said(text):
                yield f"  {plain(text)}"
            case Over():
                return

    # Where one has come to

    def _stop(self, stop: Stop, asked: str = "") -> Iterator[str]:
        position, last = stop.position, self._last
        self._last = position
        yield from self._why(stop, asked)
        for number, fault in stop.faults.items():
            yield from self._warning(f"the condition of breakpoint {number} failed, and was taken not to hold: {fault}")
        if stop.diverged:
            yield from self._warning(_DIVERGED.format(how=_HOW.get(What(stop.diverged), stop.diverged), run=self._run))
        if position.ended or (position.place is None and position.event is None):
            return
        if position.step and (last is None or last.step != position.step):
            yield self._step(position.step)
        if position.event is not None:
            yield from self._call(position)
        if position.place is None:
            yield self._paint.dim("  no function of the program's own is running here")
        elif last is not None and not stop.numbers and _is_near(last, position):
            yield from self._line(position, 0)
        else:
            lane = f"  lane {plain(position.lane)} ({plain(position.name)})" if position.lane != "0" else ""
            yield f"{self._place(position.place.file, position.place.line, position.place.function)}{lane}"
            yield from self._line(position, _AROUND)

    def _why(self, stop: Stop, asked: str) -> Iterator[str]:
        paint, course = self._paint, self._course
        named = f"{', '.join(map(str, stop.numbers))}: " if stop.numbers else ""
        match stop.why:
            case Why.BREAKPOINT:
                yield paint.bold(f"Breakpoint {named.removesuffix(': ')}")
            case Why.WATCH:
                line = f", by line {stop.place.line}" if stop.place is not None else ""
                watch = f"Watch {named}" if named else ""
                yield paint.bold(clip(f"{watch}{plain(asked)} changed{line}", self._width))
                yield from self._changes(stop.text)
            case Why.EXCEPTION:
                breakpoint_ = f"  (breakpoint {named.removesuffix(': ')})" if named else ""
                yield f"{paint.bad(clip(plain(f'Raised: {stop.text}'), self._width))}{paint.dim(breakpoint_)}"
            case Why.BEGIN:
                yield paint.bold("The beginning: before the program's first line. There is nothing before.")
            case Why.END:
                ended = f" It ended by {plain(course.error)}; `raised` goes there." if course.error else ""
                yield from map(paint.bold, wrapped(f"The end of the program.{ended} bs goes back.", self._width))
            case Why.NOWHERE:
                said = (
                    f"nothing changed {asked} since, as far as it is known here" if asked else "there is no such place"
                )
                yield f"  {plain(said)}; nothing has moved"
            case Why.INTERRUPTED:
                yield from self._warning("interrupted: this is where it began")
            case Why.GONE:
                yield from self._warning(f"{stop.text}: another one stands where it began")
            case Why.STEP:
                return

    def _changes(self, text: str) -> Iterator[str]:
        for change in text.split("\n"):
            before, arrow, after = change.partition(" → ")
            if columns(change) + 4 <= self._width or not arrow or _ADDED.match(change):
                yield f"  {clip(plain(change), self._width - 2)}"
            else:
                yield f"  {self._paint.bad('-')} {clip(plain(before), self._width - 4)}"
                yield f"  {self._paint.good('+')} {clip(plain(after), self._width - 4)}"

    def _call(self, position: Position) -> Iterator[str]:
        entry = next((one for one in self._course.found.entries if one.event == position.event), None)
        name = plain(entry.name) if entry is not None else ""
        yield self._paint.dim(clip(f"about to make event {position.event}: {name}", self._width))

    def _step(self, number: int) -> str:
        return self._paint.bold(self._brief(commands.brief(self._course.steps[number - 1]), 0))

    def _line(self, position: Position, around: int) -> Iterator[str]:
        assert position.place is not None  # noqa: S101  callers have asked
        here, text = position.place.line, lines_of(position.place.file)
        first = max(here - around, 1)
        shown = text[first - 1 : here + around]
        if shown:
            yield from source(shown, first, here, width=self._width, paint=self._paint)
        else:
            yield self._paint.dim(f"  {self._path(position.place.file)}:{here} (its source cannot be read)")

    def _found(self, found: Found) -> Iterator[str]:
        if found.told is None or found.stop is None:
            yield f"  no request of the run tells a model {plain(found.text)!r}"
            return
        yield from self._wrote(found.wrote, _ROWS)
        told, match = found.told, found.told.match
        whose = f" of {plain(told.name)}" if told.name and told.source != "prompt" else ""
        form = f", written otherwise ({', '.join(match.forms)})" if match.grade is not Grade.EXACT else ""
        yield self._paint.bold(f"Step {told.step} is the first that tells the model: in the {told.source}{whose}{form}")
        before, after = plain(match.before), plain(match.after)
        around = f"…{before[-_BESIDE:]}" if len(before) > _BESIDE else before
        rest = f"{after[:_BESIDE]}…" if len(after) > _BESIDE else after
        yield f"  {around}{self._paint.warn(plain(match.text))}{rest}"
        yield from self._stop(found.stop)

    # Looking

    def _wrote(self, wrote: Wrote, most: int = 0) -> Iterator[str]:
        """What the program has written, each line with its stream before it; the last `most` of them, 0 for all."""
        rows = [(one.stream, line) for one in wrote.pieces for line in one.text.removesuffix("\n").split("\n")]
        shown = rows[-most:]
        if most and (wrote.left_out or len(rows) > most):
            yield self._paint.dim("  … and more before this: `output` shows it")
        elif wrote.left_out:
            yield self._paint.dim(f"  … and {counted(wrote.left_out, 'letter')} before this: `output all` shows them")
        for stream, line in shown:
            paint = self._paint.warn if stream == "stderr" else self._paint.dim
            yield f"  {paint(f'{stream} │')} {clip(plain(line), self._width - 11 if most else _ALL)}".rstrip()

    def _stack(self, stack: Stack) -> Iterator[str]:
        hidden = 0
        for frame in stack.frames:
            if not frame.own and not stack.every:
                hidden += 1
                continue
            if hidden:
                yield self._paint.dim(f"      … {counted(hidden, 'function')} of libraries")
            hidden = 0
            yield self._frame(frame, selected=frame.number == stack.selected)
        if hidden:
            yield self._paint.dim(f"      … {counted(hidden, 'function')} of libraries")
        if not stack.frames:
            yield self._paint.dim("  no function runs here")

    def _frame(self, frame: Frame, *, selected: bool) -> str:
        sign = self._paint.warn("→") if selected else " "
        place = self._place(frame.file, frame.line, frame.function)
        return f"{sign} {self._paint.dim(f'#{frame.number:<3}')} {place if frame.own else self._paint.dim(place)}"

    def _variables(self, found: Variables) -> Iterator[str]:
        gutter = min(max((columns(plain(one.name)) for one in found.variables), default=0), _NAME)
        for one in found.variables:
            name = padded(clip(plain(one.name), _NAME), gutter)
            yield f"  {self._paint.name(name)}  {clip(plain(one.text), self._width - gutter - 4)}"
        if not found.variables:
            yield self._paint.dim(f"  {plain(found.function.partition(':')[2])} has no variables yet")

    def _points(self, found: Points) -> Iterator[str]:
        if not found.points:
            yield self._paint.dim("  none yet: b 31, b fetch, b step 4, b tool NAME, b raise, watch EXPR")
        for one in found.points:
            yield self._point(one)
        if found.note:
            yield from self._warning(found.note)

    def _point(self, one: Point) -> str:
        what = self._path(one.what) if one.kind == "line" else f"{_KINDS[one.kind]} {plain(one.what)}".rstrip()
        facts = [
            f"if {plain(one.condition)}" if one.condition else "",
            f"at hits {one.due}" if one.due else "",
            "once" if one.once else "",
            "" if one.enabled else "disabled",
            self._paint.dim(f"hit {counted(one.hits, 'time')}") if one.hits else "",
        ]
        return f"  {self._paint.bold(str(one.number))}  {'  '.join([what, *filter(None, facts)])}"

    def _lanes(self, found: Lanes) -> Iterator[str]:
        for one in found.lanes:
            sign = self._paint.warn("→") if one.lane == found.selected else " "
            waits = f"waits for {', '.join(one.waits_for)}" if one.waits_for else ""
            how = f"thread {plain(one.thread)}" if one.thread else "a task that is suspended"
            yield clip(f"{sign} {padded(one.lane, 8)} {padded(plain(one.name), 20)}  {how}  {waits}".rstrip(), 999)
        if not found.lanes:
            yield self._paint.dim("  none: the program has ended")

    def _steps(self, found: Steps) -> Iterator[str]:
        for step in found.steps:
            sign = self._paint.warn("→") if step.number == found.here else " "
            yield f"{sign} {self._brief(step, 2)}"
        if not found.count:
            yield self._paint.dim("  no steps: it asked no model; its events are places, too (j e0)")
        elif len(found.steps) < found.count:
            yield self._paint.dim(f"  {found.count} steps in all; `steps all` lists them")

    def _brief(self, step: Brief, indent: int) -> str:
        lane = f"  lane {step.lane}" if step.lane != "0" else ""
        return clip(plain(f"step {step.number}{lane}  {step.model}  {step.decision}"), self._width - indent)

    def _info(self, info: Info) -> Iterator[str]:
        counts = f"{counted(info.steps, 'step')}, {counted(info.events, 'event')}"
        yield f"{self._paint.bold(plain(info.run))}  {clip(plain(info.command), self._width - 50)}  {counts}"
        if info.error:
            yield clip(f"It ended by {plain(info.error)}: `raised` goes to where that was raised.", self._width)
        position = info.position
        if not position.ended and position.place is None and not position.moment.event:
            yield "You stand before its first line."
            return
        moment = f"{position.moment.event}:{position.moment.line}"
        yield f"You stand at {self.prompt(position)}, moment {moment} (j {moment} comes back here)."

    # Help

    def _help(self, topic: str) -> Iterator[str]:
        command = commands.named(topic)
        if command is not None:
            yield self._paint.bold(f"{', '.join(command.names)} {command.usage}".rstrip())
            more = ["", *command.more.split("\n")] if command.more else []
            yield from (f"  {line}".rstrip() for line in (*wrapped(command.does, self._width - 2), *more))
            return
        for group, found in commands.groups():
            yield self._paint.bold(group)
            for one in found:
                names = f"{', '.join(one.names)}  {one.usage}".rstrip()
                first, *rest = wrapped(one.does, self._width - _USAGE - 4)
                yield f"  {self._paint.name(padded(names, _USAGE))}  {first}"
                yield from (f"{'':{_USAGE + 4}}{line}" for line in rest)
        yield ""
        yield from wrapped(_NOTES, self._width)

    # Small words

    @property
    def _run(self) -> str:
        return plain(self._course.manifest.run_id)

    def _warning(self, text: str) -> Iterator[str]:
        for row, line in enumerate(wrapped(text, self._width - 2)):
            yield self._paint.warn(f"{' ' if row else '!'} {line}")

    def _path(self, file: str) -> str:
        return plain(inside(file, self._course.manifest.cwd))

    def _place(self, file: str, line: int, function: str) -> str:
        name = function.partition(":")[2]
        return f"{self._paint.bold(self._path(file))}:{line}" + (f" in {plain(name)}" if name != "<module>" else "")


def _is_near(last: Position, position: Position) -> bool:
    """Whether one has only moved within a function."""
    one, other = last.place, position.place
    if one is None or other is None or last.lane != position.lane or position.event is not None:
        return False
    return (one.file, one.function) == (other.file, other.function) and abs(one.line - other.line) <= 3 * _AROUND


_KINDS: Final = {
    "line": "",
    "function": "function",
    "step": "step",
    "tool": "tool",
    "raise": "raise",
    "uncaught": "uncaught exceptions",
    "watch": "watch",
}
_DIVERGED: Final = "the replay has left its tape ({how}): this is not what was recorded. reenact verify {run} says why"
_HOW: Final = {
    What.MISMATCH: "it asked something else",
    What.EXTRA: "it made a call more",
    What.MISSING: "it ended without calls that the tape holds",
    What.OUTPUT: "it wrote something else",
    What.ORDER: "it made its calls in another order",
    What.STUCK: "every part of it waits for another",
    What.SOCKET: "it opened a connection that was not recorded",
}
_NOTES: Final = (
    "Anything else is an expression to show. An empty line does the last motion again. COUNT is how often. Ctrl-C "
    "ends a motion, and one stands where it began. h COMMAND tells more of one."
)
