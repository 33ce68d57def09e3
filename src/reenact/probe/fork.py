"""Copies of a process that stands still: live ones, with the exact state, made by the system alone.

The interpreter's own fork calls what libraries and the program have registered for it, which draw new seeds, and
forsake locks. This one calls nothing: there is one thread, and the copy has all as it was. What the system shares
between the two (what event loops wait in) the copy makes anew, under the same numbers.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NoReturn

from reenact import _real
from reenact.probe.link import Link
from reenact.probe.messages import Answer
from reenact.seams.concurrency import copied

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGKILL = 9
_ALARM = 14
_DEFAULT = ctypes.c_void_p(0)  # SIG_DFL
_FDS = "/proc/self/fd"
# before seams meet them
close = os.close
_readlink, _listdir, _fstat, _waitpid = os.readlink, os.listdir, os.fstat, os.waitpid
if sys.platform == "linux":  # elsewhere nothing is copied
    _mask, _await = signal.pthread_sigmask, signal.sigtimedwait


@cache
def libc() -> ctypes.PyDLL:
    """The C library, called without letting go of the interpreter."""
    return ctypes.PyDLL(None, use_errno=True)


def end_at_once(status: int = 0) -> NoReturn:
    """Ends this process, with nothing of the program's called."""
    libc()._exit(status)  # noqa: SLF001  a name of the system's
    raise AssertionError(status)


def obstacle(ours: int) -> str:
    """Why this process cannot be copied; "" where it can. `ours` is the descriptor of our own link."""
    if sys.platform != "linux":
        return "only Linux has what it takes"
    workers = copied.idle_workers()
    if workers is None or len(_listdir("/proc/self/task")) > 1 + len(workers):
        return "it has more than one thread"
    if Path(f"/proc/self/task/{_real.get_native_id()}/children").read_bytes().strip():
        return "it has started processes"
    return _descriptor_in_the_way(ours) or _memory_in_the_way()


def _descriptor_in_the_way(ours: int) -> str:
    own = {ours, 0, 1, 2} | copied.descriptors()
    for name in _listdir(_FDS):
        with contextlib.suppress(OSError):
            if int(name) in own:
                continue
            mode = _fstat(int(name)).st_mode
            what = _readlink(f"{_FDS}/{name}")
            if stat.S_ISFIFO(mode) or what.startswith("anon_inode:") or (stat.S_ISSOCK(mode) and _talks(int(name))):
                return f"it holds {what} (descriptor {name}), which its copies would share"
    return ""


def _talks(descriptor: int) -> bool:
    """Whether a socket is connected, or listens."""
    import _socket  # noqa: PLC0415  few programs have one

    held = _socket.socket(fileno=os.dup(descriptor))
    try:
        with contextlib.suppress(OSError):
            held.getpeername()
            return True
        with contextlib.suppress(OSError):
            return bool(held.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN))
        return False
    finally:
        held.close()


def _memory_in_the_way() -> str:
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        _, access, _, _, _, *path = line.split(maxsplit=5)
        if access.startswith("rw") and access.endswith("s") and "reenact-" not in (path or [""])[0]:
            return f"it shares memory ({(path or ['anonymous'])[0]}), as its copies would"
    return ""


def fork() -> int:
    """A copy of this process: 0 in the copy, its number here.

    Raises:
        OSError: there can be none.
    """
    carry = copied.carried()
    pid: int = libc().fork()
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if pid == 0:
        carry()
    return pid


def fork_apart(told: Callable[[int], object]) -> bool:
    """A copy of this process that is nobody's child here: whether this is the copy. `told` gets its number.

    What goes on is what was there before. Were it the copy, each would be a copy of the one before, and the system
    goes through all processes that a page may come from whenever there is one more. No signal may be met meanwhile.

    Raises:
        OSError: there can be none.
    """
    carry = copied.carried()
    between: int = libc().fork()
    if between == 0:
        pid = libc().fork()
        if pid == 0:
            carry()
            return True
        why = ctypes.get_errno()
        try:
            if pid > 0:
                told(pid)
        finally:
            end_at_once(why if pid < 0 else 0)
    why = ctypes.get_errno() if between < 0 else os.waitstatus_to_exitcode(_end_of(between))
    if why:
        raise OSError(why, os.strerror(why))
    return False


def _end_of(pid: int) -> int:
    """Waits for a copy of ours to end; how it did. The program does not meet that."""
    status = 0
    with contextlib.suppress(ChildProcessError):  # nobody is waited for where the program wants to hear of nobody
        status = _waitpid(pid, 0)[1]
    _await({signal.SIGCHLD}, 0)
    return status


def adopt() -> None:
    """Copies that are nobody's child become those of this process."""
    libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def leave_with_parent() -> None:
    """This process ends with the one that it was copied from."""
    libc().prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def stay_without_parent() -> None:
    """It does not."""
    libc().prctl(_PR_SET_PDEATHSIG, 0, 0, 0, 0)


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """No signal is met inside of this."""
    before = _mask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        _mask(signal.SIG_SETMASK, before)


def aside(call: Callable[[], Answer], seconds: int) -> Answer | None:
    """What that gives in a copy of this process, which has ended then. None when it did not come to it in time."""
    before = _mask(signal.SIG_BLOCK, {signal.SIGCHLD})
    own, theirs = Link[Answer].pair(Answer)
    try:
        pid = fork()
        if pid == 0:
            try:
                leave_with_parent()
                libc().signal(_ALARM, _DEFAULT)
                libc().alarm(seconds)
                Link(theirs, Answer).send(call())
            finally:
                end_at_once()
        close(theirs)
        try:
            answer: Answer | None = own.receive()[0]
        except (EOFError, OSError):
            answer = None
        _end_of(pid)
        return answer
    finally:
        own.close()
        _mask(signal.SIG_SETMASK, before)


def reap() -> None:
    """Lets go of copies that have ended."""
    with contextlib.suppress(ChildProcessError):
        while _waitpid(-1, os.WNOHANG)[0]:
            pass
