"""How a recorded body is cut into chunks: where it was cut on the wire is not on a cassette."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reenact.testing.wire.eventstream import frames

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


@dataclass(frozen=True, slots=True)
class Cut:
    """At every n-th end of an event (or frame); or, when `size` is given, every `size` bytes."""

    events: int = 1
    size: int | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a cut that would make no progress."""
        if self.events < 1 or (self.size is not None and self.size < 1):
            message = f"a chunk holds at least one event or byte: {self}"
            raise ValueError(message)

    def chunks(self, body: bytes, content_type: str) -> tuple[bytes, ...]:
        """The body in pieces; one that is not a stream of events stays whole unless cut by size."""
        if self.size is not None:
            return tuple(body[at : at + self.size] for at in range(0, len(body), self.size))
        if "vnd.amazon.eventstream" in content_type:
            units = list(frames(body))
        elif "text/event-stream" in content_type:
            units = list(_events(body))
        else:
            units = [body]
        return tuple(b"".join(units[at : at + self.events]) for at in range(0, len(units), self.events))


def _events(body: bytes) -> Iterator[bytes]:
    start = 0
    for end in _EVENT_END.finditer(body):
        yield body[start : end.end()]
        start = end.end()
    if start < len(body):
        yield body[start:]
