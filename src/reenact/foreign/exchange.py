"""A request with its answer, as another tool has kept it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

Headers = tuple[tuple[str, str], ...]


def header_pairs(pairs: Iterable[tuple[str, str]]) -> Headers:
    """Headers as they can be on a wire. Chrome puts several of one name into one, with line breaks between them."""
    return tuple((on_wire(name), on_wire(line)) for name, value in pairs for line in value.splitlines() or [""])


def on_wire(text: str) -> str:
    """A text of a head, with a character for each of its bytes, and on one line."""
    line = text.replace("\n", " ").replace("\r", " ")
    return line if max(line, default="") <= "\xff" else line.encode("utf-8", "surrogatepass").decode("latin-1")


class Message(msgspec.Struct, frozen=True):
    """A message of a WebSocket. `at` is ns since 1970, `opcode` that of its frame (RFC 6455, 5.2)."""

    sent: bool
    at: int
    opcode: int
    data: bytes


class Answer(msgspec.Struct, frozen=True):
    """What came back. `body` is None where the file does not hold it; what is on it of codings is in `headers`."""

    status: int
    reason: str
    headers: Headers
    body: bytes | None
    version: str = "HTTP/1.1"


class Exchange(msgspec.Struct, frozen=True):
    """`answer` is None where none came, for the reason `why`.

    `began` is ns since 1970, None where the file does not say; the answer came `waited` ns later, and ended at `took`.
    """

    method: str
    url: str
    headers: Headers
    body: bytes
    answer: Answer | None
    why: str = ""
    began: int | None = None
    waited: int = 0
    took: int = 0
    messages: tuple[Message, ...] = ()


class Found(msgspec.Struct, frozen=True):
    """What is in a file: of what sort it is, and its exchanges in their order."""

    sort: str
    exchanges: list[Exchange]
