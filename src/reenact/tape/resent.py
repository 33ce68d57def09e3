"""What was sent in the place of requests, on a tape that begins with some of another: built upon those that stay."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from reenact.tape.delta import Bodies
from reenact.tape.event import Sent


class Resent:
    """Those of one tape, in their order."""

    def __init__(self) -> None:
        self._before, self._now = Bodies(), Bodies()
        self._read = self._kept = 0

    def of(self, record: Sent, event: int | None) -> Iterator[Sent]:
        """The record, of the event that has that number now; none where the event is not there any more."""
        body = self._before.restore(self._read, record.body)
        self._read += 1
        if event is not None:
            yield replace(record, event=event, body=self._now.shrink(self._kept, body, self._kept - 1))
            self._kept += 1
