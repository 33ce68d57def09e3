"""What an editor sees where the run stands: lanes, functions, variables. Their numbers mean nothing once it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from reenact.debugger.dap import arguments, bodies
from reenact.debugger.dap.console import Fact
from reenact.debugger.dap.server import RefusedError
from reenact.debugger.dap.sources import Sources
from reenact.debugger.session import Debugger
from reenact.probe.answers import Frame, Strand
from reenact.probe.values import Shown, path

_MOST: Final = 200  # of what is inside of a value, where the editor does not ask for a page
_LETTERS: Final = 2_000  # of a long text, in one line
_TEXTS: Final = ("str", "bytes", "bytearray")
_LISTS: Final = ("list", "tuple")
_MODULE: Final = "<module>"
_GONE: Final = "the run has gone on since: that is not there any more"


@dataclass(frozen=True, slots=True)
class At:
    """A function of a lane. `number` is what the process counts it by."""

    lane: str
    number: int
    frame: Frame

    @property
    def module(self) -> str:
        """What a watch of the variables of its module names as the function."""
        return f"{self.frame.function.rpartition(':')[0]}:{_MODULE}"


@dataclass(frozen=True, slots=True)
class Inside:
    """What a number opens: `count` parts of what the process has a reference for, from `start` on.

    The expression `above` gives it, in `function` and `lane`; it is empty for the variables of a function or a module.
    """

    function: str
    lane: str
    ref: int
    above: str = ""
    start: int = 0
    count: int = 0
    text: bool = False


class Standing:
    """One stop."""

    def __init__(
        self, debugger: Debugger, sources: Sources, threads: dict[str, int], label: str, facts: Sequence[Fact]
    ) -> None:
        self._debugger = debugger
        self._sources = sources
        self._threads = threads
        self._label = label  # what stands there in the place of functions, where none runs
        self._facts = facts
        self._frames: list[At] = []
        self._stacks: dict[str, range] = {}  # where the frames of a lane stand among all
        self._opens: list[Inside | Sequence[Fact]] = []
        self._strands: list[Strand] | None = None

    def threads(self) -> list[bodies.Thread]:
        """The lanes, the one that stands first. A lane keeps its number for the whole session."""
        return [bodies.Thread(id=self._thread(one.lane), name=_called(one)) for one in self._lanes()]

    def thread(self) -> int:
        """The number of the lane that stands."""
        return self._thread(self._lanes()[0].lane)

    def stack(self, given: arguments.StackTrace) -> bodies.StackTrace:
        """The functions of a lane."""
        lane = next((lane for lane, number in self._threads.items() if number == given.thread_id), None)
        if lane is None:
            raise RefusedError(f"there is no thread {given.thread_id}")
        numbers = self._stack(lane)
        if not numbers:
            label = bodies.StackFrame(id=0, name=self._label, line=0, column=0, presentation_hint="label")
            return bodies.StackTrace(stack_frames=[label], total_frames=1)
        start = given.start_frame or 0
        shown = numbers[start : start + given.levels] if given.levels else numbers[start:]
        return bodies.StackTrace(
            stack_frames=[self._shown(one, self._frames[one].frame) for one in shown], total_frames=len(numbers)
        )

    def frame(self, number: int) -> At:
        """A function by the number that the editor has for it.

        Raises:
            RefusedError: it is not there any more.
        """
        if not 0 < number <= len(self._frames):
            raise RefusedError(_GONE)
        return self._frames[number - 1]

    def innermost(self) -> At | None:
        """The innermost function of the agent's own in the lane that stands."""
        found = (self._frames[at] for at in self._stack(self._lanes()[0].lane))
        return next((one for one in found if one.frame.own), None)

    def scopes(self, given: arguments.Scopes) -> bodies.Scopes:
        """The variables of a function, those of its module, and the step that the run is at."""
        scopes = []
        if given.frame_id:
            at = self.frame(given.frame_id)
            own = Inside(at.frame.function, at.lane, at.frame.ref)
            outer = Inside(at.module, at.lane, self._debugger.ask("globals", at.number, at.lane, kind=int))
            is_module = at.frame.function.endswith(_MODULE)
            scopes.append(self._scope("Locals", "locals", outer if is_module else own))
            if not is_module:
                scopes.append(self._scope("Globals", "globals", outer))
        if self._facts:
            scopes.append(self._scope("Step", "", self._facts))
        return bodies.Scopes(scopes=scopes)

    def variables(self, given: arguments.Variables) -> bodies.Variables:
        """A page of what is inside."""
        inside = self._opened(given.variables_reference)
        if not isinstance(inside, Inside):
            facts = [bodies.Variable(name=name, value=text, variables_reference=0) for name, text in inside]
            return bodies.Variables(variables=facts)
        start, count = inside.start + (given.start or 0), given.count or _MOST
        if inside.text:
            return bodies.Variables(variables=self._letters(inside, start, count))
        shown = self._debugger.ask("variables", inside.ref, start, count, kind=list[Shown])
        found = [self.variable(one, inside) for one in shown]
        left = inside.count - start - len(found)
        if not given.count and len(found) == _MOST and left > 0:
            more = self._open(replace(inside, start=start + len(found)))
            found.append(bodies.Variable(name="…", value=f"{left:,} more", variables_reference=more))
        return bodies.Variables(variables=found)

    def value(self, text: str, at: At) -> bodies.Variable:
        """What an expression gives in a function. One that only names a part of a variable can be opened."""
        debugger = self._debugger
        shown = debugger.ask("show", text, at.number, at.lane, kind=Shown | None)
        if shown is None:
            given = debugger.ask("evaluate", text, at.number, at.lane, kind=str)
            return bodies.Variable(name=text, value=given, variables_reference=0)
        return self.variable(shown, Inside(at.frame.function, at.lane, 0))

    def watched(self, given: arguments.DataBreakpointInfo) -> tuple[str, str, str]:
        """The expression of a variable that the editor shows, and the function and the lane where it means something.

        Raises:
            RefusedError: it has none.
        """
        if given.variables_reference:
            inside = self._opened(given.variables_reference)
            if not isinstance(inside, Inside) or inside.text or given.name.startswith(("{", "…")):
                raise RefusedError(f"{given.name} is no expression that could be watched")
            return path(inside.above, given.name), inside.function, inside.lane
        at = self.frame(given.frame_id) if given.frame_id else self.innermost()
        if at is None:
            raise RefusedError(f"no function runs here, in which {given.name} could mean something")
        self._debugger.select_lane(at.lane)
        self._debugger.select_frame(at.number)
        watch = self._debugger.watched(given.name)
        return watch.text, watch.function, watch.lane

    def variable(self, shown: Shown, of: Inside) -> bodies.Variable:
        """A value, as the editor is told of it."""
        expression = "" if shown.name.startswith("{") else path(of.above, shown.name)
        text, listed = shown.type in _TEXTS, shown.type in _LISTS
        reference, count = 0, None
        if shown.ref:
            inside = replace(of, ref=shown.ref, above=expression, start=0, count=shown.count, text=text)
            reference, count = self._open(inside), -(-shown.count // _LETTERS) if text else shown.count
        return bodies.Variable(
            name=shown.name,
            value=shown.text,
            type=shown.type,
            variables_reference=reference,
            evaluate_name=expression,
            indexed_variables=count if listed or text else None,
            named_variables=None if listed or text else count,
        )

    def _lanes(self) -> list[Strand]:
        if self._strands is None:
            self._strands = self._debugger.lanes or [Strand(next(iter(self._debugger.course.names), "0"), "", "")]
        return self._strands

    def _thread(self, lane: str) -> int:
        return self._threads.setdefault(lane, len(self._threads) + 1)

    def _stack(self, lane: str) -> range:
        if lane not in self._stacks:
            there = not self._debugger.position.ended and any(one.lane == lane for one in self._lanes())
            frames = self._debugger.ask("stack", lane, kind=list[Frame]) if there else []
            self._stacks[lane] = range(len(self._frames), len(self._frames) + len(frames))
            self._frames += [At(lane, number, frame) for number, frame in enumerate(frames)]
        return self._stacks[lane]

    def _shown(self, number: int, frame: Frame) -> bodies.StackFrame:
        return bodies.StackFrame(
            id=number + 1,
            name=frame.function.rpartition(":")[2],
            line=frame.line,
            column=1,
            source=self._sources.of(frame.file),
            presentation_hint="" if frame.own else "subtle",
        )

    def _letters(self, inside: Inside, start: int, count: int) -> list[bodies.Variable]:
        ends = range(start * _LETTERS, min(start + count, -(-inside.count // _LETTERS)) * _LETTERS, _LETTERS)
        return [
            bodies.Variable(
                name=f"{begin:,}",
                value=self._debugger.ask("letters", inside.ref, begin, _LETTERS, kind=str),
                variables_reference=0,
            )
            for begin in ends
        ]

    def _scope(self, name: str, hint: str, inside: Inside | Sequence[Fact]) -> bodies.Scope:
        return bodies.Scope(
            name=name, presentation_hint=hint, variables_reference=self._open(inside), expensive=hint == "globals"
        )

    def _open(self, inside: Inside | Sequence[Fact]) -> int:
        self._opens.append(inside)
        return len(self._opens)

    def _opened(self, reference: int) -> Inside | Sequence[Fact]:
        if not 0 < reference <= len(self._opens):
            raise RefusedError(_GONE)
        return self._opens[reference - 1]


def _called(strand: Strand) -> str:
    """How a lane is called: its path, as `show` has it, its name, and what it waits for."""
    name = strand.name or ("main" if "." not in strand.lane else strand.thread)
    waiting = f" · waits for {', '.join(strand.waits_for)}" if strand.waits_for else ""
    return f"{strand.lane} {name}".rstrip() + waiting
