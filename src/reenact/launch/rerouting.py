"""What a branch sends in the place of a request to a model, by rules."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol

from reenact.edits import Asked, Rule, resigned
from reenact.edits.asked import MESSAGES
from reenact.engine.call import Outgoing
from reenact.errors import EditError
from reenact.providers.route import place_of

_SECRET = "AWS_SECRET_ACCESS_KEY"  # noqa: S105  the name of a variable


class Bind(Protocol):
    """What edits later steps, see `launch.later`."""

    def __call__(self, step: int, asked: Asked, /) -> list[Rule]:
        """The rules that begin with this request, which begins that step."""


class Reroute:
    """The rerouting of one branch: `edits` of what requests say, and a `policy` of whom they ask.

    `bind` gives further edits, and `tell` is called with the event's number and how it was sent.
    """

    def __init__(
        self, edits: Sequence[Rule], bind: Bind, policy: Sequence[Rule], tell: Callable[[int, Outgoing], None]
    ) -> None:
        self._edits = [*edits]
        self._bind = bind
        self._policy = policy
        self._tell = tell

    def __call__(self, event: int, asked: Outgoing, step: int) -> Outgoing | None:
        """What is sent instead; None for what goes as it is. `step` is the one that it begins, 0 for none.

        Raises:
            OSError: it cannot be sent so.
        """
        place = place_of(asked.method, asked.url)
        if place is None or place.reader.api not in MESSAGES:
            return None
        before = Asked(asked.method, asked.url, asked.headers, asked.body)
        try:
            after = before
            for rule in self._edits:
                after = rule.apply(after)
            begun = self._bind(step, after)
            self._edits += begun
            for rule in (*begun, *self._policy):
                after = rule.apply(after)
            if after == before:
                return None
            after = resigned(before, after, os.environ.get(_SECRET, ""))
        except EditError as error:
            raise OSError(f"reenact could not send it as the branch asks for: {error}") from error
        sent = Outgoing(after.method, after.url, after.headers, after.body)
        self._tell(event, sent)
        return sent
