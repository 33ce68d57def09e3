"""The run of a session: how it is moved, and what the editor is told when it stands again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from reenact import _real
from reenact.debugger.dap import arguments, bodies
from reenact.debugger.dap.breaks import Breaks
from reenact.debugger.dap.console import Console, facts
from reenact.debugger.dap.server import RefusedError
from reenact.debugger.dap.sources import Sources
from reenact.debugger.dap.standing import At, Standing
from reenact.debugger.dap.targets import Motion, Targets
from reenact.debugger.dap.words import Say, Words
from reenact.debugger.output import Written
from reenact.debugger.session import Debugger, Stop, Why
from reenact.launch import manifest as manifests
from reenact.launch.settings import Settings
from reenact.tape.recording import Recording

_BEGIN: Final = "the beginning of the run"
_INSISTS: Final = 0.1  # seconds between requests to stand
_TRIES: Final = 20  # after so many it is ended instead, and another stands where it began
_SAID: Final = {
    Why.STEP: ("step", "Paused"),
    Why.BREAKPOINT: ("breakpoint", "Paused on a breakpoint"),
    Why.WATCH: ("data breakpoint", "Paused on a change"),
    Why.EXCEPTION: ("exception", "Paused on an exception"),
    Why.BEGIN: ("entry", "The beginning of the run"),
    Why.END: ("pause", "The end of the run"),
    Why.NOWHERE: ("pause", "There is no such place, so this is where it was"),
    Why.INTERRUPTED: ("pause", "Paused"),
    Why.GONE: ("pause", "The process of the replay died; another stands where it was"),
}
"""What a motion came to, in the protocol's word and in the editor's title."""


class Departure(NamedTuple):
    """Where a motion began: how many calls had begun, and whether it was the end."""

    calls: int
    ended: bool


class Editor(Protocol):
    """Who is told."""

    def say(self, event: str, body: bodies.Body | None = None) -> None:
        """Tells it something."""

    def begin(self, work: Callable[[], None]) -> None:
        """Has something done in the thread of the run, after what waits there."""


class Mover:
    """One run. What is not said to be for the loop belongs to the thread of the run."""

    def __init__(self, editor: Editor, recording: Recording, say: Say, *, stop_at_end: bool) -> None:
        self.debugger = Debugger(recording, Settings.of_run(manifests.decode(recording.manifest).cwd))
        self.standing: Standing | None = None
        self.moving = False
        self.threads: list[bodies.Thread] = []
        self.breaks = Breaks(self.debugger)
        self.sources = Sources(self.debugger)
        self.targets = Targets(self.debugger)
        self.stop: Stop | None = None
        self._editor = editor
        self._recording = recording
        self._stop_at_end = stop_at_end
        self._words = Words(self.debugger, say)
        self._console = Console(recording, self.debugger.course.steps)
        self._numbers: dict[str, int] = {}
        self._written: Written = {}
        self._paused = False
        self._changes = 0  # of breakpoints that wait for the run to stand
        self._put_off: Callable[[], None] | None = None  # the motion that goes on after these

    # For the loop

    def set_out(self) -> None:
        """The run is about to move."""
        self.moving = True
        self.standing = None

    def pause(self) -> None:
        """Has the run stand still where it is."""
        if self.moving:
            self._paused = True
            self._insist()

    def hold(self) -> None:
        """Has the run stand still for a `change`, after which it goes on."""
        self._changes += 1
        if self.moving:
            self._insist()

    # Moving

    def begin(self, step: int | None, *, stop: bool) -> None:
        """From the beginning to a step, to the first line, or on."""
        self.set_out()
        self.debugger.to_begin()
        self._written = {}
        if step is not None:
            self.move(lambda debugger: debugger.to_step(step), "entry")
        elif stop:
            self.move(lambda debugger: debugger.step(), "entry")
        else:
            self.move(lambda debugger: debugger.resume())

    def move(self, motion: Motion, reason: str = "") -> None:
        """Moves, and tells what came of it. `reason` is the protocol's word for having got where it was to go."""
        departure = self._departure()
        stop = motion(self.debugger) if not self._waited_for else None
        if (stop is None or stop.why is Why.INTERRUPTED) and self._changes and not self._paused:
            self._put_off = lambda: self.move(motion, reason)
            return
        self._arrive(stop, departure, reason)

    def change(self, work: Callable[[Breaks], bodies.Body]) -> bodies.Body:
        """Changes breakpoints; a motion that has been held for it goes on."""
        try:
            return work(self.breaks)
        finally:
            self._changes -= 1
            if not self._changes and self._put_off is not None:
                self._editor.begin(self._put_off)
                self._put_off = None

    def list_threads(self) -> bodies.Threads:
        """All lanes; they are told again while the run moves."""
        if self.standing is not None:
            self.threads = self.standing.threads()
        return bodies.Threads(threads=self.threads)

    def end(self) -> None:
        """Ends all processes."""
        self.debugger.end()

    def evaluate(self, standing: Standing, given: arguments.Evaluate) -> bodies.Evaluated:
        """What an expression gives, or a word of the console's says; a word may move the run."""
        at = standing.frame(given.frame_id) if given.frame_id else standing.innermost()
        if given.context == "repl" and self._words.is_one(given.expression, at):
            return bodies.Evaluated(result=self._do(given.expression, at, standing), variables_reference=0)
        if at is None:
            raise RefusedError("no function of the program runs here, in which that could mean something")
        found = standing.value(given.expression, at)
        return bodies.Evaluated(
            result=found.value,
            type=found.type,
            variables_reference=found.variables_reference,
            indexed_variables=found.indexed_variables,
            named_variables=found.named_variables,
        )

    def complete(self, standing: Standing, given: arguments.Completions) -> bodies.Completions:
        """What a half-written line of the console may become."""
        at = standing.frame(given.frame_id) if given.frame_id else standing.innermost()
        found = self._words.completed(given.text[: max(given.column - 1, 0)], at)
        return bodies.Completions(targets=[bodies.CompletionItem(label=one) for one in found])

    def _do(self, text: str, at: At | None, standing: Standing) -> str:
        self.set_out()
        departure, stop = self._departure(), None
        try:
            said, stop = self._words.do(text, at)
        finally:
            if stop is None:
                self.standing, self.moving = standing, False
        if stop is not None:
            self._editor.begin(lambda: self._come(stop, departure))
        return said

    def _come(self, stop: Stop, departure: Departure) -> None:
        thread = self._numbers.get(self.debugger.position.lane, 1)
        self._editor.say("continued", bodies.ThreadContinued(thread_id=thread, all_threads_continued=True))
        self._arrive(stop, departure, "goto")

    def loaded(self) -> bodies.Sources:
        """The files of the program's own that a call on tape comes from."""
        sites = [event.site.file for event in self._recording.events if event.site is not None]
        return bodies.Sources(sources=[self.sources.of(file) for file in dict.fromkeys(sites)])

    def exception(self) -> bodies.ExceptionInfo:
        """That at which the run stands.

        Raises:
            RefusedError: it stands at none.
        """
        if self.stop is None or self.stop.why is not Why.EXCEPTION:
            raise RefusedError("the run stands at no exception")
        name, _, words = self.stop.text.partition(": ")
        mode = "unhandled" if self.breaks.is_uncaught(self.stop.numbers) else "always"
        details = bodies.ExceptionDetails(message=words, type_name=name)
        return bodies.ExceptionInfo(exception_id=name, break_mode=mode, description=self.stop.text, details=details)

    # Telling

    def _departure(self) -> Departure:
        return Departure(len(self.debugger.past), self.debugger.position.ended)

    def _arrive(self, stop: Stop | None, departure: Departure, reason: str) -> None:
        self._paused = False
        self._tell_passed(departure.calls)
        if stop is not None and stop.why is Why.END and (departure.ended or not self._stop_at_end):
            self.moving = False
            self._terminate()
            return
        self.stop = stop
        self._stand(stop, reason)

    def _stand(self, stop: Stop | None, reason: str) -> None:
        position = self.debugger.position
        label = _BEGIN
        if position.ended:
            label = f"the end of the run: exit status {self._status}"
        step = self.debugger.course.steps[position.step - 1] if position.step else None
        standing = Standing(self.debugger, self.sources, self._numbers, label, facts(step) if step is not None else [])
        told = self._told(stop, reason, standing.thread())
        self.threads = standing.threads()
        self.standing, self.moving = standing, False
        self._editor.say("stopped", told)

    def _told(self, stop: Stop | None, reason: str, thread: int) -> bodies.Stopped:
        numbers = list(stop.numbers) if stop is not None else []
        why = stop.why if stop is not None else Why.INTERRUPTED
        word, said = _SAID[why]
        if why is Why.STEP:
            word = reason or word
        elif why is Why.BREAKPOINT:
            word = self.breaks.reason(numbers)
        text = stop.text if stop is not None else ""
        if stop is not None and why is Why.WATCH and stop.place is not None:
            text = f"{text} at {Path(stop.place.file).name}:{stop.place.line}"
        for number, fault in (stop.faults if stop is not None else {}).items():
            self._say(f"the condition of breakpoint {number} failed: {fault}")
        if stop is not None and stop.diverged:
            self._say(f"the replay left its tape ({stop.diverged}): reenact verify {self._name} says where and why")
        step = self.debugger.position.step
        return bodies.Stopped(
            reason=word,
            thread_id=thread,
            all_threads_stopped=True,
            description=f"{said} · step {step}" if step else said,
            text=text,
            hit_breakpoint_ids=numbers,
        )

    def _tell_passed(self, before: int) -> None:
        """The steps that have begun since, and what was written."""
        for line in self._console.passed(self.debugger.past[before:]):
            self._say(line)
        written = self.debugger.written
        for piece in self.debugger.output.between(self._written, written):
            self._editor.say("output", bodies.Output(category=piece.stream, output=piece.text))
        self._written = written

    def _terminate(self) -> None:
        self._editor.say("exited", bodies.Exited(exit_code=self._status))
        self._editor.say("terminated")

    def _say(self, line: str) -> None:
        self._editor.say("output", bodies.Output(category="console", output=f"{line}\n"))

    @property
    def _name(self) -> str:
        return self.debugger.course.manifest.run_id

    @property
    def _status(self) -> int:
        return self._recording.status or 0

    # Standing still

    @property
    def _waited_for(self) -> bool:
        return self._paused or bool(self._changes)

    def _insist(self) -> None:
        """Has the run stand, however far it has set out."""

        def insist() -> None:
            tries = 0
            while self.moving and self._waited_for and self._put_off is None:
                tries += 1
                if tries < _TRIES:
                    self.debugger.hold()
                else:
                    self.debugger.interrupt()
                _real.sleep(_INSISTS)

        threading.Thread(target=insist, name="interrupt", daemon=True).start()
