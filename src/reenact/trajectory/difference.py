"""What two runs differ in: values, which are part of the JSON of `reenact diff --json`.

A field may be added and none renamed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from reenact.diff.change import Change


class Sort(StrEnum):
    """What differs. In this order a step is asked, answered and carried out."""

    STEP = "step"  # there is no such step on the other side
    INPUT = "input"  # what the program read from standard input
    MODEL = "model"
    PROVIDER = "provider"  # who was asked, in which format
    PARAMETER = "parameter"
    OFFERED = "offered tool"
    HISTORY = "history"  # messages that were taken out of the conversation, or changed in it
    RESULT = "tool result"
    PROMPT = "prompt"  # whatever else the model was told
    ERROR = "error"
    THINKING = "thinking"
    ANSWER = "answer"
    CALL = "tool call"
    ARGUMENTS = "tool arguments"
    FINISH = "finish reason"
    EVENT = "event"  # what happened besides: requests of tools, child processes
    OUTPUT = "output"
    OUTCOME = "outcome"
    USAGE = "usage"


SETTINGS: Final = frozenset({Sort.MODEL, Sort.PROVIDER, Sort.PARAMETER, Sort.OFFERED})
"""What a program sets, as against what is said and done."""


class Difference(msgspec.Struct, frozen=True):
    """One thing that is other on the two sides. `name` says which: a tool, a role, a parameter, a stream.

    `matters` is false where only ids, times, tokens and the like differ. `note` is for people.
    """

    sort: Sort
    name: str = ""
    changes: tuple[Change, ...] = ()
    matters: bool = True
    note: str = ""


class Pair(msgspec.Struct, frozen=True):
    """A step of each run, by their numbers, that are the same step of the work; None where a side has no such step."""

    a: int | None
    b: int | None
    differences: tuple[Difference, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether anything differs that matters."""
        return any(one.matters for one in self.differences)


class First(msgspec.Struct, frozen=True):
    """A difference that matters, and the steps that it is in; None where it is in none."""

    a: int | None
    b: int | None
    difference: Difference


class Comparison(msgspec.Struct, frozen=True):
    """Two runs, step by step, then what is in no step, and how they ended."""

    steps: tuple[Pair, ...]
    beside: tuple[Difference, ...] = ()
    end: tuple[Difference, ...] = ()

    def matters(self) -> list[First]:
        """All differences that matter, in order."""
        found = [First(None, None, one) for one in self.beside if one.sort is Sort.INPUT]
        found += [First(pair.a, pair.b, one) for pair in self.steps for one in pair.differences]
        found += [First(None, None, one) for one in (*self.beside, *self.end) if one.sort is not Sort.INPUT]
        return [one for one in found if one.difference.matters]
