"""Waits for the processes of a run's replay: they go on by themselves, some until after the run's own has ended."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from reenact import _real
from reenact.launch import running
from reenact.launch.lock import Lock
from reenact.tape.recording import Recording
from reenact.tape.whole import every

_PATIENCE = 30.0  # seconds without any sign of life
_POLL = 0.01


def awaited(recording: Recording, report: Path) -> Iterator[tuple[Recording, Path, bool]]:
    """Each process that was started again, where it reported, and whether it had to be ended."""
    for process in every(recording):
        own = running.beside(report, process.main)
        lock = Lock.of(own)
        if process is not recording and lock.path.is_file():
            yield process, own, not _over(lock, own)


def _over(lock: Lock, report: Path) -> bool:
    """Waits as long as it does anything; else ends it."""
    signs, since = None, _real.monotonic()
    while not lock.is_free():
        now = running.signs_of_life(report, _holder(lock))
        if now != signs:
            signs, since = now, _real.monotonic()
        elif _real.monotonic() - since > _PATIENCE:
            with contextlib.suppress(OSError):
                os.kill(lock.holder(), signal.SIGKILL)
            lock.await_free(1.0)
            return False
        _real.sleep(_POLL)
    return True


def _holder(lock: Lock) -> int:
    try:
        return lock.holder()
    except ProcessLookupError:
        return 0
