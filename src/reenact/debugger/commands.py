"""The words that a debugger understands, and what each of them does. No input and no output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from reenact.debugger.breakpoints import AtStep, Breakpoint, Exceptions, Expression, Function, Line, Tool
from reenact.debugger.output import Piece, Written
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
from reenact.debugger.session import Debugger, Stop, Why
from reenact.debugger.source import lines_of
from reenact.errors import UsageError
from reenact.probe.answers import Frame
from reenact.probe.messages import Moment
from reenact.providers import Text
from reenact.trajectory import Step

_PLACE: Final = re.compile(r"(?:(?P<file>.+):)?(?P<line>[0-9]{1,7})")
_AROUND: Final = 5
_NEAR: Final = 7  # steps around the present one that are listed
_SHORT: Final = 200
_AT_STOP: Final = 2_000  # letters of what the program has written
_ASKED: Final = 20_000  # the same, of all it has written by now


@dataclass(frozen=True, slots=True)
class Command:
    """One of them. `usage` is what follows its name, `does` a sentence; an empty line does it again if it `repeats`."""

    names: tuple[str, ...]
    usage: str
    does: str
    more: str
    group: str
    run: Callable[[Commands, str], Result]
    repeats: bool


_ALL: list[Command] = []


def _command(
    names: str, group: str, usage: str = "", *, repeats: bool = False
) -> Callable[[Callable[[Commands, str], Result]], Callable[[Commands, str], Result]]:
    """Its docstring is its help."""

    def known(run: Callable[[Commands, str], Result]) -> Callable[[Commands, str], Result]:
        does, _, more = (run.__doc__ or "").partition("\n")
        lines = (line.removeprefix("        ") for line in more.splitlines())
        _ALL.append(Command(tuple(names.split()), usage, does, "\n".join(lines).strip(), group, run, repeats))
        return run

    return known


class Commands:
    """The commands of one debugger. `quiet`: motions do not tell what the program has written."""

    def __init__(self, debugger: Debugger, *, quiet: bool = False) -> None:
        self.debugger = debugger
        self._quiet = quiet
        self._written: Written = {}
        self._again = ""
        self._listed = 0

    def do(self, line: str) -> Result | None:
        """Does what a line says; an empty one what the last motion was. None where there is nothing to do.

        Raises:
            UsageError: it says nothing that can be done.
        """
        line = line.strip()
        if not line or line.startswith("#"):
            line = "" if line else self._again
        if not line:
            return None
        word, _, rest = line.partition(" ")
        command = named(word)
        if command is None:
            return self._evaluated(line)
        self._again = line if command.repeats else ""
        if "list" not in command.names:
            self._listed = 0
        result = command.run(self, rest.strip())
        if isinstance(result, Moved | Found) and result.stop is not None and not self._quiet:
            return replace(result, wrote=self._since())
        return result

    def _evaluated(self, line: str) -> Result:
        """What is no command may be an expression."""
        try:
            return Value(line, self.debugger.evaluate(line))
        except UsageError as error:
            raise UsageError(
                f"{line.split(maxsplit=1)[0]!r} is no command (h lists them), and as an expression: {error}"
            ) from None

    # Going on

    @_command("step s", "Forward", "[COUNT]", repeats=True)
    def step(self, rest: str) -> Result:
        """Go to the next line that runs, into functions."""
        return self._times(rest, self.debugger.step)

    @_command("next n", "Forward", "[COUNT]", repeats=True)
    def next(self, rest: str) -> Result:
        """Go to the next line of this function, over the functions that it calls."""
        return self._times(rest, self.debugger.next)

    @_command("out o", "Forward", "", repeats=True)
    def out(self, rest: str) -> Result:
        """Go on until this function has returned."""
        return self._times(rest, self.debugger.out)

    @_command("continue c", "Forward", "", repeats=True)
    def resume(self, rest: str) -> Result:
        """Go on to the next breakpoint or watch, or to the end."""
        return self._times(rest, self.debugger.resume)

    @_command("back bs", "Backward", "[COUNT]", repeats=True)
    def back(self, rest: str) -> Result:
        """Go to the line that ran before this one, into functions."""
        return self._times(rest, self.debugger.back)

    @_command("reverse-next rn", "Backward", "[COUNT]", repeats=True)
    def reverse_next(self, rest: str) -> Result:
        """Go back to the line of this function before, over the functions that it called."""
        return self._times(rest, self.debugger.reverse_next)

    @_command("reverse-out ro", "Backward", "", repeats=True)
    def reverse_out(self, rest: str) -> Result:
        """Go back to the line that called this function."""
        return self._times(rest, self.debugger.reverse_out)

    @_command("reverse-continue rc", "Backward", "", repeats=True)
    def reverse_resume(self, rest: str) -> Result:
        """Go back to the breakpoint or watch before, or to the beginning."""
        return self._times(rest, self.debugger.reverse_resume)

    # Jumping

    @_command("jump j", "Jump", "PLACE")
    def jump(self, rest: str) -> Result:
        """Go to a step (as `reenact show` counts), where the model is about to be asked; or to another place.

        j 4        step 4
        j +1       one step on; j -1 one step back
        j e12      where event 12 is about to be made (`reenact show RUN --event 12`)
        j begin    before the first line
        j last     at the last line that runs
        j end      after it
        j 14:3     a moment: after 14 calls and 3 lines more (info tells the present one)
        """
        debugger, rest = self.debugger, rest.removeprefix("step ").strip()
        places = {"begin": debugger.to_begin, "last": debugger.to_last, "end": debugger.to_end}
        if rest in places:
            return Moved(places[rest]())
        if found := re.fullmatch(r"([0-9]{1,9}):([0-9]{1,9})", rest):
            return Moved(debugger.to_moment(Moment(int(found[1]), int(found[2]))))
        if found := re.fullmatch(r"e(?:vent)? ?([0-9]{1,9})", rest):
            return Moved(debugger.to_event(int(found[1])))
        if found := re.fullmatch(r"([+-]?)([0-9]{1,9})", rest):
            sign = {"": 0, "+": 1, "-": -1}[found[1]]
            number = int(found[2]) if not sign else debugger.position.step + sign * int(found[2])
            return Moved(debugger.to_step(number))
        raise UsageError("say where to: j 4 (a step), j +1, j e12 (an event), j begin, j last or j end")

    @_command("raised", "Jump")
    def raised(self, _rest: str) -> Result:
        """Go to where the exception was raised by which the program ended."""
        return Moved(self.debugger.to_raise())

    @_command("when", "Jump", "EXPR")
    def when(self, rest: str) -> Result:
        """Go back to the line that last changed what an expression gives, in the function that is selected.

        when messages[0]              who changed the first message?
        when len(messages) > 10       when did it become so?

        You stand before that line: it has not changed it yet. Breakpoints do not stop this.
        """
        return Moved(self.debugger.when(_wanted(rest, "when messages[0]")), rest)

    @_command("when-next wn", "Jump", "EXPR")
    def when_next(self, rest: str) -> Result:
        """Go on until a line changes what an expression gives."""
        return Moved(self.debugger.when(_wanted(rest, "wn messages[0]"), later=True), rest)

    @_command("find", "Jump", "TEXT")
    def find(self, rest: str) -> Result:
        """Go to the first step in whose request a text is: what first told a model that?

        It is looked for on the tape, also in other forms (1,234.50 for 1234.5). `reenact origin` says where it is from.
        """
        text = _wanted(rest, "find 1,234.50")
        if text[0] == text[-1] and text[0] in "'\"" and len(text) > 1:
            text = text[1:-1]
        found = self.debugger.find(text)
        return Found(text, found[0], found[1]) if found is not None else Found(text, None)

    # Stopping

    @_command("break b", "Stop", "[PLACE [if EXPR]]")
    def break_(self, rest: str) -> Result:
        """Stop at a place, going forward and back; without one, list all breakpoints and watches.

        b 31                 line 31 of this file (the next with code)
        b tools.py:12        line 12 of another
        b fetch              where function fetch begins; also Agent.run, tools.fetch
        b step 4             where step 4 begins
        b tool refund        where the model is asked and answers by calling that tool
        b raise [NAME]       where an exception is raised: any, or of that class and those made from it
        b uncaught           where one is raised that nobody catches
        b 31 if n == 2       only where that holds there; so with all of them
        """
        place, _, condition = rest.partition(" if ")
        if not rest:
            return Points([_point(one) for one in self.debugger.breakpoints])
        return self._break(place.strip(), condition.strip(), once=False)

    @_command("tbreak tb", "Stop", "PLACE [if EXPR]")
    def tbreak(self, rest: str) -> Result:
        """Stop there once: as b, and forgotten after it."""
        place, _, condition = _wanted(rest, "tb 31").partition(" if ")
        return self._break(place.strip(), condition.strip(), once=True)

    @_command("watch", "Stop", "EXPR")
    def watch(self, rest: str) -> Result:
        """Stop where a line changes what an expression gives, in the function and lane that are selected.

        Going forward one stands after the change, going back before it.
        """
        return Points([_point(self.debugger.watch(_wanted(rest, "watch messages[0]")))])

    @_command("condition cond", "Stop", "N [EXPR]")
    def condition(self, rest: str) -> Result:
        """Let breakpoint N stop only where an expression holds; without one, always."""
        number, _, text = rest.partition(" ")
        found = self._get(number)
        self.debugger.breakpoints.change(found, condition=text.strip())
        return Points([_point(found)])

    @_command("due", "Stop", "N [COUNT]")
    def due(self, rest: str) -> Result:
        """Let breakpoint N stop only at some of its hits, going forward: 3, >= 3, % 3; without a count, at each."""
        number, _, text = rest.partition(" ")
        found = self._get(number)
        self.debugger.breakpoints.change(found, due=text.strip())
        return Points([_point(found)])

    @_command("enable", "Stop", "N…")
    def enable(self, rest: str) -> Result:
        """Let breakpoints stop again."""
        return self._enable(rest, on=True)

    @_command("disable", "Stop", "N…")
    def disable(self, rest: str) -> Result:
        """Let breakpoints stop no more, and keep them."""
        return self._enable(rest, on=False)

    @_command("delete del", "Stop", "[N…]")
    def delete(self, rest: str) -> Result:
        """Forget breakpoints and watches; without numbers, all."""
        if not rest:
            self.debugger.breakpoints.clear()
            return Said("all breakpoints and watches are gone")
        numbers = [self._get(word).number for word in rest.split()]
        for number in numbers:
            self.debugger.breakpoints.delete(number)
        return Said(f"gone: {', '.join(map(str, numbers))}")

    # Looking

    @_command("where w bt", "Look", "[all]")
    def where(self, rest: str) -> Result:
        """Show the functions that run, the innermost first; with `all` those of libraries, too."""
        debugger = self.debugger
        frame = debugger.frame
        selected = frame.number if frame is not None else None
        return Stack(debugger.lane, debugger.frames, selected, every=rest in ("all", "-a"))

    @_command("up u", "Look", "[COUNT]", repeats=True)
    def up(self, rest: str) -> Result:
        """Look at the function that called this one."""
        self.debugger.up(_count(rest))
        return self._source()

    @_command("down d", "Look", "[COUNT]", repeats=True)
    def down(self, rest: str) -> Result:
        """Look at the function that this one has called."""
        self.debugger.up(-_count(rest))
        return self._source()

    @_command("frame f", "Look", "[N]")
    def frame(self, rest: str) -> Result:
        """Look at function N of `w all`; without a number, at where one is."""
        if rest:
            self.debugger.select_frame(_number(rest))
        return self._source()

    @_command("list l", "Look", "[LINE]", repeats=True)
    def list(self, rest: str) -> Result:
        """Show the source around where one is, or around a line; again, what follows."""
        frame = self._frame()
        around = _number(rest) if rest else frame.line
        first = max(around - _AROUND, 1) if not self._listed or rest else self._listed
        self._listed = first + 2 * _AROUND + 1
        self._again = "list"
        return self._listing(first, self._listed)

    @_command("print p", "Look", "EXPR")
    def print(self, rest: str) -> Result:
        """Show what an expression gives, in a line.

        Any Python expression. What it asks of the outside (network, files to write, processes) is refused, and what it
        changes is forgotten.
        """
        text = _wanted(rest, "p messages[-1]")
        return Value(text, self.debugger.evaluate(text))

    @_command("pp", "Look", "EXPR")
    def pp(self, rest: str) -> Result:
        """Show all that an expression gives, part by part."""
        return Whole(self.debugger.look(_wanted(rest, "pp messages")))

    @_command("locals", "Look")
    def locals(self, _rest: str) -> Result:
        """Show the variables of the function that is selected."""
        return Variables(self._frame().function, self.debugger.variables())

    @_command("output", "Look", "[all]")
    def output(self, rest: str) -> Result:
        """Show what the program has written up to here, to stdout and stderr; the end of it, or `all`.

        Each stop shows what has come since the one before. It is as the tape has it: when the replay has left its
        tape, the program of today may write something else.
        """
        pieces = list(self.debugger.output.between({}, self.debugger.written))
        return _wrote(pieces, None if rest == "all" else _ASKED)

    @_command("lanes", "Look")
    def lanes(self, _rest: str) -> Result:
        """List the lanes: main, tasks and threads, and what each waits for."""
        return Lanes(self.debugger.lanes, self.debugger.lane)

    @_command("lane", "Look", "LANE")
    def lane(self, rest: str) -> Result:
        """Look at another lane's functions, by its number (0.2) or its name, while all stands still."""
        self.debugger.select_lane(_wanted(rest, "lane 0.2"))
        return self.where("")

    @_command("steps", "Look", "[all]")
    def steps(self, rest: str) -> Result:
        """List the steps of the run around the present one, or all."""
        return self.brief(every=rest == "all")

    @_command("info i", "Look")
    def info(self, _rest: str) -> Result:
        """Tell what run this is, and where one is in it."""
        course = self.debugger.course
        manifest, steps = course.manifest, len(course.steps)
        return Info(manifest.run_id, manifest.command, steps, course.events, course.error, self.debugger.position)

    @_command("help h ?", "Else", "[COMMAND]")
    def help(self, rest: str) -> Result:
        """List the commands, or tell more of one."""
        if rest and named(rest) is None:
            raise UsageError(f"{rest!r} is no command; h lists them")
        return Help(rest)

    @_command("quit q exit", "Else")
    def quit(self, _rest: str) -> Result:
        """End the debugger, and all processes of it."""
        return Over()

    def brief(self, *, every: bool = False) -> Steps:
        """The steps around the present one."""
        steps, here = self.debugger.course.steps, self.debugger.position.step
        first = 0 if every else max(0, min(here - 1 - _NEAR // 2, len(steps) - _NEAR))
        shown = steps[first:] if every else steps[first : first + _NEAR]
        return Steps([brief(step) for step in shown], here, len(steps))

    # How it is done

    def _since(self) -> Wrote:
        """What the program has written since this was asked last; nothing, where that lies ahead."""
        before, self._written = self._written, self.debugger.written
        return _wrote(list(self.debugger.output.between(before, self._written)), _AT_STOP)

    def _times(self, rest: str, motion: Callable[[], Stop]) -> Result:
        stop = motion()
        for _ in range(_count(rest) - 1):
            if stop.why is not Why.STEP:
                break
            stop = motion()
        met = (one.where for one in self.debugger.breakpoints if one.number in stop.numbers)
        return Moved(stop, ", ".join(where.text for where in met if isinstance(where, Expression)))

    def _break(self, place: str, condition: str, *, once: bool) -> Result:
        debugger, words = self.debugger, place.split()
        note = ""
        match words:
            case ["step", number]:
                made = debugger.break_at_step(_number(number), condition, once=once)
            case ["tool", name]:
                made = debugger.break_at_tool(name, condition, once=once)
            case ["raise"] | ["raise", _]:
                made = debugger.break_at_raise("".join(words[1:]), condition)
            case ["uncaught"]:
                made = debugger.break_at_raise("", condition, uncaught=True)
            case [_]:
                found = _PLACE.fullmatch(place)
                if found is None:
                    made = debugger.break_in(place, condition, once=once)
                else:
                    line = int(found["line"])
                    made = debugger.break_at(found["file"] or self._file(), line, condition, once=once)
                    if isinstance(made.where, Line) and made.where.line != line:
                        note = f"line {line} has no code: it is at {made.where.line}"
                    if isinstance(made.where, Line) and not lines_of(made.where.file):
                        note = "no such file is found: it stops where the program comes to one that is called so"
            case _:
                raise UsageError("say where: b 31, b tools.py:12, b fetch, b step 4, b tool NAME, b raise NAME")
        return Points([_point(made)], note)

    def _file(self) -> str:
        """The file in which a bare number is a line."""
        frame = self.debugger.frame
        if frame is not None:
            return frame.file
        target = self.debugger.course.manifest.target
        if target and not target[0].startswith("-"):
            return target[0]
        raise UsageError("in which file? b FILE:LINE")

    def _enable(self, rest: str, *, on: bool) -> Result:
        found = [self._get(word) for word in _wanted(rest, "enable 2").split()]
        for one in found:
            one.enabled = on
        return Points([_point(one) for one in found])

    def _get(self, word: str) -> Breakpoint:
        return self.debugger.breakpoints.get(_number(word))

    def _frame(self) -> Frame:
        frame = self.debugger.frame
        if frame is None:
            raise UsageError("no function of the program runs here")
        return frame

    def _source(self) -> Listing:
        line = self._frame().line
        return self._listing(max(line - _AROUND // 2, 1), line + _AROUND // 2 + 1)

    def _listing(self, first: int, end: int) -> Listing:
        frame = self._frame()
        lines = lines_of(frame.file)
        if not lines:
            raise UsageError(f"{frame.file} cannot be read")
        if first > len(lines):
            raise UsageError(f"{frame.file} has {len(lines)} lines")
        stops = [
            one.where.line
            for one in self.debugger.breakpoints
            if isinstance(one.where, Line) and one.where.file == frame.file and one.enabled
        ]
        return Listing(frame.file, first, list(lines[first - 1 : end - 1]), frame.line, stops)


def named(word: str) -> Command | None:
    """The command of that name."""
    return next((one for one in _ALL if word in one.names), None)


def groups() -> Iterator[tuple[str, list[Command]]]:
    """All commands, in groups."""
    for group in dict.fromkeys(one.group for one in _ALL):
        yield group, [one for one in _ALL if one.group == group]


def _wrote(pieces: list[Piece], most: int | None) -> Wrote:
    """The last of them, so many letters; None for all."""
    if most is None:
        return Wrote(pieces)
    kept: list[Piece] = []
    for one in reversed(pieces):
        if most > 0:
            kept.insert(0, Piece(one.stream, one.text[-most:]))
        most -= len(one.text)
    return Wrote(kept, max(-most, 0))


def _wanted(rest: str, example: str) -> str:
    if not rest:
        raise UsageError(f"say what: {example}")
    return rest


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise UsageError(f"{word!r} is no number")
    return int(word)


def _count(rest: str) -> int:
    return max(_number(rest), 1) if rest else 1


def _point(one: Breakpoint) -> Point:
    match one.where:
        case Line(file, line):
            kind, what = "line", f"{file}:{line}"
        case Function(name):
            kind, what = "function", name
        case AtStep(number):
            kind, what = "step", str(number)
        case Tool(name):
            kind, what = "tool", name
        case Exceptions(name, uncaught):
            kind, what = ("uncaught" if uncaught else "raise"), name
        case Expression(text, function, _):
            kind, what = "watch", f"{text} in {function.partition(':')[2]}"
    return Point(one.number, kind, what, one.condition, one.due, one.enabled, one.hits, one.once)


def brief(step: Step) -> Brief:
    """A step in a line."""
    calls = [f"calls {call.name}({call.arguments})" for call in step.calls]
    parts = step.answer.parts if step.answer is not None else ()
    words = [" ".join(part.text.split()) for part in parts if isinstance(part, Text)]
    if not calls and not words:
        words = ["no answer" if step.answer is None else "says nothing"]
    decision = "; ".join(calls) or f"says {' '.join(words)}"
    return Brief(step.number, step.lane, step.model, decision[:_SHORT])
