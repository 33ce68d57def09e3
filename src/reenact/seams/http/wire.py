"""HTTP/1.1 heads on the wire, cut off from what follows and put back together, for the seams at wire level."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reenact.seams.http.head import Head

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_INFORMATIONAL = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d")
_LAST_CHUNK = b"0\r\n\r\n"


def split_head(data: bytes | bytearray) -> tuple[Head, int] | None:
    """The final response's head at the start of `data`, and how many bytes it took; None when it is not whole yet.

    Interim responses (1xx, but for 101) before it are passed over.
    """
    start = 0
    while True:
        end = _END_OF_HEAD.search(data, start)
        if end is None:
            return None
        if not _INFORMATIONAL.match(data, start):
            break
        start = end.end()
    first, *lines = bytes(data[start : end.start()]).decode("latin-1").replace("\r\n", "\n").split("\n")
    version, _, rest = first.partition(" ")
    status, _, reason = rest.strip().partition(" ")
    headers = list(_header_lines(lines))
    chunked = any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers)
    code = int(status) if status.isdigit() else 0
    return Head(code, headers, reason, version, "chunked" if chunked else ""), end.end()


def join_head(head: Head) -> bytes:
    """The head as bytes."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.headers)
    version = head.version if head.version.startswith("HTTP/1.") else "HTTP/1.1"  # it is read as that
    return f"{version} {head.status} {head.reason}\r\n{lines}\r\n".encode("latin-1")


def _header_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    pending: tuple[str, str] | None = None
    for line in lines:
        if line[:1] in (" ", "\t") and pending is not None:
            pending = (pending[0], f"{pending[1]}\r\n{line}")
            continue
        if pending is not None:
            yield pending
        name, _, value = line.partition(":")
        pending = (name, value.strip())
    if pending is not None:
        yield pending


class BodyLength:
    """Counts a body as it comes, to know whether it is whole."""

    def __init__(self, head: Head) -> None:
        lengths = [value for name, value in head.headers if name.lower() == "content-length"]
        self._chunked = head.framing == "chunked"
        self._left = int(lengths[0]) if lengths and lengths[0].isdigit() and not self._chunked else None
        self._tail = b""

    def count(self, data: bytes) -> None:
        """These bytes came."""
        self._tail = (self._tail + data)[-len(_LAST_CHUNK) :]
        if self._left is not None:
            self._left -= len(data)

    @property
    def whole(self) -> bool:
        """Whether nothing is missing: for a body that ends with the connection, whatever came is whole."""
        return self._tail.endswith(_LAST_CHUNK) if self._chunked else not self._left
