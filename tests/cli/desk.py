"""A desk: a folder to run commands of reenact in, and a terminal to run them at."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event

REENACT = (sys.executable, "-P", "-m", "reenact")
_OURS = ("REENACT_", "NO_COLOR", "FORCE_COLOR", "PYTEST_", "COV_")


@dataclass(frozen=True)
class Desk:
    """A folder with programs in it, where commands of reenact are run."""

    folder: Path

    def write(self, source: str, name: str = "agent.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', '')}"  # `python` is this one, as in a venv
        return {**own, "TERM": "xterm", "PATH": path, **(more or {})}

    def reenact(
        self, *words: str, env: Mapping[str, str] | None = None, said: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end; `said` is its standard input."""
        return subprocess.run(
            [*REENACT, *words],
            cwd=self.folder,
            env=self.environment(env),
            input=said,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begins a command in a session of its own, and waits for the first line that the program writes."""
        child = subprocess.Popen(
            [*REENACT, *words],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    def at_terminal(
        self, *words: str, env: Mapping[str, str] | None = None, typed: bytes = b"", when: bytes | Event = b"ready\r\n"
    ) -> tuple[int, str]:
        """Runs a command at a terminal of its own; its status, and all that stood on the screen.

        `typed` is typed when that stands there, or that has happened.
        """
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(REENACT[0], [*REENACT, *words], self.environment(env))
        screen = b""
        while True:
            if isinstance(when, Event) and typed and when.wait(120):
                os.write(terminal, typed)
                typed = b""
            if not select.select([terminal], [], [], 120)[0]:
                os.kill(pid, signal.SIGKILL)
            try:
                data = os.read(terminal, 65536)
            except OSError:  # Linux says EIO when the last process has let go of the terminal
                data = b""
            if not data:
                break
            screen += data
            if typed and not isinstance(when, Event) and when in screen:
                os.write(terminal, typed)
                typed = b""
        os.close(terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status, screen.decode().replace("\r\n", "\n")
