"""What goes back to a client, and how it is delivered or broken."""

from __future__ import annotations

from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """How a response is put on the wire.

    `first_byte` seconds pass before anything is sent, `between` seconds between two chunks.
    `reset_after` chunks the connection is reset (TCP RST); of a body that is not in chunks half is sent.
    """

    first_byte: float = 0.0
    between: float = 0.0
    reset_after: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One response: a `bytes` body goes out with its length, a tuple chunked, one write per item."""

    status: int
    headers: Headers
    body: bytes | tuple[bytes, ...]
    pace: Pace = Pace()


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection is closed without an answer."""

    after: float = 0.0
