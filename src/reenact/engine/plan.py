"""What is already known of a run, and what may happen where that knowledge ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from reenact.tape.reader import Recording


class Live(Enum):
    """When a call may really be performed."""

    NEVER = auto()
    AFTER_PREFIX = auto()


@dataclass(frozen=True, slots=True)
class Plan:
    """A mode, as data. `observe`: note divergences and go on with what the tape holds."""

    prefix: Recording | None
    live: Live
    observe: bool = False


RECORD = Plan(None, Live.AFTER_PREFIX)


def replay(tape: Recording, *, observe: bool = False) -> Plan:
    """The plan that serves everything from `tape`."""
    return Plan(tape, Live.NEVER, observe)
