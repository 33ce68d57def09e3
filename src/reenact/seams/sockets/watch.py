"""The last line: what sees every connection that Python makes, whichever seam missed it.

In recording such a connection is noted by host and source line. In replay it is refused, by an audit hook too: that
cannot be got round. A recording has none, because with one in place every look at a frame costs as much as a draw.
"""

from __future__ import annotations

import _socket
import contextlib
import sys
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from reenact import _real
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import MUTED, get_lane
from reenact.engine.session import Session
from reenact.errors import DivergenceError

_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_FUNCTIONS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo")
_LOOK_UPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyname_ex"})
_HERE = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", ""})  # noqa: S104  told of, not bound to
_EVENTS = frozenset({*_CONNECTING, *(f"socket.{name}" for name in _FUNCTIONS)})


class _Watch:
    """What the one hook of this process does. An audit hook cannot be taken away, so it is added once."""

    def __init__(self) -> None:
        self.added = False
        self.closed = False
        self.whole: Session | None = None
        self.let = False
        self.own: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # the port or path of each socket that listens

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _EVENTS or (event in _LOOK_UPS and args and _is_address(args[0])):
            return
        if event in _CONNECTING and (args[1] is None or is_own(args[1])):
            return
        if self.let and event in _CONNECTING and isinstance(args[1], str | bytes):
            return
        lane = get_lane()
        session = lane.session if lane is not None and lane.session is not None else self.whole
        if self.closed:
            _refuse(session, event, args)
        elif session is not None and lane is not MUTED:
            _tell(session, event, args)


_watch = _Watch()


def saw(event: str, *args: Any) -> None:
    """Something that no lane asked for connects or looks up a name: told in recording, refused in replay."""
    _watch(event, args)


def watch(whole: Session | None = None, *, closed: bool = False) -> None:
    """Watches the process from now on. `whole` is the run that is all of it; `closed`: nothing may connect (replay)."""
    _watch.whole = whole
    _watch.closed = closed
    if closed and not _watch.added:
        _watch.added = True
        sys.addaudithook(_watch)


@contextlib.contextmanager
def letting_local() -> Iterator[None]:
    """Inside of this, connections by a path of this machine are our own: to the server that forks processes."""
    _watch.let = True
    try:
        yield
    finally:
        _watch.let = False


def owns(sock: Any, address: Any) -> None:
    """That socket of this process listens there: who connects to it from within does not leave the program."""
    _watch.own[sock] = _place(address)


def is_own(address: Any) -> bool:
    """Whether that is on this machine, where this process listens by now."""
    if not _watch.own or (isinstance(address, tuple) and str(address[0]) not in _HERE):
        return False
    place = _place(address)
    return any(own == place and sock.fileno() >= 0 for sock, own in list(_watch.own.items()))


def _place(address: Any) -> Any:
    return address[1] if isinstance(address, tuple) and len(address) > 1 else address


def needs_nobody(event: str, host: object) -> bool:
    """Whether that is found without asking anybody."""
    return event in _LOOK_UPS and _is_address(host)


def _is_address(host: object) -> bool:
    """Whether it stands for an address already, so that nobody is asked for one. None is this machine."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if name is None or not isinstance(name, str):
        return name is None
    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            _socket.inet_pton(family, name.partition("%")[0])
        except (OSError, ValueError):
            continue
        return True
    return False


def _target(event: str, args: tuple[Any, ...]) -> str:
    address = args[1] if event in _CONNECTING else args[:2]
    if isinstance(address, tuple):
        host = address[0].decode("latin-1") if isinstance(address[0], bytes) else address[0]
        port = address[1] if len(address) > 1 else None
        return str(host) if port is None else f"{host}:{port}"
    return address.decode("utf-8", "replace") if isinstance(address, bytes) else str(address)


def _tell(session: Session, event: str, args: tuple[Any, ...]) -> None:
    try:
        verb = "connected to" if event in _CONNECTING else "looked up"
        session.note("unseen", f"{verb} {_target(event, args)}", _real.getframe(2))
    except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
        session.fault(error)


def _refuse(session: Session | None, event: str, args: tuple[Any, ...]) -> None:
    target = _target(event, args)
    if session is not None:
        session.latch(Divergence(What.SOCKET, session.main.path, actual=Datum("socket", f"{event} {target}")))
    raise DivergenceError(f"no network in replay: {event} {target}")
