"""What a half-written command may become."""

from __future__ import annotations

import re
from typing import Final

from reenact.debugger.commands import groups, named
from reenact.debugger.session import Debugger
from reenact.errors import UsageError

_WORD: Final = re.compile(r"[\w.-]*\Z")
_PLACES: Final = ("begin", "last", "end")
_STOPS: Final = ("step", "tool", "raise", "uncaught")


def completions(debugger: Debugger, line: str) -> list[str]:
    """What the last word of a line may become: of a command's name, or of what such a command is about."""
    found = _WORD.search(line)
    word = found[0] if found is not None else ""
    before = line[: len(line) - len(word)]
    return sorted({one for one in _candidates(debugger, before, word) if one.startswith(word)})


def _candidates(debugger: Debugger, before: str, word: str) -> list[str]:
    if not before.strip():
        return [name for _, commands in groups() for command in commands for name in command.names]
    command = named(before.split(maxsplit=1)[0])
    rest = before.split()[1:]
    match command.names[0] if command is not None else "":
        case "help":
            return _candidates(debugger, "", word)
        case "jump":
            return [*_PLACES, *(str(step.number) for step in debugger.course.steps)]
        case "lane":
            return [one.lane for one in debugger.lanes]
        case "break" | "tbreak" if rest == ["tool"]:
            return debugger.course.tools
        case "break" | "tbreak" if not rest:
            return [*_STOPS, *(frame.function.rpartition(":")[2] for frame in debugger.frames if frame.own)]
    return _names(debugger, word)


def _names(debugger: Debugger, word: str) -> list[str]:
    """Variables; of one that stands before a dot, what is inside of it."""
    whole, dot, _ = word.rpartition(".")
    try:
        if dot:
            return [f"{whole}.{one.name}" for one in debugger.look(whole).inside if one.name.isidentifier()]
        return [one.name for one in debugger.variables()]
    except UsageError:
        return []
