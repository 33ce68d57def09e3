"""What our answers and events hold.

https://microsoft.github.io/debug-adapter-protocol/specification#Types
"""

from __future__ import annotations

import msgspec


class Body(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What stands at its default is not sent."""


class ExceptionBreakpointsFilter(Body, frozen=True):
    """A box that the editor shows for exceptions."""

    filter: str
    label: str
    description: str = ""
    default: bool = False
    supports_condition: bool = False
    condition_description: str = ""


class Capabilities(Body, frozen=True):
    """What can be asked of us."""

    supports_configuration_done_request: bool = False
    supports_step_back: bool = False
    supports_conditional_breakpoints: bool = False
    supports_hit_conditional_breakpoints: bool = False
    supports_function_breakpoints: bool = False
    supports_exception_filter_options: bool = False
    exception_breakpoint_filters: list[ExceptionBreakpointsFilter] = []
    supports_exception_info_request: bool = False
    supports_evaluate_for_hovers: bool = False
    supports_completions_request: bool = False
    supports_data_breakpoints: bool = False
    supports_restart_request: bool = False
    supports_terminate_request: bool = False
    supports_goto_targets_request: bool = False
    supports_loaded_sources_request: bool = False
    supports_breakpoint_locations_request: bool = False
    supports_cancel_request: bool = False
    supports_delayed_stack_trace_loading: bool = False


class Message(Body, frozen=True):
    """What went wrong, for people; `id` is a number of ours for the sort of it."""

    id: int
    format: str
    show_user: bool = False


class ErrorBody(Body, frozen=True):
    """The body of an answer that is none."""

    error: Message


class Source(Body, frozen=True):
    """A file, or a text that `source` answers with."""

    name: str
    path: str = ""
    source_reference: int = 0
    presentation_hint: str = ""
    origin: str = ""


class Breakpoint(Body, frozen=True):
    """Where a breakpoint has really come to stand, or why it has not."""

    verified: bool
    id: int | None = None
    line: int | None = None
    message: str = ""
    source: Source | None = None


class Breakpoints(Body, frozen=True):
    """One for each that was asked for."""

    breakpoints: list[Breakpoint]


class BreakpointLocation(Body, frozen=True):
    """A line at which a breakpoint may stand."""

    line: int


class BreakpointLocations(Body, frozen=True):
    """Those among the lines that one asked about."""

    breakpoints: list[BreakpointLocation]


class DataBreakpointInfo(Body, frozen=True):
    """Whether something can be watched: `data_id` is None where not, and `description` says why."""

    data_id: str | None
    description: str
    access_types: list[str] = []
    can_persist: bool = False


class Thread(Body, frozen=True):
    """A lane."""

    id: int
    name: str


class Threads(Body, frozen=True):
    """All lanes."""

    threads: list[Thread]


class StackFrame(Body, frozen=True):
    """A function that runs. `presentation_hint`: `subtle` for libraries, `label` for what is no function."""

    id: int
    name: str
    line: int
    column: int
    source: Source | None = None
    presentation_hint: str = ""


class StackTrace(Body, frozen=True):
    """Functions, the innermost first."""

    stack_frames: list[StackFrame]
    total_frames: int


class Scope(Body, frozen=True):
    """Some of the variables of a frame."""

    name: str
    variables_reference: int
    expensive: bool
    presentation_hint: str = ""
    named_variables: int | None = None


class Scopes(Body, frozen=True):
    """Those of a frame."""

    scopes: list[Scope]


class Variable(Body, frozen=True):
    """A value. `evaluate_name` is the expression that gives it."""

    name: str
    value: str
    variables_reference: int
    type: str = ""
    evaluate_name: str = ""
    indexed_variables: int | None = None
    named_variables: int | None = None


class Variables(Body, frozen=True):
    """A page of values."""

    variables: list[Variable]


class Evaluated(Body, frozen=True):
    """What an expression gives."""

    result: str
    variables_reference: int
    type: str = ""
    indexed_variables: int | None = None
    named_variables: int | None = None


class CompletionItem(Body, frozen=True):
    """What a word may become."""

    label: str


class Completions(Body, frozen=True):
    """All of these."""

    targets: list[CompletionItem]


class Continued(Body, frozen=True):
    """Whether all lanes have gone on: they always do."""

    all_threads_continued: bool


class GotoTarget(Body, frozen=True):
    """A moment to go to."""

    id: int
    label: str
    line: int


class GotoTargets(Body, frozen=True):
    """Those that a line has."""

    targets: list[GotoTarget]


class Sources(Body, frozen=True):
    """Files."""

    sources: list[Source]


class Content(Body, frozen=True):
    """The text of a source."""

    content: str
    mime_type: str = "text/x-python"


class ExceptionDetails(Body, frozen=True):
    """The same, in parts."""

    message: str = ""
    type_name: str = ""


class ExceptionInfo(Body, frozen=True):
    """The exception at which a lane stands."""

    exception_id: str
    break_mode: str
    description: str = ""
    details: ExceptionDetails | None = None


class Stopped(Body, frozen=True):
    """The run stands still. `description` is short, `text` says more."""

    reason: str
    thread_id: int
    all_threads_stopped: bool
    description: str = ""
    text: str = ""
    preserve_focus_hint: bool = False
    hit_breakpoint_ids: list[int] = []


class ThreadContinued(Body, frozen=True):
    """The run goes on, though the editor did not ask for it."""

    thread_id: int
    all_threads_continued: bool


class Output(Body, frozen=True):
    """Something for the debug console."""

    category: str
    output: str


class Exited(Body, frozen=True):
    """The exit status of the program."""

    exit_code: int


class Invalidated(Body, frozen=True):
    """What the editor should ask for again."""

    areas: list[str]


class BreakpointChanged(Body, frozen=True):
    """A breakpoint is other than what we said when it was set."""

    reason: str
    breakpoint: Breakpoint
