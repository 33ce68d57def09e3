"""A run as something to move about in: to any moment of it, forward and back."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Any, Self, TypeVar

import msgspec

from reenact.debugger.memory import available
from reenact.debugger.process import Checkpoint, GoneError, Process, Root
from reenact.launch.settings import Settings
from reenact.probe.checkpoint import MOST
from reenact.probe.messages import At, Call, Ended, Moment, Run, Stopped, Stops
from reenact.tape.recording import Recording

SPACING = 20_000_000
"""Of checkpoints: ns of processor time. On a long way it grows, see `probe.checkpoint`."""
NEAR = 80_000_000
"""An event that somebody leaves, where a process stood, is one when the last is so far away (likewise). A nearer one
would save little, and what comes next had to take new memory, not that of the process that is left."""
STOOD = 4
"""Of these, so many are kept, the latest: memory does not grow with the places where somebody was."""
SCARCE = 0.2
"""Where less than that part of the memory is left, two go for each that comes."""
NOWHERE = Stops()
_FEW = 8

type_of_answer = TypeVar("type_of_answer")


class Timeline:
    """One run, and the process that stands at the present moment of it.

    Without `checkpoints`, and where there can be none, whatever lies before the present is reached by running again.
    """

    def __init__(self, recording: Recording, settings: Settings | None = None, *, checkpoints: bool = True) -> None:
        self.recording = recording
        self._settings = settings
        self._spacing = SPACING if checkpoints else 0
        self._calls: list[Call] = []  # in the order of the run, as far as anybody has been
        self._events: dict[Call, int] = {}
        self._checkpoints: list[Checkpoint] = []
        self._stood: list[Checkpoint] = []  # where somebody was, the latest last
        self._roots: list[Root] = []
        self._at = self._fresh()

    @property
    def told(self) -> Stopped | Ended:
        """Where the run stands."""
        return self._at.told

    @property
    def moment(self) -> Moment:
        """The present."""
        return self._at.told.moment

    @property
    def past(self) -> Sequence[Call]:
        """The calls that have begun by now, in their order."""
        return self._calls[: self.moment.event]

    @property
    def checkpoints(self) -> list[Moment]:
        """The moments that are held."""
        return [one.moment for one in self._checkpoints]

    def ask(self, name: str, *args: Any, kind: type[type_of_answer]) -> type_of_answer:
        """What the process of the present answers, as a `kind`.

        Raises:
            AskError: it says why not.
        """
        return self._at.ask(name, *args, kind=kind)

    def seek(self, goal: Moment) -> Stopped | Ended:
        """Goes to a moment; to the end, if the run has none so late."""
        if goal == self.moment and not self._at.spoiled and isinstance(self.told, Stopped):
            return self.told
        self._come_before(goal)
        return self._run(goal) if self.moment < goal else self.told

    def seek_call(self, call: Call) -> Stopped | Ended:
        """Goes to where the agent is about to make that call."""
        if call in self._events:
            return self.seek(Moment(self._events[call]))
        known = Moment(len(self._calls))
        if self.moment < known or self._at.spoiled or isinstance(self.told, Ended):
            self.seek(known)
        return self._run(None, Stops(calls=[At(call)]))

    def forward(self, stops: Stops) -> Stopped | Ended:
        """Goes on to the first of the stops."""
        if isinstance(self.told, Ended):
            return self.told
        if self._at.spoiled:
            self.seek(self.moment)
        return self._run(None, stops)

    def back(self, stops: Stops) -> Stopped | Ended | None:
        """Goes back to the last of the stops before the present; None where there is none, and it stays.

        What the answer's `hit` tells is what was there.
        """
        present, ended, reach = self.moment, isinstance(self.told, Ended), 1
        goal = None if ended else present
        self._leave()
        at = self._before(present, strictly=True)
        while True:
            self._at = self._woken(at)
            at = self._before(self.moment)  # earlier, if that one was gone
            told = self._at.run(Run(goal, stops, back=True))
            if told.hit is not None and told.hit.why == "hold":
                raise GoneError("it was held on its way back")
            if told.hit is not None:
                there = self.seek(told.hit.moment)
                return msgspec.structs.replace(there, hit=told.hit)
            if at <= 0:
                self.renew(present, ended=ended)
                return None
            if not stops.motion:  # which goes by the frames of the present
                goal = self._checkpoints[at].moment
            at, reach = max(0, at - reach), 2 * reach
            self._at.end()

    def hold(self) -> None:
        """Has what goes on at present stand where it is, as soon as it comes by. May be called from anywhere."""
        self._at.hold()

    def interrupt(self) -> None:
        """Ends what goes on at present, by a GoneError, as soon as may be. May be called from anywhere."""
        self._at.interrupt()

    def renew(self, moment: Moment, *, ended: bool = False) -> None:
        """Goes to a moment where one was, or to the end, in another process than that of the present."""
        self._at.spoiled = True
        if ended:
            self._come_before(moment)
            self._run(None)
        else:
            self.seek(moment)

    def end(self) -> None:
        """Ends all processes."""
        self._at.end()
        for checkpoint in self._checkpoints:
            checkpoint.end()
        for root in self._roots:
            root.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.end()

    # Processes

    def _come_before(self, goal: Moment) -> None:
        """Has a process that stands at the goal, or at the nearest moment before it that there is."""
        usable = not self._at.spoiled and not isinstance(self.told, Ended) and self.moment <= goal
        at = self._before(goal)
        if usable and (at < 0 or self._checkpoints[at].moment <= self.moment):
            return
        self._leave()
        self._at = self._woken(self._before(goal))

    def _before(self, goal: Moment, *, strictly: bool = False) -> int:
        """Which checkpoint is the last before the goal, or at it; -1 where there is none."""
        at = bisect_right(self._checkpoints, goal, key=_moment) - 1
        return at - 1 if strictly and at >= 0 and self._checkpoints[at].moment == goal else at

    def _woken(self, at: int) -> Process:
        """A process that begins at that checkpoint; or, if it is gone (for want of memory, say), at one before it."""
        while at >= 0:
            try:
                return self._checkpoints[at].wake(self._keep)
            except GoneError:
                self._checkpoints.pop(at).end()
                at -= 1
        return self._fresh()

    def _fresh(self) -> Process:
        root = Root(self.recording, self._settings, self._keep, checkpoints=bool(self._spacing))
        self._roots.append(root)
        return root.process

    def _leave(self) -> None:
        """Nobody stands at the present any more. Where it is far from the last checkpoint, its process is one.

        To be called before another process begins, which has the files as they were there.
        """
        if not self._spacing or self._at.spoiled or not self._is_new():
            self._at.end()
        elif (checkpoint := self._at.park(NEAR)) is not None:
            self._keep(checkpoint)
            self._stood.append(checkpoint)
            if len(self._stood) > STOOD and (oldest := self._stood.pop(0)) in self._checkpoints:
                self._checkpoints.remove(oldest)
                oldest.end()
        self._at.spoiled = True
        if len(self._roots) > 1 and not self._checkpoints:
            self._roots.pop(0).end()

    def _is_new(self) -> bool:
        """Whether the run stands at a call that no checkpoint holds."""
        told, at = self.told, self._before(self.moment)
        held = at >= 0 and self._checkpoints[at].moment == self.moment
        return isinstance(told, Stopped) and told.call is not None and not told.moment.line and not held

    def _keep(self, checkpoint: Checkpoint) -> None:
        """A process has left a checkpoint."""
        insort(self._checkpoints, checkpoint, key=_moment)
        if len(self._checkpoints) > _FEW and available() < SCARCE:
            self._drop(2)
        elif len(self._checkpoints) > MOST:
            self._drop(1)

    def _drop(self, count: int) -> None:
        """Those go without which the way from the one before to the one after is shortest."""
        for _ in range(count):
            held = self._checkpoints
            free = [at for at in range(1, len(held) - 1) if held[at] is not self._at.base]  # it would end the present
            held.pop(min(free, key=lambda at: held[at + 1].spent - held[at - 1].spent)).end()

    def _run(self, goal: Moment | None, stops: Stops = NOWHERE) -> Stopped | Ended:
        before = self.moment.event
        spacing = self._spacing
        last = self._checkpoints[-1].moment.event if self._checkpoints else 0
        told = self._at.run(Run(goal, stops, spacing=spacing, after=last))
        if before <= len(self._calls):
            for call in told.passed[len(self._calls) - before :]:
                self._calls.append(call)
                self._events[call] = len(self._calls)
        return told


def _moment(checkpoint: Checkpoint) -> Moment:
    return checkpoint.moment
