"""Whoever writes a tape has it open, and by that it is seen to go on. While it is being opened, nobody sees that yet.

So who opens a tape of a folder and who asks which of them are left keep each other out: by flock(2) on the folder,
which the kernel takes back from a process that is gone. Where there is no such lock, one asks without.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reenact import _real

_PATIENCE: Final = 2.0  # seconds: a fork may have the descriptor, and live on
_open, _close, _flock = os.open, os.close, fcntl.flock  # not as a seam makes them


@contextlib.contextmanager
def opening(tape: Path) -> Iterator[None]:
    """A tape is opened inside of this, or closed and opened again."""
    with _locked(tape.parent, fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def asking(tape: Path) -> Iterator[None]:
    """Inside of this no tape of that folder is being opened: each is open, or is left."""
    with _locked(tape.parent, fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    try:
        descriptor = _open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        _wait(descriptor, how)
        yield
    finally:
        with contextlib.suppress(OSError):
            _close(descriptor)


def _wait(descriptor: int, how: int) -> None:
    until = _real.monotonic() + _PATIENCE
    while _real.monotonic() < until:
        try:
            _flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            _real.sleep(_PATIENCE / 1000)
        except OSError:
            return
        else:
            return
