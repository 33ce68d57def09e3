"""What editors ask, answered from a run: one method for each request of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from reenact.debugger.dap import arguments, bodies, breaks
from reenact.debugger.dap.breaks import Breaks
from reenact.debugger.dap.messages import Request
from reenact.debugger.dap.mover import Mover
from reenact.debugger.dap.server import Answer, Asked, Begun, Log, RefusedError, Server, Stream
from reenact.debugger.dap.standing import Standing
from reenact.debugger.dap.targets import Motion
from reenact.debugger.dap.words import Say
from reenact.errors import ReenactError
from reenact.launch import manifest as manifests
from reenact.tape.reader import read
from reenact.tape.store import Store

CAPABILITIES: Final = bodies.Capabilities(
    supports_configuration_done_request=True,
    supports_step_back=True,
    supports_conditional_breakpoints=True,
    supports_hit_conditional_breakpoints=True,
    supports_function_breakpoints=True,
    supports_exception_filter_options=True,
    exception_breakpoint_filters=breaks.FILTERS,
    supports_exception_info_request=True,
    supports_evaluate_for_hovers=True,
    supports_completions_request=True,
    supports_data_breakpoints=True,
    supports_restart_request=True,
    supports_terminate_request=True,
    supports_goto_targets_request=True,
    supports_loaded_sources_request=True,
    supports_breakpoint_locations_request=True,
    supports_cancel_request=True,
    supports_delayed_stack_trace_loading=True,
)
ATTACH: Final = 'a recorded run is launched, not attached to: "request": "launch", with the name of the run in "run"'
MOVES: Final = "the run is moving: pause it first"


class _Handler(NamedTuple):
    kind: type[arguments.Arguments]
    answer: Callable[[Any, Any], Answer]


_HANDLERS: Final[dict[str, _Handler]] = {}

type_of_method = TypeVar("type_of_method", bound=Callable[[Any, Any], Answer])


def _on(
    *commands: str, kind: type[arguments.Arguments] = arguments.Arguments
) -> Callable[[type_of_method], type_of_method]:
    """Marks the method that answers a request, and what the arguments are."""

    def mark(method: type_of_method) -> type_of_method:
        for command in commands:
            _HANDLERS[command] = _Handler(kind, method)
        return method

    return mark


def serve(stream: Stream, log: Log, store: str | None, say: Say) -> None:
    """Serves one editor until it is done, or gone. `store` is where runs are looked for, unless it says where."""
    server = Server(stream, log)
    server.serve(RunAdapter(server, store, say))


class RunAdapter:
    """One editor, and the run that it moves about in."""

    def __init__(self, server: Server, store: str | None, say: Say) -> None:
        self.done = False
        self._server = server
        self._store = store
        self._say = say
        self._launched: arguments.Launch | None = None
        self._opened: Mover | None = None

    def answer(self, request: Request) -> Answer:
        """The answer to a request."""
        handler = _HANDLERS.get(request.command)
        if handler is None:
            raise RefusedError(f"{request.command} is none of what this can do")
        given = request.arguments if bytes(request.arguments) != b"null" else b"{}"
        return handler.answer(self, msgspec.json.decode(given, type=handler.kind))

    def interrupt(self) -> None:
        """Has the run stand still."""
        if self._opened is not None:
            self._opened.pause()

    def end(self) -> None:
        """Lets go of the run."""
        if self._opened is not None:
            self._opened.end()

    # The session

    @_on("initialize", kind=arguments.Initialize)
    def _initialize(self, _given: arguments.Initialize) -> Answer:
        return CAPABILITIES

    @_on("launch", kind=arguments.Launch)
    def _launch(self, given: arguments.Launch) -> Answer:
        if self._launched is not None:
            raise RefusedError("a run has been launched already")
        self._launched = given
        return Asked(lambda: self._open(given))

    def _open(self, given: arguments.Launch) -> None:
        try:
            store = Store.find(Path(given.cwd or Path.cwd()), given.store or self._store)
            recording = read(store.resolve(given.run))
            told = manifests.decode(recording.manifest)
            line = f"replaying {told.run_id}, offline: {told.command} in {told.cwd}, with {told.executable}\n"
            self._server.say("output", bodies.Output(category="console", output=line))
            self._opened = Mover(self._server, recording, self._say, stop_at_end=given.stop_at_end)
            if given.step is not None:
                self._opened.debugger.course.call_of_step(given.step)
        except ReenactError as error:
            raise RefusedError(str(error), show=True) from error
        self._server.say("initialized")

    @_on("attach")
    def _attach(self, _given: arguments.Arguments) -> Answer:
        raise RefusedError(ATTACH, show=True)

    @_on("configurationDone", "restart")
    def _begin(self, _given: arguments.Arguments) -> Answer:
        given = self._launched
        if given is None:
            raise RefusedError("no run has been launched")
        mover = self._mover
        mover.pause()
        return Begun(lambda: mover.begin(given.step, stop=given.stop_on_entry))

    @_on("disconnect")
    def _disconnect(self, _given: arguments.Arguments) -> Answer:
        self.done = True
        return None

    @_on("terminate")
    def _terminate(self, _given: arguments.Arguments) -> Answer:
        self.interrupt()
        return Begun(lambda: self._server.say("terminated"))

    @_on("cancel", kind=arguments.Cancel)
    def _cancel(self, given: arguments.Cancel) -> Answer:
        if given.request_id is not None:
            self._server.cancel(given.request_id)
        return None

    # Motions

    @_on("next", kind=arguments.Move)
    def _next(self, _given: arguments.Move) -> Answer:
        return self._moves(lambda debugger: debugger.next())

    @_on("stepIn", kind=arguments.Move)
    def _step_in(self, _given: arguments.Move) -> Answer:
        return self._moves(lambda debugger: debugger.step())

    @_on("stepOut", kind=arguments.Move)
    def _step_out(self, _given: arguments.Move) -> Answer:
        return self._moves(lambda debugger: debugger.out())

    @_on("stepBack", kind=arguments.Move)
    def _step_back(self, _given: arguments.Move) -> Answer:
        return self._moves(lambda debugger: debugger.reverse_next())

    @_on("continue", kind=arguments.Move)
    def _continue(self, _given: arguments.Move) -> Answer:
        return self._moves(lambda debugger: debugger.resume(), bodies.Continued(all_threads_continued=True))

    @_on("reverseContinue", kind=arguments.Move)
    def _reverse_continue(self, _given: arguments.Move) -> Answer:
        return self._moves(lambda debugger: debugger.reverse_resume())

    @_on("gotoTargets", kind=arguments.GotoTargets)
    def _goto_targets(self, given: arguments.GotoTargets) -> Answer:
        return self._mover.targets.of(given)

    @_on("goto", kind=arguments.Goto)
    def _goto(self, given: arguments.Goto) -> Answer:
        return self._moves(self._mover.targets.motion(given.target_id), reason="goto")

    @_on("pause", kind=arguments.Move)
    def _pause(self, _given: arguments.Move) -> Answer:
        mover = self._mover
        mover.pause()
        return None

    def _moves(self, motion: Motion, body: bodies.Body | None = None, *, reason: str = "") -> Begun:
        mover = self._mover
        if mover.moving:
            raise RefusedError(MOVES, short="notStopped")
        mover.set_out()
        return Begun(lambda: mover.move(motion, reason), body)

    # Breakpoints

    @_on("setBreakpoints", kind=arguments.SetBreakpoints)
    def _set_lines(self, given: arguments.SetBreakpoints) -> Answer:
        return self._sets(lambda its: its.set_lines(given))

    @_on("setFunctionBreakpoints", kind=arguments.SetFunctionBreakpoints)
    def _set_functions(self, given: arguments.SetFunctionBreakpoints) -> Answer:
        return self._sets(lambda its: its.set_functions(given))

    @_on("setExceptionBreakpoints", kind=arguments.SetExceptionBreakpoints)
    def _set_exceptions(self, given: arguments.SetExceptionBreakpoints) -> Answer:
        return self._sets(lambda its: its.set_exceptions(given))

    @_on("setDataBreakpoints", kind=arguments.SetDataBreakpoints)
    def _set_watches(self, given: arguments.SetDataBreakpoints) -> Answer:
        return self._sets(lambda its: its.set_watches(given))

    @_on("dataBreakpointInfo", kind=arguments.DataBreakpointInfo)
    def _data_info(self, given: arguments.DataBreakpointInfo) -> Answer:
        return self._sees(lambda standing: breaks.data_info(standing, given))

    @_on("breakpointLocations", kind=arguments.BreakpointLocations)
    def _locations(self, given: arguments.BreakpointLocations) -> Answer:
        return breaks.locations(given)

    def _sets(self, change: Callable[[Breaks], bodies.Body]) -> Asked:
        """A change of breakpoints: a motion that goes on is held for it."""
        mover = self._mover
        mover.hold()
        return Asked(lambda: mover.change(change))

    # What is seen

    @_on("threads")
    def _threads(self, _given: arguments.Arguments) -> Answer:
        mover = self._mover
        if mover.standing is None:
            return bodies.Threads(threads=mover.threads)
        return Asked(mover.list_threads)

    @_on("stackTrace", kind=arguments.StackTrace)
    def _stack(self, given: arguments.StackTrace) -> Answer:
        return self._sees(lambda standing: standing.stack(given))

    @_on("scopes", kind=arguments.Scopes)
    def _scopes(self, given: arguments.Scopes) -> Answer:
        return self._sees(lambda standing: standing.scopes(given))

    @_on("variables", kind=arguments.Variables)
    def _variables(self, given: arguments.Variables) -> Answer:
        return self._sees(lambda standing: standing.variables(given))

    @_on("evaluate", kind=arguments.Evaluate)
    def _evaluate(self, given: arguments.Evaluate) -> Answer:
        mover = self._mover
        return self._sees(lambda standing: mover.evaluate(standing, given))

    @_on("completions", kind=arguments.Completions)
    def _completions(self, given: arguments.Completions) -> Answer:
        mover = self._mover
        return self._sees(lambda standing: mover.complete(standing, given))

    @_on("exceptionInfo", kind=arguments.ExceptionInfo)
    def _exception(self, _given: arguments.ExceptionInfo) -> Answer:
        return self._mover.exception()

    @_on("loadedSources")
    def _sources(self, _given: arguments.Arguments) -> Answer:
        return self._mover.loaded()

    @_on("source", kind=arguments.SourceOf)
    def _source(self, given: arguments.SourceOf) -> Answer:
        sources = self._mover.sources
        return self._sees(lambda _standing: sources.text(given.source_reference))

    def _sees(self, look: Callable[[Standing], bodies.Body]) -> Asked:
        standing = self._mover.standing
        if standing is None:
            raise RefusedError(MOVES, short="notStopped")
        return Asked(lambda: look(standing))

    @property
    def _mover(self) -> Mover:
        if self._opened is None:
            raise RefusedError("no run has been launched")
        return self._opened
