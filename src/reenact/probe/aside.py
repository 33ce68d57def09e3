"""Evaluates what a debugger asks: the agent's code may run for it, and what it asks of the outside is refused."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

from reenact.engine.lane import muted
from reenact.engine.variables import variables_of

_REFUSED = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.truncate",
        "os.link",
        "os.setxattr",
        "os.symlink",
        "os.chmod",
        "os.chown",
        "os.utime",
        "os.kill",
        "os.killpg",
        "shutil.rmtree",
        "signal.pthread_kill",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.gethostbyaddr",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        "sqlite3.connect",
        "subprocess.Popen",
    }
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class RefusedError(Exception):
    """An expression asked for something outside of the program."""


class _Hook:
    """The one audit hook of this, which does nothing but while something is evaluated."""

    def __init__(self) -> None:
        self.added = self.on = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in _REFUSED or (event == "open" and isinstance(args[2], int) and args[2] & _WRITES):
            raise RefusedError(f"it asks for what is outside of the program ({event}), and that is refused here")


_hook = _Hook()


def evaluated(text: str | CodeType, frame: FrameType, *, of_module: bool = False) -> Any:
    """What an expression gives in a frame, or in the module that its function is of.

    Raises:
        Exception: any, the expression's own.
    """
    if not _hook.added:
        _hook.added = True
        sys.addaudithook(_hook)
    with muted():
        _hook.on, before = True, _hook.on
        try:
            names = None if of_module else variables_of(frame)
            return eval(text, frame.f_globals, names)  # noqa: S307  that is what it is for
        finally:
            _hook.on = before
