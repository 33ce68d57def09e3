"""What a call does to state that the program shares with it, and that it would not do where the tape answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from reenact.engine.lane import muted
from reenact.engine.session import Session
from reenact.tape.event import Moved
from reenact.tape.recording import Event


class Shared(Protocol):
    """Generators and the like, by their names."""

    def states(self, session: Session) -> dict[str, bytes]:
        """The state of each that the run has."""

    def put(self, session: Session, states: Mapping[str, bytes]) -> None:
        """Gives them these states."""


class Moves:
    """What one call does to them. It is looked at where the run goes on, in recording as in replay.

    Others may have moved them meanwhile: the same ones do so up to there in replay, and then it makes no difference.
    """

    def __init__(self, session: Session, shared: Shared) -> None:
        self._session = session
        self._shared = shared
        self._before = self._states()

    def keep(self, event: int) -> None:
        """The outcome goes on tape next."""
        now = self._states()
        for name, state in self._before.items():
            if now.get(name, state) != state:
                self._session.keep(Moved(event, name, now[name]))

    def again(self, event: Event) -> None:
        """The tape has answered."""
        if event.moved:
            try:
                with muted():
                    self._shared.put(self._session, event.moved)
            except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
                self._session.fault(error)

    def _states(self) -> dict[str, bytes]:
        try:
            with muted():
                return self._shared.states(self._session)
        except Exception as error:  # noqa: BLE001  as above
            self._session.fault(error)
            return {}
