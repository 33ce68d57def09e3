"""A terminal of its own to debug at: what is typed, and what stands on the screen."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from tests.cli.desk import REENACT

PATIENCE = 120.0
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|[\x01\x02]")


class Terminal:
    """A command of reenact at a terminal."""

    def __init__(self, folder: Path, env: Mapping[str, str], *words: str) -> None:
        self.pid, self._end = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execve(REENACT[0], [*REENACT, *words], dict(env))
        self._seen = 0
        self._screen = b""

    def until(self, text: str) -> str:
        """Waits until that stands on the screen; what came by then, without colours."""
        deadline = monotonic() + PATIENCE
        while (at := self.screen.find(text, self._seen)) < 0:
            left = deadline - monotonic()
            if left <= 0 or not self._read(left):
                message = f"never said {text!r}:\n{self.screen[self._seen :]}"
                raise AssertionError(message)
        begin, self._seen = self._seen, at + len(text)
        return self.screen[begin : self._seen]

    def says(self, typed: str, until: str = "> ") -> str:
        """Types a line, and waits for the prompt, or for something else."""
        os.write(self._end, typed.encode() + b"\n")
        self.until(typed)
        return self.until(until)

    def press(self, keys: bytes) -> None:
        """Presses keys."""
        os.write(self._end, keys)

    def status(self) -> int:
        """Waits for its end; the exit status."""
        while self._read(PATIENCE):
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return status

    def kill(self) -> None:
        """Kills it, if it is still there, so that it can do nothing more."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.status()

    @property
    def screen(self) -> str:
        """All that came."""
        return _ESCAPES.sub(b"", self._screen).decode(errors="ignore").replace("\r\n", "\n").replace("\r", "")

    def _read(self, seconds: float) -> bool:
        if not select.select([self._end], [], [], seconds)[0]:
            return False
        data = b""
        with contextlib.suppress(OSError):  # Linux says EIO when the last process has let go of the terminal
            data = os.read(self._end, 65536)
        self._screen += data
        return bool(data)


def processes_in(folder: Path) -> list[int]:
    """The processes whose working directory that is."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
    return found
