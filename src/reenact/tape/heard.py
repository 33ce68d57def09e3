"""What comes over a connection where HTTP/1.1 is spoken, taken apart into the texts that it consists of.

Of each answer the head is one and the body another, so that a body is looked into as it is written: in chunks, packed,
as a stream of events. After the answer 101 all that comes is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from reenact.tape import http1

_BEGIN: Final = b"HTTP/1."


class Stretch(NamedTuple):
    """Bytes of the text of that number, from `start` to `end` of what came; `head` is that of a body, and of one alone.

    `over`: that is all of it.
    """

    text: int
    start: int
    end: int
    head: bytes = b""
    over: bool = False


def speaks(data: bytes) -> bool:
    """Whether HTTP/1.1 may begin so."""
    return _BEGIN.startswith(data[: len(_BEGIN)])


class Heard:
    """One connection."""

    def __init__(self) -> None:
        self._text = 0
        self._message = http1.answer("")
        self._head = b""
        self._begun = False  # there is some of the body
        self._lasts = False

    def came(self, data: bytes) -> Iterator[Stretch]:
        """What that is of."""
        at = 0
        while at < len(data):
            if self._lasts:
                yield Stretch(self._text, at, len(data), self._head)
                return
            if self._head and not self._begun and data.startswith(_BEGIN, at):
                self._next()  # that was an answer without its body, to HEAD or CONNECT
            start, end = (at + size for size in self._message.take(data[at:] if at else data))
            if not self._head and start > at:
                yield self._of_head(at, start)
            if self._message.fault:
                self._lasts = True
            if self._message.fault or (self._head and not self._begun and data.startswith(_BEGIN, start)):
                at = start
                continue
            if end > start:
                self._begun = True
                yield Stretch(self._text, start, end, self._head, over=self._message.whole)
            if self._message.whole:
                self._end()
            at = end

    def _of_head(self, start: int, end: int) -> Stretch:
        found = Stretch(self._text, start, end, over=self._message.head is not None)
        if self._message.head is not None:
            self._text += 1
            self._head = _told(self._message.head)
        return found

    def _end(self) -> None:
        self._lasts = self._message.head is not None and self._message.head.status == http1.SWITCHING
        if not self._lasts:
            self._next()

    def _next(self) -> None:
        self._text += 1
        self._message, self._head, self._begun = http1.answer(""), b"", False


def _told(head: http1.Head) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in head.headers).encode("latin-1", "replace") or b"\r\n"
