"""What C code does by itself: connections that no socket of Python's made, threads that `threading` knows nothing of.

No seam can meet these. In a recording they are looked for among what the process has open: at its end, and when
variables are kept (`record --deep`) at each event. A connection that is over by then is not seen.
"""

from __future__ import annotations

import _socket
import _thread
import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from reenact import _real
from reenact.engine.lane import current, muted
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.sockets.blocking import shown
from reenact.seams.sockets.watch import is_own
from reenact.tape.event import VISITED

_DESCRIPTORS = "/dev/fd"
_INTERNET = (_socket.AF_INET, _socket.AF_INET6)
_NAME = _socket.socket.getsockname
_FAMILIES = (_socket.AF_INET, _socket.AF_INET6, _socket.AF_UNIX)
_BOOTSTRAP = threading.Thread._bootstrap.__code__  # type: ignore[attr-defined]  # what every thread of Python's begins with
_listdir, _fstat = os.listdir, os.fstat  # before the seam in files meets them


def watch(session: Session, patches: Patches) -> None:
    """Has a recording tell of what nobody else sees."""
    started: set[int] = set()
    patches.function(_thread, "start_new_thread", _start_new_thread(_thread.start_new_thread, started))
    if not Path(_DESCRIPTORS).is_dir():
        return
    connections = _Connections(lambda where: session.note(VISITED, f"others have connected to it at {where}"))
    for name in ("connect", "connect_ex"):
        met = connections.known_after(vars(_socket.socket)[name])
        patches.method_of_builtin(_socket.socket, name, met)
    patches.method_of_builtin(_socket.socket, "_accept", connections.known_accepted(_socket.socket._accept))  # type: ignore[attr-defined]

    def look_behind(frame: FrameType | None) -> None:
        try:
            with muted():
                threads, peers = list(_threads(started)), list(connections.new())
            for thread in threads:
                session.note("thread", thread)
            for peer in peers:
                session.note("native", f"C code has connected to {peer}", frame)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            session.fault(error)

    session.look_behind = look_behind


class _Connections:
    """The connections of this process, by the inodes of their sockets. `known` are Python's, or told already."""

    def __init__(self, visited: Callable[[str], None]) -> None:
        self.known = {inode for _, inode in _sockets()}  # what the process was started with is not its own doing
        self._own: set[Any] = set()  # from where the program has connected to itself
        self._visited = visited

    def known_after(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """A method of sockets that connects: those that Python itself connects are known."""

        def method(self_: _socket.socket, *args: Any) -> Any:
            self._know(self_.fileno())
            try:
                return real(self_, *args)
            finally:
                if args and is_own(args[0]):
                    with contextlib.suppress(OSError):
                        self._own.add(_NAME(self_))

        method.__name__ = method.__qualname__ = real.__name__
        return method

    def known_accepted(self, real: Callable[..., tuple[int, Any]]) -> Callable[..., tuple[int, Any]]:
        """`_accept`: what Python accepts is known, too."""

        def _accept(self_: _socket.socket) -> tuple[int, Any]:
            number, address = real(self_)
            self._know(number)
            if address not in self._own and self_.family in _INTERNET:
                self._visited(shown(_NAME(self_)))
            return number, address

        return _accept

    def _know(self, number: int) -> None:
        with contextlib.suppress(OSError):  # it is closed
            self.known.add(_fstat(number).st_ino)

    def new(self) -> Iterator[str]:
        """Who is at the other end of those that C code has made, and not accepted."""
        unknown = [(number, inode) for number, inode in _sockets() if inode not in self.known]
        if not unknown or _socket.getdefaulttimeout() is not None:
            return  # with a default, to look at a socket would be to set its timeout
        ends = [(inode, end) for number, inode in unknown if (end := _ends(number)) is not None]
        listening = {here for _, (here, there) in ends if there is None}
        for inode, (here, there) in ends:
            if there is not None:
                self.known.add(inode)
                if there and here not in listening:
                    yield there


def _sockets() -> Iterator[tuple[int, int]]:
    """Number and inode of each socket that is open."""
    for name in _listdir(_DESCRIPTORS):
        try:
            about = _fstat(int(name))
        except OSError:
            continue  # the one that lists them
        if stat.S_ISSOCK(about.st_mode):
            yield int(name), about.st_ino


def _ends(number: int) -> tuple[object, str | None] | None:
    """The port or path at this end, and who is at the other: None for a socket that listens.

    None altogether for one that is not connected, and of kinds that lead nowhere else (to the kernel, say).
    """
    looked_at = _socket.socket(fileno=number)
    try:
        if looked_at.family not in _FAMILIES:
            return None
        here = looked_at.getsockname()
        if looked_at.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN):
            return _port(here), None
        return _port(here), _told(looked_at.getpeername())
    except OSError:
        return None
    finally:
        looked_at.detach()


def _port(address: Any) -> object:
    return address[1] if isinstance(address, tuple) else address


def _told(address: Any) -> str:
    """Empty for a pair of sockets, which has no name."""
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}"
    return address.decode("utf-8", "replace") if isinstance(address, bytes) else str(address)


def _threads(started: set[int]) -> Iterator[str]:
    """Threads that run Python code and were started by C code."""
    main = threading.main_thread().ident
    for ident, frame in _real.current_frames().items():
        if ident != main and ident not in started and _outermost(frame) is not _BOOTSTRAP:
            yield "a thread that C code has started runs Python code"


def _outermost(frame: FrameType) -> CodeType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code


def _start_new_thread(real: Callable[..., int], started: set[int]) -> Callable[..., int]:
    def start_new_thread(*args: Any) -> int:
        lane = current()
        ident = real(*args)
        started.add(ident)
        if lane is not None and lane.session is not None:
            lane.session.note("thread", "a thread was started by _thread.start_new_thread", _real.getframe(1))
        return ident

    return start_new_thread
