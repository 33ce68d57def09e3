"""HTTP/1.1 messages in the bytes of a connection (RFC 9112): what one begins with, and where it ends.

Bytes are taken as they come. What is no HTTP gives a `fault`, and never an exception.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) (HTTP/1\.[01])\r?\n")
_STATUS = re.compile(rb"(HTTP/1\.[01]) (\d\d\d)(?: ([^\r\n]*))?\r?\n")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LENGTH = re.compile(r"\d{1,18}")
_LONGEST_HEAD = 1 << 20
_LONGEST_LINE = 1 << 14
_SHOWN = 40
_NO_BODY = (204, 304)
_FINAL = 200
SWITCHING = 101


class Head(msgspec.Struct, frozen=True):
    """What a message begins with: the three words of its first line, and its headers."""

    words: tuple[str, str, str]
    headers: tuple[tuple[str, str], ...]

    def value(self, name: str) -> str:
        """Of the first header of that name, in any case; else the empty string."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def chunked(self) -> bool:
        """Whether the body is in chunks."""
        return "chunked" in self.value("transfer-encoding").lower()

    @property
    def status(self) -> int:
        """The status of an answer."""
        return int(self.words[1])

    @property
    def is_preliminary(self) -> bool:
        """Whether another answer comes after this one (1xx)."""
        return self.status < _FINAL and self.status != SWITCHING


class Message:
    """A message that is coming. `head` is there when it has come whole, `whole` is told when all has."""

    def __init__(self, first: re.Pattern[bytes], body_of: Callable[[Head], _Body]) -> None:
        self._first = first
        self._body_of = body_of
        self._early = bytearray()
        self._first_line: re.Match[bytes] | None = None
        self._body: _Body | None = None
        self.head: Head | None = None
        self.fault = ""

    @property
    def whole(self) -> bool:
        """Whether nothing of it is missing."""
        return self._body is not None and self._body.whole

    @property
    def lasts(self) -> bool:
        """Whether it goes on until the connection is closed."""
        return isinstance(self._body, _Counted) and self._body.left == math.inf

    def take(self, data: bytes) -> tuple[int, int]:
        """Where in `data` its body goes on, and where it ends; what comes after that is another message's."""
        start = 0
        if self._body is None and not self.fault:
            start = self._take_head(data)
        if self._body is None or self.fault:
            return start, len(data)
        end = start + self._body.take(data[start:] if start else data)
        self.fault = self._body.fault
        return start, len(data) if self.fault else end

    def _take_head(self, data: bytes) -> int:
        known = len(self._early)
        self._early += data
        # what has come before is not looked through again: it may come byte by byte
        if self._first_line is None and b"\n" in data:
            self._first_line = self._first.match(bytes(self._early))
            if self._first_line is None:
                return self._no_http()
        end = _END_OF_HEAD.search(self._early, max(known - 3, 0)) if self._first_line is not None else None
        if end is None and len(self._early) > _LONGEST_HEAD:
            return self._no_http()
        if self._first_line is None or end is None:
            return len(data)
        words = [word.decode("latin-1") if word is not None else "" for word in self._first_line.groups()]
        lines = self._early[self._first_line.end() : end.start()].decode("latin-1").replace("\r\n", "\n").split("\n")
        self.head = Head((words[0], words[1], words[2]), tuple(_headers(lines)))
        self._body = self._body_of(self.head)
        self._early.clear()
        return end.end() - known

    def _no_http(self) -> int:
        line = bytes(self._early[:_SHOWN]).partition(b"\n")[0]
        self.fault = f"no HTTP: {line!r}"
        return 0


def begins_request(data: bytes) -> bool:
    """Whether a request may begin so."""
    return _REQUEST.match(data) is not None


def request() -> Message:
    """A request that is coming."""
    return Message(_REQUEST, _of_request)


def answer(method: str) -> Message:
    """The answer to a request; a preliminary one (1xx) is a message of its own."""
    return Message(_STATUS, partial(_of_answer, method))


def _headers(lines: list[str]) -> Iterator[tuple[str, str]]:
    pending: tuple[str, str] | None = None
    for line in filter(None, lines):
        if line[0] in " \t" and pending is not None:
            pending = pending[0], f"{pending[1]} {line.strip()}"
            continue
        if pending is not None:
            yield pending
        name, _, value = line.partition(":")
        pending = name.strip(), value.strip()
    if pending is not None:
        yield pending


# Where a body ends


class _Counted:
    """A body of so many bytes; of infinitely many if it ends with the connection."""

    fault = ""

    def __init__(self, left: float) -> None:
        self.left = left

    @property
    def whole(self) -> bool:
        return not self.left

    def take(self, data: bytes) -> int:
        taken = int(min(self.left, len(data)))
        self.left -= taken
        return taken


class _Chunked:
    """A body in chunks, with the trailers after it."""

    def __init__(self) -> None:
        self.whole = False
        self.fault = ""
        self._line = b""
        self._left = 0
        self._last = False

    def take(self, data: bytes) -> int:
        at = 0
        while at < len(data) and not (self.whole or self.fault):
            if self._left:
                taken = min(self._left, len(data) - at)
                self._left -= taken
                at += taken
                continue
            end = data.find(b"\n", at) + 1 or len(data)
            self._line += data[at:end]
            at = end
            if self._line.endswith(b"\n") or len(self._line) > _LONGEST_LINE:
                self._read(self._line)
                self._line = b""
        return at

    def _read(self, line: bytes) -> None:
        if self._last:
            self.whole = not line.strip()
            return
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            self.fault = f"no chunk begins with {line[:_SHOWN]!r}"
            return
        count = int(size[1], 16)
        self._last = not count
        self._left = count + len(b"\r\n") if count else 0


_Body = _Counted | _Chunked


def _of_request(head: Head) -> _Body:
    return _Chunked() if head.chunked else _Counted(_length(head) or 0)


def _of_answer(method: str, head: Head) -> _Body:
    status = head.status
    through = method == "CONNECT" and status // 100 == 2
    if method == "HEAD" or through or status < _FINAL or status in _NO_BODY:
        return _Counted(0)
    if head.chunked:
        return _Chunked()
    length = _length(head)
    return _Counted(math.inf if length is None else length)


def _length(head: Head) -> int | None:
    found = _LENGTH.fullmatch(head.value("content-length"))
    return int(found[0]) if found is not None else None
