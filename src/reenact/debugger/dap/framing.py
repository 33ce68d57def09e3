"""Messages of the protocol in a stream of bytes, each with its length before it. No input or output.

https://microsoft.github.io/debug-adapter-protocol/overview#base-protocol
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_LONGEST_HEAD: Final = 4096
_LONGEST_BODY: Final = 16 << 20
_END: Final = b"\r\n\r\n"
_NAMES: Final = (b"content-length", b"content-type")


class FramingError(ValueError):
    """What came is not the protocol, and nobody knows where the next message begins."""


class Framing:
    """Bytes as they come, taken apart into bodies."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._length: int | None = None  # of the body that is coming

    @property
    def within(self) -> bool:
        """Whether a message has begun and not ended."""
        return bool(self._data) or self._length is not None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are whole by now.

        Raises:
            FramingError: this is no message.
        """
        self._data += data
        while True:
            if self._length is None:
                self._length = self._head()
            if self._length is None or len(self._data) < self._length:
                return
            body, self._length = bytes(self._data[: self._length]), None
            del self._data[: len(body)]
            yield body

    def _head(self) -> int | None:
        head, end, _ = bytes(self._data[: _LONGEST_HEAD + len(_END)]).partition(_END)
        if not end and len(head) > _LONGEST_HEAD:
            raise FramingError(f"a header of more than {_LONGEST_HEAD} bytes")
        lines = head.split(b"\r\n")
        for line in lines if end else lines[:-1]:  # a stranger, such as a browser, is known by its first line
            if b":" not in line or _name(line) not in _NAMES:
                raise FramingError(f"a line that is no header of the protocol: {line[:60]!r}")
        if not end:
            return None
        del self._data[: len(head) + len(end)]
        lengths = [line.partition(b":")[2] for line in lines if _name(line) == _NAMES[0]]
        if len(lengths) != 1 or not lengths[0].strip().isdigit():
            raise FramingError("a header without one Content-Length")
        digits = lengths[0].strip()
        if len(digits) > len(str(_LONGEST_BODY)) or int(digits) > _LONGEST_BODY:
            raise FramingError(f"a message of more than {_LONGEST_BODY} bytes")
        return int(digits)


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].strip().lower()


def framed(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
