"""Server-sent events (WHATWG HTML, 9.2.6), from bytes that may end anywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `whole` is false for a last one without the empty line that ends it: the stream may have been cut."""

    name: str
    data: bytes
    whole: bool = True


def events(body: bytes) -> tuple[Event, ...]:
    r"""Split a body into its events; lines end in \n, \r\n or \r. Comments, ids and retry times are passed over."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found: list[Event] = []
    data: list[bytes] = []
    name = b""
    lines = body.split(b"\n")
    # What follows the last line end is no line yet; it is kept, in case the server left out only the end.
    lines, rest = lines[:-1], lines[-1]
    for line in lines:
        if not line:
            if data:
                found.append(Event(name.decode("utf-8", "replace"), b"\n".join(data)))
            data, name = [], b""
        elif line.startswith(b"data:"):
            data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            name = line[6:].removeprefix(b" ")
        elif line == b"data":
            data.append(b"")
    if rest.startswith(b"data:"):
        data.append(rest[5:].removeprefix(b" "))
    if data:
        found.append(Event(name.decode("utf-8", "replace"), b"\n".join(data), whole=False))
    return tuple(found)
