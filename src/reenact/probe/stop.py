"""Holds a replayed process still where a debugger wants it, and answers what it asks there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec
from msgspec.structs import replace

from reenact import _real
from reenact.engine.lane import MUTED, Lane, enter, get_lane, leave
from reenact.engine.session import Session
from reenact.probe.answers import RUNS_CODE, Answers
from reenact.probe.checkpoint import Checkpoints
from reenact.probe.fork import end_at_once
from reenact.probe.link import Link
from reenact.probe.messages import Answer, Ask, Call, Ended, Hit, Moment, Park, Place, Question, Run, Stopped, Stops
from reenact.probe.stack import stacks
from reenact.probe.trace import Error, Steps, Trace, the_agents
from reenact.probe.wanted import Back, Forward, FramesOf, place_of

_LINES = 1024  # after so many one looks whether somebody wants the process to stand
EVALUATES = 10  # seconds that an expression may take


class Probe:
    """What a debugger has inside of a process: the session's look at each event, and the listener of its tracing.

    `pid` is the process that the run is in.
    """

    def __init__(self, session: Session, descriptor: int) -> None:
        self._session = session
        self._link: Link[Question] = Link(descriptor, Question)
        self._checkpoints: Checkpoints | None = None
        self._run = Run()
        self.pid = _real.getpid()
        self._trace = Trace(self, session.fault)
        self._goal: Moment | None = None
        self._stops = Stops()
        self._forward: Forward | None = None
        self._back: Back | None = None
        self._passed: list[Call] = []
        session.look = self
        session.order.taken = self._turned
        session.boundary.counts = [0, 0, 0, 0]  # not those that copies would share

    def begin(self, folders: dict[str, str] | None) -> None:
        """The program is about to begin; it may change `folders`, see `Checkpoints`."""
        self._checkpoints = Checkpoints(self._session, self._link, folders)
        self._leave(first=True)
        self._stand(None)

    def end(self) -> None:
        """The program has ended."""
        self._trace.end()
        hit = self._back.found(None, None) if self._back is not None else None
        with contextlib.suppress(OSError):
            found, written = self._session.divergences, self._session.boundary.written()
            self._link.send(Ended(self._trace.moment, hit, self._passed, *self._met, found, self._diverged(), written))

    # What the session tells

    def __call__(self, lane: Lane) -> None:
        """The lane is about to make its next event. Never raises."""
        try:
            self._comes(lane, _real.getframe(1))
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent; the debugger is told
            self._session.fault(error)

    def _comes(self, lane: Lane, frame: FrameType) -> None:
        trace = self._trace
        trace.event += 1
        trace.line = 0
        call = lane.path, lane.events
        self._passed.append(call)
        woken = self._is_due() and self._leave()
        if woken or (self._goal is not None and self._goal <= trace.moment):
            self._stand(frame, call)
        elif self._link.waits():
            self._stand(frame, call, self._held(frame))
        elif self._back is not None:
            self._back.event(trace.moment, the_agents(frame), lane)
        elif self._forward is not None and (hit := self._forward.event(trace.moment, the_agents(frame), lane)):
            self._stand(frame, call, hit)
        self._see_lines(frame)

    def result(self) -> tuple[Any, list[Any]]:
        """Nothing is compared."""
        return None, []

    def _turned(self) -> None:
        """A thread goes on that has waited; it may be one that lines have not been seen of before."""
        if self._trace.on:
            self._trace.take_up(_real.getframe(1))

    # What the tracing tells

    def line(self, steps: Steps, frame: FrameType, lane: Lane) -> None:
        """The interpreter comes to a line of the agent's."""
        trace = self._trace
        if self._comes_to_goal():
            self._stand(frame)
        elif not trace.line % _LINES and self._link.waits():
            self._stand(frame, None, self._held(frame))
        elif self._back is not None:
            self._back.line(trace.moment, steps, frame, lane)
        elif self._forward is not None and (hit := self._forward.line(trace.moment, steps, frame, lane)):
            self._stand(frame, None, hit)

    def left(self, steps: Steps, frame: FrameType) -> None:
        """A frame of the agent's is left."""
        if self._back is not None:
            self._back.left(steps, frame)
        elif self._forward is not None and (hit := self._forward.left(steps, frame)):
            self._stand(frame, None, hit)

    def raised(self, frame: FrameType, error: Error, lane: Lane) -> None:
        """An exception comes through a frame of the agent's."""
        if self._comes_to_goal():
            self._stand(frame)
        elif self._back is not None:
            self._back.raised(self._trace.moment, frame, error, lane)
        elif self._forward is not None and (hit := self._forward.raised(self._trace.moment, frame, error, lane)):
            self._stand(frame, None, hit)

    def _held(self, frame: FrameType | None) -> Hit:
        return Hit("hold", self._trace.moment, _place(frame))

    def _comes_to_goal(self) -> bool:
        goal, trace = self._goal, self._trace
        return goal is not None and goal.event == trace.event and goal.line <= trace.line

    # Checkpoints

    def _is_due(self) -> bool:
        run, checkpoints = self._run, self._checkpoints
        if checkpoints is None or not run.spacing:
            return False
        return self._trace.event > run.after and checkpoints.due(run.spacing)

    def _leave(self, *, first: bool = False) -> bool:
        """Leaves a checkpoint. Whether this process begins at it, woken: it has forgotten what it was on its way to."""
        assert self._checkpoints is not None  # noqa: S101  callers have asked
        token = enter(MUTED)
        try:
            with self._session.order.still():
                leave_ = self._checkpoints.begin if first else self._checkpoints.leave
                woken = leave_(self._trace.moment)
        finally:
            leave(token)
        self._link, self.pid = self._checkpoints.link, _real.getpid()
        if woken:
            self._passed = []
            self._goal = self._forward = self._back = None
        return woken

    def _park(self, near: int) -> None:
        """Becomes a checkpoint, if it is one that is wanted, and can. Returns in each process that begins there."""
        if self._checkpoints is not None and self._checkpoints.due(near):
            self._checkpoints.become(self._trace.moment)
            self._link, self.pid = self._checkpoints.link, _real.getpid()

    # Standing still

    def _stand(self, frame: FrameType | None, call: Call | None = None, hit: Hit | None = None) -> None:
        """Stands still until the debugger sends the process on."""
        lane = get_lane()
        if self._back is not None and hit is None:
            hit = self._back.found(frame, lane)
        met = self._met
        self._goal = self._forward = self._back = None
        mine = the_agents(frame)
        path = lane.path if lane is not None else ""
        token = enter(MUTED)
        try:
            with self._session.order.still():
                here = Stopped(self._trace.moment, path, _place(mine), call, diverged=self._diverged())
                question = self._asked(here, met, hit, lambda: Answers(self._session, frame, lane))
        finally:
            leave(token)
        self._set_out(question, mine, path, lambda wanted: self._frames_of(wanted, frame, lane))
        if self._back is not None and call is not None and lane is not None:
            self._back.event(self._trace.moment, mine, lane)  # whoever comes back to a checkpoint has not met its call
        self._see_lines(frame)

    def _asked(
        self, here: Stopped, met: tuple[dict[int, str], dict[int, int]], hit: Hit | None, begun: Callable[[], Answers]
    ) -> Run:
        """Tells where the process stands, and answers what it is asked until it is sent on: that."""
        faults, hits = met
        self._tell(replace(here, hit=hit, passed=self._passed, faults=faults, hits=hits, obstacle=self._obstacle()))
        self._passed = []
        answers = begun()
        while not isinstance(question := self._next(), Run):
            if isinstance(question, Park):
                self._park(question.near)
                self._tell(replace(here, obstacle=self._obstacle()))
                answers = begun()
            else:
                self._answer(answers, question)
        answers.forget()
        return question

    def _answer(self, answers: Answers, question: Question) -> None:
        """Answers; what runs code of the program's does so in a copy of this process, if there can be one."""
        if not isinstance(question, Ask):
            return
        if question.name not in RUNS_CODE:
            self._tell(answers.answer(question))
        elif self._checkpoints is None or not self._checkpoints.can_copy():
            self._tell(replace(answers.answer(question), spoiled=True))
        else:
            ended = Answer(error=f"it took more than {EVALUATES} s, or ended its process")
            self._tell(self._checkpoints.aside(lambda: answers.answer(question), EVALUATES) or ended)

    def _obstacle(self) -> str:
        return self._checkpoints.obstacle if self._checkpoints is not None else ""

    def _frames_of(self, wanted: str, frame: FrameType | None, lane: Lane | None) -> list[FrameType]:
        """The functions of a lane, while the process stands in `frame`, and in `lane`."""
        return next((one.frames for one in stacks(self._session, frame, lane) if one.lane == wanted), [])

    def _set_out(self, run: Run, frame: FrameType | None, lane: str, frames_of: FramesOf) -> None:
        stops, self._run = run.stops, run
        self._goal, self._stops = run.goal, stops
        if _traced(stops):
            self._trace.begin(frame)  # so that each frame has its number
        if run.back:
            self._back = Back(stops, frame, self._trace.moment, frames_of)
        else:
            self._forward = Forward(stops, frame, lane, frames_of)

    def _see_lines(self, frame: FrameType | None) -> None:
        """Turns tracing on where lines count from here on, and off where they do not."""
        goal, trace = self._goal, self._trace
        near = goal is not None and goal.event == trace.event and goal.line > trace.line
        if near or _traced(self._stops):
            trace.begin(frame)
        else:
            trace.end()

    def _diverged(self) -> str:
        if self._session.faults:
            return f"a fault of reenact's own: {self._session.faults[0].rstrip().rpartition(chr(10))[2]}"
        return next((str(one.what) for one in self._session.divergences), "")

    @property
    def _met(self) -> tuple[dict[int, str], dict[int, int]]:
        """What went wrong with conditions, and how often breakpoints were met."""
        way = self._back or self._forward
        return (way.marks.faults, way.marks.hits) if way is not None else ({}, {})

    def _next(self) -> Question:
        try:
            return self._link.receive()[0]
        except (EOFError, OSError):
            end_at_once()

    def _tell(self, message: msgspec.Struct) -> None:
        try:
            self._link.send(message)
        except OSError:
            end_at_once()


def _traced(stops: Stops) -> bool:
    """Whether lines have to be seen for it."""
    return bool(stops.motion or stops.breaks or stops.watches or stops.raised)


def _place(frame: FrameType | None) -> Place | None:
    mine = the_agents(frame)
    return place_of(mine) if mine is not None else None
