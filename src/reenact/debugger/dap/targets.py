"""Moments that an editor can go to from a line of source."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reenact.debugger.dap import arguments, bodies
from reenact.debugger.dap.console import told
from reenact.debugger.dap.server import RefusedError
from reenact.debugger.session import Debugger, Stop
from reenact.debugger.source import lines_with_code
from reenact.probe.wanted import is_file

Motion = Callable[[Debugger], Stop]


class Targets:
    """Those that have been named, by number."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._motions: list[Motion] = []

    def of(self, given: arguments.GotoTargets) -> bodies.GotoTargets:
        """Those of a line: steps that ask a model there, where the run comes to it next, and where it did last."""
        path, line = given.source.path or "", given.line
        found = [
            self._target(told(step), line, partial(Debugger.to_step, number=step.number))
            for step in self._debugger.course.steps
            if step.site is not None and step.site.line == line and is_file(step.site.file, path)
        ]
        if line in lines_with_code(path):
            found.append(self._target(f"line {line}, next", line, partial(Debugger.to_line, file=path, line=line)))
            earlier = partial(Debugger.to_line, file=path, line=line, earlier=True)
            found.append(self._target(f"line {line}, last", line, earlier))
        return bodies.GotoTargets(targets=found)

    def motion(self, number: int) -> Motion:
        """The way to one.

        Raises:
            RefusedError: none has that number.
        """
        if not 0 < number <= len(self._motions):
            raise RefusedError(f"there is no target {number}")
        return self._motions[number - 1]

    def _target(self, label: str, line: int, motion: Motion) -> bodies.GotoTarget:
        self._motions.append(motion)
        return bodies.GotoTarget(id=len(self._motions), label=label, line=line)
