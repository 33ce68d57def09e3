"""The seam in signals that the program sends: to itself, to its group, to other processes.

What ends the process ends the session first. What the main thread sends to a handler of its own follows from the
program alone, and happens again; when a handler is called that another thread has sent a signal to, the tape says.
"""

from __future__ import annotations

import _thread
import functools
import os
import signal
import threading
from collections.abc import Callable

from reenact import _real
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system.signals import Handlers

_HARMLESS = ("SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH", "SIGINFO")
_SURVIVED = frozenset(getattr(signal, name) for name in _HARMLESS if hasattr(signal, name))
"""What does not end a process that has no handler for it (signal(7))."""

_EVERYBODY = -1
"""To `os.kill`: every process that the user may send a signal to, but not the sender."""

Send = Callable[[int], None]


class Senders:
    """The session ends before a signal that ends the process."""

    def __init__(self, session: Session, handlers: Handlers) -> None:
        self._session = session
        self._handlers = handlers
        self._kill = os.kill

    def install(self, patches: Patches) -> None:
        """Meets what sends signals. In replay timers send none, since the tape says when they ran out."""
        patches.function(os, "kill", self._killer(os.kill))
        patches.function(signal, "raise_signal", self._raiser(signal.raise_signal))
        patches.function(_thread, "interrupt_main", self._interrupter(_thread.interrupt_main))
        if hasattr(os, "killpg"):
            patches.function(os, "killpg", self._group_killer(os.killpg))
        if hasattr(signal, "pthread_kill"):
            patches.function(signal, "pthread_kill", self._thread_killer(signal.pthread_kill))
        if not self._session.live and hasattr(signal, "setitimer"):
            patches.function(signal, "setitimer", lambda *_: (0.0, 0.0))
            patches.function(signal, "alarm", lambda _: 0)

    def _killer(self, real: Callable[[int, int], None]) -> Callable[[int, int], None]:
        @functools.wraps(real)
        def kill(pid: int, signal: int, /) -> None:
            if pid == self._session.recorded_pid:
                pid = self._handlers.owner  # in replay the program believes that it still has the number that it had
            if pid == _real.getpid():
                self._send(signal, functools.partial(real, pid))
            elif pid > 0:
                if pid not in self._session.stand_ins:
                    real(pid, signal)
            elif pid != _EVERYBODY:
                self._send_to_group(-pid, signal, functools.partial(real, pid))
            elif self._session.live:
                real(pid, signal)

        return kill

    def _group_killer(self, real: Callable[[int, int], None]) -> Callable[[int, int], None]:
        @functools.wraps(real)
        def killpg(pgid: int, signal: int, /) -> None:
            self._send_to_group(pgid, signal, functools.partial(real, pgid))

        return killpg

    def _thread_killer(self, real: Callable[[int, int], None]) -> Callable[[int, int], None]:
        @functools.wraps(real)
        def pthread_kill(thread_id: int, signalnum: int, /) -> None:
            self._send(signalnum, functools.partial(real, thread_id), at_once=thread_id == _real.get_ident())

        return pthread_kill

    def _raiser(self, real: Send) -> Send:
        @functools.wraps(real)
        def raise_signal(signalnum: int, /) -> None:
            self._send(signalnum, real)

        return raise_signal

    def _interrupter(self, real: Callable[..., None]) -> Callable[..., None]:
        """No signal is sent, but its handler is called as if one had come."""

        @functools.wraps(real)
        def interrupt_main(signum: int = signal.SIGINT, /) -> None:
            if self._handlers.has(signum):
                self._send(signum, real)
            else:
                real(signum)

        return interrupt_main

    def _send_to_group(self, group: int, number: int, real: Send) -> None:
        if group not in (0, os.getpgrp()):
            real(number)
        elif not self._session.live:
            # the shell and whoever else is in the group have had theirs in the recording
            self._send(number, functools.partial(self._kill, _real.getpid()))
        else:
            self._send(number, real)

    def _send(self, number: int, real: Send, *, at_once: bool = True) -> None:
        """The program sends a signal to itself."""
        if number not in signal.valid_signals() or _real.getpid() != self._handlers.owner:
            real(number)
        elif self._is_deadly(number):
            self._session.leaving = -number
            self._session.finish()
            real(number)
        elif at_once and self._is_handled_here(number):
            self._handlers.expect(number)
            real(number)
        elif self._session.live:
            real(number)

    def _is_deadly(self, number: int) -> bool:
        """Whether the process is gone before anything else of it runs."""
        return self._handlers.get(number) is signal.SIG_DFL and number not in _SURVIVED and not _is_blocked(number)

    def _is_handled_here(self, number: int) -> bool:
        """Whether the handler has been called when the sending is over."""
        is_main = _real.get_ident() == threading.main_thread().ident
        return is_main and self._handlers.has(number) and not _is_blocked(number)


def _is_blocked(number: int) -> bool:
    return hasattr(signal, "pthread_sigmask") and number in signal.pthread_sigmask(signal.SIG_BLOCK, ())
