"""A model that holds its answer back, so that something can happen meanwhile."""

from __future__ import annotations

from threading import Event

from reenact.testing import Say
from reenact.testing.turn import Turn

PATIENCE = 60.0  # seconds after which an answer comes all the same


class Held:
    """Answers at once, but a prompt that begins with "hold" only when it is `released`. `asked`: one has come."""

    def __init__(self) -> None:
        self.asked = Event()
        self.released = Event()

    def __call__(self, turn: Turn) -> Say:
        """The answer to a turn."""
        if turn.prompt.startswith("hold"):
            self.asked.set()
            self.released.wait(PATIENCE)
        return Say(f"answer to {turn.prompt}")
