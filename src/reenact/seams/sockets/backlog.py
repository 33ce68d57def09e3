"""What has come over a connection of an event loop and waits for its turn: bounded, as what a program reads is.

A gate lets in one thing at a time, so a loop reads sooner than the program is told of what it read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from reenact.engine.lane import muted

_MOST: Final = 1024 * 1024  # bytes


class Backlog:
    """Counts what waits, and has the real transport stop reading where that is much.

    It reads again when there is little, unless the program has it stopped: `stopped` says that.
    """

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped
        self._waits = 0
        self._full = False

    def more(self, size: int, transport: Any) -> None:
        """So many bytes have come."""
        self._waits += size
        if self._waits > _MOST and transport is not None:
            self._full = True  # perhaps again: the program may have let it read on meanwhile
            with muted():
                transport.pause_reading()

    def less(self, size: int, transport: Any) -> None:
        """So many of them have had their turn."""
        self._waits -= size
        if self._full and self._waits <= _MOST // 2:
            self._full = False
            if transport is not None and not self._stopped():
                with muted():
                    transport.resume_reading()
