"""Says on a terminal that something is still going on, and takes it away again."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

_SILENT_SECONDS = 2.0


class Progress:
    """One line on stderr, from the third second on; nothing where stderr is no terminal."""

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def __call__(self, seconds: float) -> None:
        """It has gone on for so long."""
        if seconds >= _SILENT_SECONDS and sys.stderr.isatty():
            from reenact.report.terminal import plain

            self._shown = True
            self._write(f"\r\x1b[K{plain(self.doing)}, {seconds:.0f} s")

    @staticmethod
    def _write(line: str) -> None:
        sys.stderr.write(line)
        sys.stderr.flush()
