"""A lock that a process holds as long as it is there: how others know that it is gone, whoever started it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from reenact import _real

_POLL = 0.005


class Lock:
    """The lock of one process, on a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, report: Path) -> Lock:
        """That of the process that reports there."""
        return cls(report.with_suffix(".lock"))

    @contextlib.contextmanager
    def handed_on(self, descriptors: list[int]) -> Iterator[None]:
        """Who is started inside of this holds it: by a fork, or by `descriptors`, which a fresh process gets along."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            descriptors.append(descriptor)
            yield
        finally:
            os.close(descriptor)

    def hold(self) -> None:
        """This process is the one that was started: its number stands in the file."""
        self.path.write_text(str(_real.getpid()), encoding="ascii")

    def holder(self) -> int:
        """The number of the process that holds it.

        Raises:
            ProcessLookupError: it has not come so far.
        """
        text = self.path.read_text(encoding="ascii")
        if not text:
            raise ProcessLookupError
        return int(text)

    def is_free(self) -> bool:
        """Whether nobody holds it."""
        with self.path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
        return True

    def await_free(self, seconds: float) -> bool:
        """Waits until nobody holds it, or for so long; whether it is free."""
        until = _real.monotonic() + seconds
        while not self.is_free():
            if _real.monotonic() > until:
                return False
            _real.sleep(_POLL)
        return True
