"""What is already known of a run, and what may happen where that knowledge ends."""

from __future__ import annotations

from enum import Enum, auto

import msgspec

from reenact.engine.schedule import Schedule
from reenact.tape.recording import Recording


class Live(Enum):
    """When a call may really be performed."""

    NEVER = auto()
    AFTER_PREFIX = auto()


class Plan(msgspec.Struct, frozen=True):
    """A mode, as data. `observe`: note divergences and go on with what the tape holds.

    `schedule`: the tape's answers come in the order that it chooses, and not in that of the tape.
    """

    prefix: Recording | None
    live: Live
    observe: bool = False
    schedule: Schedule | None = None


RECORD = Plan(None, Live.AFTER_PREFIX)


def replay(tape: Recording, *, observe: bool = False) -> Plan:
    """The plan that serves everything from `tape`."""
    return Plan(tape, Live.NEVER, observe)


def resume(tape: Recording) -> Plan:
    """The plan that serves what is on `tape`, and goes on live where that ends."""
    return Plan(tape, Live.AFTER_PREFIX)


def explore(tape: Recording, schedule: Schedule) -> Plan:
    """The plan that serves everything from `tape`, in another order."""
    return Plan(tape, Live.NEVER, schedule=schedule)
