"""What is asked about the calls of a branch that its tape does not answer."""

from __future__ import annotations

from typing import Protocol

from reenact.engine.call import Call
from reenact.tape.event import Giver
from reenact.tape.recording import Event


class Asking(Protocol):
    """Who makes such a call, see `engine.ahead`. `event` is its number where the tape has the call; else -1.

    `failed`: it has not got a whole answer so far.
    """

    event: int
    step: int

    @property
    def lane(self) -> str:
        """The path of the lane."""

    @property
    def failed(self) -> bool:
        """Whether no whole answer has come, as far as that shows without knowing what it means."""


class Guard(Protocol):
    """Asked once about each such call, before anything of it leaves."""

    def __call__(self, call: Call, asking: Asking, /) -> tuple[Event | OSError, Giver] | None:
        """What answers it in the place of the world, or how it is refused, and who says so; None for what may happen.

        A step of the run that begins with it is put into `asking.step`.
        """
