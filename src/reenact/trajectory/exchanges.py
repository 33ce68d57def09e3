"""The exchanges of a recording: HTTP as a seam has kept it, or as it was spoken over connections of the run's own."""

from __future__ import annotations

import msgspec

from reenact.tape.event import Kind
from reenact.tape.recording import Event, Recording
from reenact.trajectory.connection import OPENS, SENDS, Connection, Heard
from reenact.trajectory.exchange import Exchange, Room

_OVER, _LOOKS_UP = "over", "look up "
_NONE = -(1 << 62)
_arguments = msgspec.json.Decoder(tuple[tuple[str, str], ...]).decode


class Exchanges:
    """An exchange for each event of a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._heard: dict[int, Heard] = {}
        self._whole: dict[int, int] = {}
        self._room = Room()
        if any(event.kind is Kind.SOCKET for event in recording.events):
            self._listen()

    def of(self, event: Event) -> Exchange:
        """The event, or the exchange whose request began with it."""
        heard = self._heard.get(event.id)
        if heard is None:
            return Exchange(event, self._recording.body(event), room=self._room)
        return heard.exchange(lambda number: self._recording.body(self._recording.events[number]), self._room)

    def whole(self, event: int) -> int | None:
        """The event of the exchange that another event is a piece of."""
        return self._whole.get(event)

    def _listen(self) -> None:
        connections: dict[int, Connection] = {}
        before: dict[str, Event] = {}
        for event in self._recording.events:
            if event.kind is Kind.SOCKET:
                if event.name.startswith(OPENS):
                    connections[event.id] = self._connection(event, before.get(event.lane))
                elif (connection := connections.get(self._recording.first(event) + _over(event))) is None:
                    pass
                elif event.name.startswith(SENDS):
                    connection.sent(event, self._recording.body(event))
                else:
                    connection.told(event)
            before[event.lane] = event
        for connection in connections.values():
            for heard in connection.exchanges():
                self._heard[heard.event.id] = heard
                self._whole.update((piece, heard.event.id) for piece in heard.pieces)
        for event_id in self._heard:
            del self._whole[event_id]

    @staticmethod
    def _connection(event: Event, before: Event | None) -> Connection:
        connection = Connection(event)
        if before is not None and before.kind is Kind.SOCKET and before.name.startswith(_LOOKS_UP):
            connection.told(before)
        return connection


def _over(event: Event) -> int:
    """The event of the connection that it is of, as its process numbers them; one that there is not for none."""
    try:
        number = dict(_arguments(event.head)).get(_OVER, "")
    except (ValueError, RecursionError):
        return _NONE
    return int(number) if number.isascii() and number.isdigit() and len(number) < 18 else _NONE
