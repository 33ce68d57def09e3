"""What editors ask with. What they may send besides and we have no use for is left out.

https://microsoft.github.io/debug-adapter-protocol/specification#Requests
"""

from __future__ import annotations

import msgspec


class Arguments(msgspec.Struct, frozen=True, rename="camel"):
    """None, or none that we use."""


class Initialize(Arguments, frozen=True):
    """`lines_start_at1`: lines are counted from 1, which is the protocol's default."""

    lines_start_at1: bool = msgspec.field(name="linesStartAt1", default=True)
    columns_start_at1: bool = msgspec.field(name="columnsStartAt1", default=True)
    path_format: str = "path"
    supports_invalidated_event: bool = False


class Launch(Arguments, frozen=True):
    """`run` as on a command line, also `last` and `run@step`; `cwd` is where the store is looked for.

    `stop_at_end`: the session stays when the run has come to its end, so that one can go back from there.
    """

    run: str
    step: int | None = None
    store: str | None = None
    cwd: str | None = None
    stop_on_entry: bool = False
    stop_at_end: bool = True


class Cancel(Arguments, frozen=True):
    """Which request is not wanted any more."""

    request_id: int | None = None


class Source(msgspec.Struct, frozen=True, rename="camel"):
    """A file, by its path, or by a number that we gave to a source that is no file."""

    name: str | None = None
    path: str | None = None
    source_reference: int | None = None


class SourceBreakpoint(msgspec.Struct, frozen=True, rename="camel"):
    """A line to stop at."""

    line: int
    condition: str | None = None
    hit_condition: str | None = None


class SetBreakpoints(Arguments, frozen=True):
    """All that stand in one source."""

    source: Source
    breakpoints: list[SourceBreakpoint] = []
    lines: list[int] = []


class FunctionBreakpoint(msgspec.Struct, frozen=True, rename="camel"):
    """A function, or a tool, to stop at."""

    name: str
    condition: str | None = None
    hit_condition: str | None = None


class SetFunctionBreakpoints(Arguments, frozen=True):
    """All of them."""

    breakpoints: list[FunctionBreakpoint]


class ExceptionFilterOption(msgspec.Struct, frozen=True, rename="camel"):
    """One of our filters, with the classes that it is about."""

    filter_id: str
    condition: str | None = None


class SetExceptionBreakpoints(Arguments, frozen=True):
    """The filters that are on."""

    filters: list[str] = []
    filter_options: list[ExceptionFilterOption] = []


class DataBreakpointInfo(Arguments, frozen=True):
    """A variable of a container, or an expression in a frame, that might be watched."""

    name: str
    variables_reference: int | None = None
    frame_id: int | None = None


class DataBreakpoint(msgspec.Struct, frozen=True, rename="camel"):
    """What is watched: an id that we gave."""

    data_id: str
    condition: str | None = None
    hit_condition: str | None = None


class SetDataBreakpoints(Arguments, frozen=True):
    """All of them."""

    breakpoints: list[DataBreakpoint]


class BreakpointLocations(Arguments, frozen=True):
    """Lines of a source that one asks about."""

    source: Source
    line: int
    end_line: int | None = None


class StackTrace(Arguments, frozen=True):
    """So many frames of a thread, from the innermost on."""

    thread_id: int
    start_frame: int | None = None
    levels: int | None = None


class Scopes(Arguments, frozen=True):
    """A frame."""

    frame_id: int


class Variables(Arguments, frozen=True):
    """So many of what a reference opens."""

    variables_reference: int
    start: int | None = None
    count: int | None = None


class Evaluate(Arguments, frozen=True):
    """An expression, in a frame. `context` is `repl`, `hover`, `watch`, …."""

    expression: str
    frame_id: int | None = None
    context: str = ""


class Completions(Arguments, frozen=True):
    """A line that is being written, up to a column, counted from 1."""

    text: str
    column: int
    frame_id: int | None = None


class Move(Arguments, frozen=True):
    """Any motion."""

    thread_id: int = 0


class GotoTargets(Arguments, frozen=True):
    """A line that one wants to go to."""

    source: Source
    line: int


class Goto(Arguments, frozen=True):
    """One of the targets that we named."""

    thread_id: int
    target_id: int


class SourceOf(Arguments, frozen=True):
    """A source that is no file."""

    source_reference: int
    source: Source | None = None


class ExceptionInfo(Arguments, frozen=True):
    """A thread that stands at an exception."""

    thread_id: int
