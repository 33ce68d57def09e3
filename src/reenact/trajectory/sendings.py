"""What a branch sent in the place of what its program asked."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reenact.diff.change import Change, Kind
from reenact.diff.document import json_changes
from reenact.tape.recording import Recording
from reenact.trajectory.entry import Rerouted
from reenact.trajectory.exchange import Exchange


class Sendings:
    """All that was sent in the place of requests of one run."""

    def __init__(self, recording: Recording) -> None:
        self._sent = {event: (name, body) for event, name, body in recording.sendings()}

    def of(self, exchange: Exchange) -> Rerouted | None:
        """What was sent in the place of that request; None where it was sent itself."""
        sent = self._sent.get(exchange.event.id)
        if sent is None:
            return None
        name, body = sent
        asked = exchange.question
        return Rerouted(name, tuple(_changes(asked if isinstance(asked, bytes) else exchange.sent, body)))


def _changes(asked: bytes, sent: bytes) -> Iterator[Change]:
    try:
        before, after = json.loads(asked), json.loads(sent)
    except (ValueError, RecursionError):
        if asked != sent:
            yield Change("", None, None, Kind.CHANGED, note=f"{len(asked)} bytes became {len(sent)}")
    else:
        yield from json_changes("", before, after)
