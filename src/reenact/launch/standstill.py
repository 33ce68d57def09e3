"""Whether a replay goes on: one that waits for what is on no tape would wait for ever."""

from __future__ import annotations

from pathlib import Path

from reenact.launch import running

PATIENCE = 20.0  # seconds


class Standstill:
    """Ends a replay that has neither done nor computed anything for long, and then has `come`."""

    def __init__(self, report: Path) -> None:
        self._report = report
        self._last: tuple[bytes, str] | None = None
        self._since = 0.0
        self.come = False

    def __call__(self, seconds: float) -> bool:
        """As `supervise.Waiting`. Where nobody knows what a process has computed, it is taken to go on."""
        now = running.signs_of_life(self._report, running.process_of(self._report))
        if not now[1] or now != self._last:
            self._last, self._since = now, seconds
        self.come = self.come or seconds - self._since > PATIENCE
        return not self.come
