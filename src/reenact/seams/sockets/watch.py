"""The last line: what sees every connection that Python makes, whichever seam missed it.

In recording such a connection is noted by host and source line. In replay it is refused, by an audit hook too: that
cannot be got round. A recording has none, because with one in place every look at a frame costs as much as a draw.
"""

from __future__ import annotations

import _socket
import sys
from collections.abc import Callable
from typing import Any

from reenact import _real
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import MUTED, get_lane
from reenact.engine.session import Session
from reenact.errors import DivergenceError
from reenact.seams.patch import Patches

_METHODS = {"connect": "socket.connect", "connect_ex": "socket.connect", "sendto": "socket.sendto"}
_CONNECTING = frozenset(_METHODS.values())
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
        self.own: set[Any] = set()

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _EVENTS or (event in _LOOK_UPS and args and _is_address(args[0])):
            return
        if event in _CONNECTING and is_own(args[1]):
            return
        lane = get_lane()
        session = lane.session if lane is not None and lane.session is not None else self.whole
        if self.closed:
            _refuse(session, event, args)
        elif session is not None and lane is not MUTED:
            _tell(session, event, args)


_watch = _Watch()


def install(patches: Patches) -> None:
    """Meets the sockets that all of Python's are made of."""
    for name, event in _METHODS.items():
        patches.method_of_builtin(_socket.socket, name, _method(event, vars(_socket.socket)[name]))
    for name in _FUNCTIONS:
        met = _function(f"socket.{name}", getattr(_socket, name))
        patches.function(_socket, name, met)


def _method(event: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: _socket.socket, *args: Any) -> Any:
        _watch(event, (self, args[-1] if args else None))
        return real(self, *args)

    method.__name__ = method.__qualname__ = real.__name__
    return method


def _function(event: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        _watch(event, args)
        return real(*args, **kwargs)

    function.__name__ = function.__qualname__ = real.__name__
    return function


def watch(whole: Session | None = None, *, closed: bool = False) -> None:
    """Watches the process from now on. `whole` is the run that is all of it; `closed`: nothing may connect (replay)."""
    _watch.whole = whole
    _watch.closed = closed
    if closed and not _watch.added:
        _watch.added = True
        sys.addaudithook(_watch)


def owns(address: Any) -> None:
    """This process listens there: who connects to it from within does not leave the program."""
    _watch.own.add(address[1] if isinstance(address, tuple) else address)


def is_own(address: Any) -> bool:
    """Whether that is on this machine, where this process listens."""
    if not _watch.own or not isinstance(address, tuple):
        return address in _watch.own if isinstance(address, str | bytes) else False
    return len(address) > 1 and address[1] in _watch.own and str(address[0]) in _HERE


def needs_nobody(name: str, host: object) -> bool:
    """Whether the function of `_socket` finds that without asking anybody."""
    return f"socket.{name}" in _LOOK_UPS and _is_address(host)


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
    address = args[1] if event in ("socket.connect", "socket.sendto") else args[:2]
    if isinstance(address, tuple):
        host = address[0].decode("latin-1") if isinstance(address[0], bytes) else address[0]
        port = address[1] if len(address) > 1 else None
        return str(host) if port is None else f"{host}:{port}"
    return address.decode("utf-8", "replace") if isinstance(address, bytes) else str(address)


def _tell(session: Session, event: str, args: tuple[Any, ...]) -> None:
    try:
        verb = "connected to" if event in _METHODS.values() else "looked up"
        session.note("unseen", f"{verb} {_target(event, args)}", _real.getframe(2))
    except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
        session.fault(error)


def _refuse(session: Session | None, event: str, args: tuple[Any, ...]) -> None:
    target = _target(event, args)
    if session is not None:
        session.latch(Divergence(What.SOCKET, "0", actual=Datum("socket", f"{event} {target}")))
    raise DivergenceError(f"no network in replay: {event} {target}")
