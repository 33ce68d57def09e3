"""What can be typed into the debug console besides expressions: the words of `reenact debug`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reenact.debugger.commands import Commands, named
from reenact.debugger.completion import completions
from reenact.debugger.course import Course
from reenact.debugger.dap.standing import At
from reenact.debugger.results import Found, Moved, Result
from reenact.debugger.session import Debugger, Stop
from reenact.errors import UsageError

Say = Callable[[Course], Callable[[Result], Iterable[str]]]
"""How the results of a run's words are said to people."""


class Words:
    """Those of one session."""

    def __init__(self, debugger: Debugger, say: Say) -> None:
        self._debugger = debugger
        self._commands = Commands(debugger, quiet=True)
        self._say = say(debugger.course)

    def is_one(self, text: str, at: At | None) -> bool:
        """Whether a line is such a word, in a function: a variable of the same name goes before."""
        word = text.split(maxsplit=1)[0] if text.strip() else ""
        if named(word) is None:
            return False
        try:
            compile(text.strip(), "<line>", "eval")
        except (SyntaxError, ValueError):
            return True
        return at is None or self._debugger.ask("show", word, at.number, at.lane, kind=object) is None

    def do(self, text: str, at: At | None) -> tuple[str, Stop | None]:
        """What it says, and what it has moved the run to, if it has.

        Raises:
            UsageError: it cannot be done.
        """
        if at is not None:
            self._debugger.select_lane(at.lane)
            self._debugger.select_frame(at.number)
        result = self._commands.do(text)
        said = "\n".join(self._say(result)) if result is not None else ""
        return said, result.stop if isinstance(result, Moved | Found) else None

    def completed(self, text: str, at: At | None) -> list[str]:
        """What the last word of a line may become."""
        if at is not None:
            self._debugger.select_lane(at.lane)
            self._debugger.select_frame(at.number)
        try:
            return completions(self._debugger, text)
        except UsageError:
            return []
