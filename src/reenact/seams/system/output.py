"""The seam in the program's output: what it writes to stdout and stderr, through `print`, the streams, or `os.write`.

The streams stay the objects that they are; only their `write` is met.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from reenact import _real
from reenact.engine.lane import get_lane
from reenact.seams.patch import Patches
from reenact.tape.event import Stream


def install(patches: Patches) -> None:
    """Meets both streams and `os.write` to their descriptors."""
    meet_streams(patches)
    patches.function(os, "write", _os_write)


def meet_streams(patches: Patches) -> None:
    """Meets the streams that `sys` has now, unless that has been done: a program may change them."""
    for stream, number in ((sys.stdout, Stream.STDOUT), (sys.stderr, Stream.STDERR)):
        if stream is None or not hasattr(stream, "__dict__") or "writelines" in vars(stream):
            continue
        meet(stream, number, patches.set)


def meet(stream: Any, number: Stream, put: Callable[[Any, str, Any], object]) -> None:
    """Meets one stream, of text or of bytes, by what puts an attribute in place."""
    unflushed = bytearray()
    raw = getattr(stream, "buffer", None)
    if isinstance(stream, io.TextIOBase):
        put(stream, "write", _text(stream, number, unflushed))
        put(stream, "writelines", _lines(stream))
    else:
        raw = stream
    if raw is not None and hasattr(raw, "__dict__"):
        put(raw, "write", _binary(raw.write, number, unflushed))


def tell(number: Stream, data: bytes) -> None:
    """The calling lane has written that."""
    lane = get_lane()
    if lane is not None and lane.session is not None and data:
        lane.session.wrote(lane, number, data)


def _text(stream: Any, number: Stream, unflushed: bytearray) -> Callable[[str], int]:
    """`unflushed` is what the text layer still owes to the layer below; `_binary` sees it come through there."""
    real: Callable[[str], int] = stream.write

    def write(text: str, /) -> int:
        if not isinstance(text, str):
            return real(text)  # which raises what it raises
        data = text.encode(getattr(stream, "encoding", None) or "utf-8", getattr(stream, "errors", None) or "strict")
        unflushed.extend(data)
        try:
            count = real(text)
        except BaseException:
            unflushed.clear()
            raise
        tell(number, data)
        return count

    return write


def _lines(stream: Any) -> Callable[[Iterable[str]], None]:
    def writelines(lines: Iterable[str], /) -> None:
        for line in lines:
            stream.write(line)

    return writelines


def _binary(real: Callable[[Any], int], number: Stream, unflushed: bytearray) -> Callable[[Any], int]:
    def write(data: Any, /) -> int:
        count = real(data)
        written = bytes(data)
        if unflushed and unflushed.startswith(written):
            del unflushed[: len(written)]  # the text layer flushes what has been told when it was written
        else:
            tell(number, written)
        return count

    return write


def _os_write(descriptor: int, data: Any, /) -> int:
    count = _real.write(descriptor, data)
    if descriptor in (1, 2):
        tell(Stream(descriptor), bytes(data)[:count])
    return count


_os_write.__name__ = _os_write.__qualname__ = "write"
