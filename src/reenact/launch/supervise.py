"""Runs a command as if it had been started without us: same terminal, same streams, signals passed on.

Which signals are passed on follows sudo(8): what the terminal sends reaches the child by itself, since both are in its
foreground process group, and so does what the child sends to that group; what a process sends to us alone is handed on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Protocol

from reenact import _real

Streams = tuple[IO[bytes] | int | None, IO[bytes] | int | None, IO[bytes] | int | None]
Waiting = Callable[[float], bool | None]

NOT_STARTED = "{python} could not be started: {reason}"
_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH")
_OF_TERMINAL = frozenset({"SIGINT", "SIGQUIT", "SIGWINCH"})
_FROM_KERNEL = 0x80  # si_code SI_KERNEL (sigaction(2)): no process sent it
_LOOK_UP = 1.0  # seconds between two looks at the child when nothing happens
_POLL = 0.1  # the same where signals cannot be waited for
_SIDE_BY_SIDE: list[list[int]] = []  # of each that a thread runs, the signals that have come


class Child(Protocol):
    """A process that is waited for, as `subprocess.Popen`."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status. Raises `subprocess.TimeoutExpired`."""

    def send_signal(self, sig: int) -> None:
        """Sends it a signal."""

    def kill(self) -> None:
        """Kills it."""


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None = None,
    *,
    streams: Streams = (None, None, None),
    waiting: Waiting | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> int:
    """Runs `argv` to its end and returns its exit status (negative: killed by that signal).

    `waiting` is called about once a second with the seconds since the start, and kills the child by returning False;
    `meanwhile` is called once, when it has begun.
    Raises OSError when it cannot be started.
    """
    with (
        _caught() as (watched, came),
        subprocess.Popen(argv, env=env, cwd=cwd, stdin=streams[0], stdout=streams[1], stderr=streams[2]) as child,  # noqa: S603
    ):
        if meanwhile is not None:
            meanwhile()
        wait = _wait if watched and hasattr(signal, "sigtimedwait") else _poll
        return wait(child, watched, came, waiting or _silently)


def mirror(status: int) -> int:
    """The exit status with which a shell would report `status`, for ourselves to exit with."""
    return 128 - status if status < 0 else status


def die_as(status: int) -> None:
    """Ends this process by the signal that ended the child; returns when it was none."""
    if status >= 0:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    _leave_no_core()
    with contextlib.suppress(OSError, ValueError):  # SIGKILL and SIGSTOP have no disposition to set
        signal.signal(-status, signal.SIG_DFL)
    with contextlib.suppress(OSError, ValueError):
        os.kill(os.getpid(), -status)


@contextlib.contextmanager
def _caught() -> Iterator[tuple[frozenset[signal.Signals], list[int]]]:
    """The signals that are ours to hand on, and those that have come. What the user had ignored stays ignored."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        with beside() as came:
            yield frozenset(), came
        return
    with _handled(came.append) as watched:
        yield watched, came


@contextlib.contextmanager
def beside() -> Iterator[list[int]]:
    """For a thread, inside of the main thread's `side_by_side`: the signals that have come since, to be handed on."""
    came: list[int] = []
    _SIDE_BY_SIDE.append(came)
    try:
        yield came
    finally:
        _SIDE_BY_SIDE[:] = [one for one in _SIDE_BY_SIDE if one is not came]


@contextlib.contextmanager
def side_by_side() -> Iterator[list[int]]:
    """For the main thread, while others `run`: the signals that have come, which are handed on to all that they run."""
    came: list[int] = []

    def hand_on(number: int) -> None:
        came.append(number)
        for each in _SIDE_BY_SIDE[:]:
            each.append(number)

    with _handled(hand_on):
        yield came


@contextlib.contextmanager
def _handled(handle: Callable[[int], None]) -> Iterator[frozenset[signal.Signals]]:
    numbers = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    watched = frozenset(number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN)
    old = {number: signal.signal(number, lambda number, _frame: handle(number)) for number in watched}
    try:
        yield watched
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _wait(child: subprocess.Popen[bytes], watched: frozenset[signal.Signals], came: list[int], waiting: Waiting) -> int:
    """Waits for signals and the child's end at once. Only signals waited for tell who sent them."""
    everything = {*watched, signal.SIGCHLD}
    began = _real.monotonic()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, everything)  # after the start, or the child would inherit it
    try:
        for number in came:
            child.send_signal(number)
        while child.poll() is None:
            info = signal.sigtimedwait(everything, _LOOK_UP)
            if info is not None and info.si_signo != signal.SIGCHLD and not _reached_both(info, child.pid):
                child.send_signal(info.si_signo)
            if waiting(_real.monotonic() - began) is False:
                child.kill()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return int(child.returncode)


def _reached_both(info: signal.struct_siginfo, child: int) -> bool:
    of_terminal = info.si_code == _FROM_KERNEL and signal.Signals(info.si_signo).name in _OF_TERMINAL
    return of_terminal or info.si_pid == child


def follow(child: Child, came: list[int]) -> int:
    """Waits for the end of a process, and hands on the signals that have `come`, see `beside`. Its exit status."""
    return _poll(child, frozenset(), came, _silently)


def hand_on(child: Child, came: list[int]) -> None:
    """Sends on the signals that have come and that it does not have from the terminal."""
    while came:
        number = came.pop(0)
        if signal.Signals(number).name not in _OF_TERMINAL or not _in_foreground():
            child.send_signal(number)


def _poll(child: Child, _watched: frozenset[signal.Signals], came: list[int], waiting: Waiting) -> int:
    """As `_wait`, for systems without sigtimedwait: there, in the foreground, Ctrl-C is taken to be the terminal's."""
    began = _real.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(_POLL)
        hand_on(child, came)
        if waiting(_real.monotonic() - began) is False:
            child.kill()


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _leave_no_core() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  not on every system

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _silently(_seconds: float) -> None:
    """Nobody wants to know how long it takes."""
