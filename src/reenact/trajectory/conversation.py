"""The conversations of a run: which earlier request a request goes on from, and what it says that is new."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from reenact.providers import ModelCall, News, news
from reenact.trajectory.history import History

_MOST = 32
_MOST_BYTES = 512 << 20
_OVERLAP = 4


@dataclass(slots=True)
class Turn:
    """A request to a model with its answer, as far as the next one is compared with it.

    `count` is the number of messages of the request; `call` is its meaning without them. `step` is its step.
    """

    lane: str
    event: int
    ended: int | None
    history: History
    count: int
    call: ModelCall
    step: int


@dataclass(frozen=True, slots=True)
class Told:
    """What a request says. `call` may lack the messages that `before` had too; `count` counts all."""

    call: ModelCall
    news: News
    count: int
    before: Turn | None

    @property
    def nothing(self) -> bool:
        """Whether the request asks the same as the one before."""
        found = self.news
        return self.before is not None and not found.messages and not found.rewritten and found.echo is None


class Conversations:
    """The latest turns of a run's conversations, at most 32 and fewer of huge ones: on from others nobody goes."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def add(self, turn: Turn, before: Turn | None) -> None:
        """Keeps a turn, in place of `before` where it is the same strand that went on."""
        if before is not None and before.lane == turn.lane and turn.history.shared(before.history):
            self._turns.remove(before)
        self._turns.append(turn)
        while len(self._turns) > _MOST or (len(self._turns) > 1 and sum(map(_size, self._turns)) > _MOST_BYTES):
            del self._turns[0]

    def answered(self, identity: str) -> Turn | None:
        """The turn whose answer has this id at its provider."""
        return next((turn for turn in reversed(self._turns) if turn.call.id == identity), None)

    def told(self, lane: str, at: int, history: History) -> Told | None:
        """What a request of `lane` at time `at` says; None where it is no question to a model."""
        before = self._before(lane, at, history)
        cut = max(0, before.history.shared(history) - _OVERLAP) if before is not None else 0
        call = history.read(cut)
        if not isinstance(call, ModelCall):
            return None
        old = before.history.question(cut) if before is not None else None
        if before is None or not isinstance(old, ModelCall):
            return Told(call, news(None, call), len(call.messages), None)
        found = news(msgspec.structs.replace(old, answer=before.call.answer), call)
        if not cut and not _goes_on(call, found):
            return Told(call, _without_system(call, found), len(call.messages), None)
        left = before.count - len(old.messages) if cut else 0
        told = Told(call, msgspec.structs.replace(found, kept=found.kept + left), len(call.messages) + left, before)
        if _akin(before.lane, lane) or found.echo is not None or (told.nothing and not before.call.complete):
            return told
        # Another lane asked the same, and neither its answer nor its failure led to this: a question of its own.
        whole = history.read()
        return Told(whole, news(None, whole), len(whole.messages), None) if isinstance(whole, ModelCall) else None

    def _before(self, lane: str, at: int, history: History) -> Turn | None:
        if history.continues is not None and (known := self.answered(history.continues)) is not None:
            return known
        best: Turn | None = None
        best_rank: tuple[int, bool, int] = (-1, False, -1)
        for turn in self._turns:
            same = turn.lane == lane
            if not same and (turn.ended is None or turn.ended > at):
                continue
            shared = turn.history.shared(history)
            whole = shared == len(turn.history.turns)
            # A lane goes on from what itself or a lane above it said; from another only what it repeats in full.
            if not same and (not shared or not (whole or _akin(turn.lane, lane))):
                continue
            rank = (shared + (whole and shared > 0), same, turn.event)
            if rank > best_rank:
                best, best_rank = turn, rank
        return best


def _size(turn: Turn) -> int:
    return len(turn.history.wire.request_body) + len(turn.history.wire.response_body)


def _akin(above: str, lane: str) -> bool:
    """Whether a lane is another one or was born below it."""
    return lane == above or lane.startswith(f"{above}.")


def _goes_on(call: ModelCall, found: News) -> bool:
    """Whether more than the system prompt is as it was."""
    if call.continues is not None or found.echo is not None or not call.messages:
        return True
    known = len(call.messages) - len(found.messages)
    return known > sum(message.role == "system" for message in call.messages[: found.kept])


def _without_system(call: ModelCall, found: News) -> News:
    """The news of a new conversation under a system prompt that was there before."""
    kept = found.kept
    return News(call.messages[kept:], kept)
