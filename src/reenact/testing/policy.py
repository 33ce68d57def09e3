"""Policies: functions from a turn to a reply. Any callable is one; these two are ready made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TypeAlias

from reenact.testing.reply import Fail, Reply
from reenact.testing.turn import Turn

Policy: TypeAlias = Callable[[Turn], Reply]
Choice: TypeAlias = "Reply | Policy"


def _settle(choice: Choice, turn: Turn) -> Reply:
    return choice(turn) if callable(choice) else choice


class Script:
    """Replies (or policies) in order, one for each turn; then a 500 that says that it is exhausted."""

    def __init__(self, *replies: Choice) -> None:
        self._replies = replies
        self._next = 0
        self._lock = Lock()

    def __call__(self, turn: Turn) -> Reply:
        """The next reply. Thread safe: each is given once."""
        with self._lock:
            place = self._next
            self._next += 1
        if place < len(self._replies):
            return _settle(self._replies[place], turn)
        message = f"script exhausted: it holds {len(self._replies)} replies and this is turn {place + 1}"
        return Fail(500, message=message, should_retry=False)

    @property
    def left(self) -> int:
        """How many replies have not been given."""
        return max(0, len(self._replies) - self._next)


def _index(turn: Turn) -> object:
    return turn.index


class Stochastic:
    """A reply (or policy) drawn by weight; the draw is a function of the seed and `key(turn)`.

    The key is the index of the request unless told otherwise: the n-th request draws the same in
    every run, whatever was drawn before it and in whichever thread. Weights are relative; raises
    ValueError when none is positive.
    """

    def __init__(
        self,
        seed: int,
        choices: Mapping[Choice, float] | Iterable[tuple[float, Choice]],
        key: Callable[[Turn], object] = _index,
    ) -> None:
        pairs = [(w, c) for c, w in choices.items()] if isinstance(choices, Mapping) else list(choices)
        self._seed = seed
        self._choices = [(weight, choice) for weight, choice in pairs if weight > 0]
        self._total = sum(weight for weight, _ in self._choices)
        self._key = key
        if not self._choices:
            message = "no choice has a positive weight"
            raise ValueError(message)

    def __call__(self, turn: Turn) -> Reply:
        """The reply drawn for this turn."""
        digest = hashlib.sha256(f"{self._seed}\x00{self._key(turn)!r}".encode()).digest()
        mark = int.from_bytes(digest[:8], "big") / 2**64 * self._total
        for weight, choice in self._choices:
            mark -= weight
            if mark < 0:
                return _settle(choice, turn)
        return _settle(self._choices[-1][1], turn)  # The sum of floats may fall short by an ulp.
