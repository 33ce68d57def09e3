"""The seam in Python's sockets: connections that the program itself makes and reads, and names that it looks up.

In replay the sockets are real and never connected: what would need a connection is answered by the tape.
"""

from __future__ import annotations

import _socket
import errno
import json
import os
import socket
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from reenact import _real
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import MUTED, Lane, current, get_lane
from reenact.seams.patch import Patches
from reenact.seams.sockets import watch
from reenact.seams.sockets.conversation import Conversation, ask, message_of, packed, revive
from reenact.tape.event import Kind, PartKind

_Real = Callable[..., Any]

POST: Final = "messages without a connection"

_talks: Final[WeakKeyDictionary[Any, Conversation]] = WeakKeyDictionary()
_moved: Final[dict[int, tuple[int, Conversation]]] = {}
"""Those whose socket was detached, by its descriptor, with its inode: a descriptor may become another's."""
_told: Final[WeakSet[Any]] = WeakSet()


def conversation_of(sock: Any) -> Conversation | None:
    """The conversation over a socket, which may have been taken over from another object: to put TLS on it, say."""
    if not (_talks or _moved) or not isinstance(sock, socket.socket):
        return None
    found = _talks.get(sock)
    if found is None and _moved:
        inode, moved = _moved.pop(sock.fileno(), (-1, None))
        if moved is not None and _inode(sock.fileno()) == inode:
            found = _talks[sock] = moved
    return found


_fstat = os.fstat  # before the seam in files meets it


def _inode(descriptor: int) -> int:
    return _fstat(descriptor).st_ino


def keep(sock: Any, talk: Conversation) -> None:
    """What goes over that socket is this conversation, from now on."""
    before = _talks.pop(sock, None)
    if before is not None:
        before.close(by_agent=True)
    _talks[sock] = talk


def under_way() -> dict[int, Conversation]:
    """The conversations that are there, by descriptor."""
    return {sock.fileno(): talk for sock, talk in list(_talks.items())}


def install(patches: Patches) -> None:
    """Meets the sockets that all of Python's are made of."""
    kind = _socket.socket
    for name, met in (
        ("bind", _bind),
        ("connect", _connect),
        ("connect_ex", _connect_ex),
        ("send", _send),
        ("sendall", _sendall),
        ("sendmsg", _sendmsg),
        ("sendto", _sendto),
        ("recv", _recv),
        ("recv_into", _recv_into),
        ("recvfrom", _recvfrom),
        ("recvfrom_into", _recvfrom_into),
        ("recvmsg", _recvmsg),
        ("shutdown", _shutdown),
        ("getpeername", _address),
        ("getsockname", _address),
        ("getsockopt", _getsockopt),
        ("close", _close),
        ("detach", _detach),
        ("listen", _listen),
    ):
        real = vars(kind)[name]
        patches.method_of_builtin(kind, name, _named(met(real), real))
    patches.set(socket.socket, "_sendfile_use_sendfile", _sendfile(socket.socket._sendfile_use_sendfile))  # type: ignore[attr-defined]
    for name, shape in _LOOK_UPS.items():
        real = getattr(_socket, name)
        patches.function(_socket, name, _named(_look_up(real, shape), real))


def _named(met: Any, real: Any) -> Any:
    met.__name__ = met.__qualname__ = real.__name__
    return met


def lane_and_talk(sock: Any) -> tuple[Lane | None, Conversation | None]:
    """The calling lane, if what it does is ours to see, and the conversation over that socket."""
    lane = get_lane()
    return (None, None) if lane is None or not lane.live else (lane, conversation_of(sock))


def _is_below(sock: Any) -> None:
    """What goes over a connection that the seam of a library has made is that seam's to see."""
    if get_lane() is MUTED and isinstance(sock, socket.socket):
        _told.add(sock)


def _goes_on(lane: Lane, sock: Any) -> None:
    """Something goes over a connection that was there before the run, or that another program has made."""
    session = lane.session
    if session is None or not session.recording or sock.family == socket.AF_UNIX or sock in _told:
        return
    _told.add(sock)
    try:
        text = f"goes on with {shown(_PEER(sock))} over a connection that was not made in this run"
    except OSError:
        return
    session.note("unseen", text, _real.getframe(2))


_PEER = _socket.socket.getpeername


# Beginning


def _connect(real: _Real) -> _Real:
    def connect(self: Any, address: Any, /) -> None:
        lane = current()
        if lane is None or watch.is_own(address):
            _is_below(self)
            watch.saw("socket.connect", self, address)
            real(self, address)
            return
        number = _begin(lane, self, address, lambda: real(self, address))
        if number:
            raise BlockingIOError(number, os.strerror(number))

    return connect


def _connect_ex(real: _Real) -> _Real:
    def connect_ex(self: Any, address: Any, /) -> int:
        lane = current()
        if lane is None or watch.is_own(address):
            _is_below(self)
            watch.saw("socket.connect", self, address)
            return int(real(self, address))
        return _begin(lane, self, address, lambda: real(self, address))

    return connect_ex


def _begin(lane: Lane, sock: Any, address: Any, perform: Callable[[], int | None]) -> int:
    """Begins a conversation; the number of the error by which it is told that it has not begun yet."""
    label = shown(address)
    crossing = Crossing.begin(lane, Call(Kind.SOCKET, f"connect to {label}"), revive)

    def answer() -> Answer:
        try:
            number = perform() or 0
        except BlockingIOError as error:
            number = error.errno or errno.EINPROGRESS
        return Answer(PartKind.OPENED, b"%d" % number)

    number = int(crossing.pull(answer).data)
    if number in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
        keep(sock, Conversation(crossing, label))
    return number


def shown(address: Any) -> str:
    """An address as one would type it."""
    if isinstance(address, tuple) and len(address) > 1:
        host = os.fsdecode(address[0]) if isinstance(address[0], bytes) else str(address[0])
        return f"[{host}]:{address[1]}" if ":" in host else f"{host}:{address[1]}"
    return os.fsdecode(address) if isinstance(address, str | bytes) else str(address)


def _listen(real: _Real) -> _Real:
    def listen(self: Any, *args: Any) -> None:
        real(self, *args)
        if isinstance(self, socket.socket):
            watch.owns(self, _NAME(self))

    return listen


_NAME = _socket.socket.getsockname


# Sending


def _send(real: _Real) -> _Real:
    def send(self: Any, data: Any, *flags: Any) -> int:
        lane, talk = lane_and_talk(self)
        if lane is not None and talk is None:
            _goes_on(lane, self)
        if lane is None or talk is None:
            return int(real(self, data, *flags))
        label, body = f"send to {talk.label}", talk.sent(bytes(data))
        return int(ask(lane, label, lambda: b"%d" % real(self, data, *flags), body, talk.crossing))

    return send


def _sendall(real: _Real) -> _Real:
    def sendall(self: Any, data: Any, *flags: Any) -> None:
        lane, talk = lane_and_talk(self)
        if lane is not None and talk is None:
            _goes_on(lane, self)
        if lane is None or talk is None:
            real(self, data, *flags)
            return

        def perform() -> bytes:
            real(self, data, *flags)
            return b""

        ask(lane, f"send to {talk.label}", perform, talk.sent(bytes(data)), talk.crossing)

    return sendall


def _sendmsg(real: _Real) -> _Real:
    def sendmsg(self: Any, buffers: Any, ancdata: Any = (), flags: int = 0, address: Any = None) -> int:
        parts = list(buffers)
        send = lambda: int(real(self, parts, ancdata, flags, address))  # noqa: E731
        return _to(self, address, lambda: b"".join(map(bytes, parts)), send, "socket.sendmsg")

    return sendmsg


def _sendto(real: _Real) -> _Real:
    def sendto(self: Any, data: Any, *rest: Any) -> int:
        address = rest[-1] if rest else None
        return _to(self, address, lambda: bytes(data), lambda: int(real(self, data, *rest)), "socket.sendto")

    return sendto


def _to(sock: Any, address: Any, data: Callable[[], bytes], perform: Callable[[], int], event: str) -> int:
    """Sends `data` to an address, which begins a conversation where there is none; None: to the other side."""
    lane, talk = lane_and_talk(sock)
    if lane is None or watch.is_own(address) or (talk is None and address is None):
        watch.saw(event, sock, address)
        return perform()
    label = shown(address) if address is not None else talk.label if talk is not None else ""
    talk = talk or messages(lane, sock, POST, label)
    return int(ask(lane, f"send to {label}", lambda: b"%d" % perform(), talk.sent(data()), talk.crossing))


def messages(
    lane: Lane, sock: Any, name: str, label: str, perform: Callable[[], object] = lambda: None
) -> Conversation:
    """Begins a conversation of messages that need no connection."""
    crossing = Crossing.begin(lane, Call(Kind.SOCKET, name), revive)

    def answer() -> Answer:
        perform()
        return Answer(PartKind.OPENED, b"")

    crossing.pull(answer)
    talk = Conversation(crossing, label)
    keep(sock, talk)
    return talk


def _bind(real: _Real) -> _Real:
    def bind(self: Any, address: Any, /) -> None:
        lane = current()
        if lane is None or not _has_ends(self) or self.family not in (socket.AF_INET, socket.AF_INET6):
            real(self, address)
            return
        # from now on messages may come from outside
        messages(lane, self, f"messages at {shown(address)}", shown(address), lambda: real(self, address))

    return bind


def _sendfile(real: _Real) -> _Real:
    def _sendfile_use_sendfile(self: Any, *args: Any, **kwargs: Any) -> Any:
        _, talk = lane_and_talk(self)
        if talk is not None:
            raise socket._GiveupOnSendfile  # type: ignore[attr-defined]  # it is sent piece by piece instead
        return real(self, *args, **kwargs)

    return _sendfile_use_sendfile


# Receiving


def _recv(real: _Real) -> _Real:
    def recv(self: Any, size: int, *flags: Any) -> bytes:
        lane, talk = lane_and_talk(self)
        if lane is not None and talk is None:
            _goes_on(lane, self)
        if lane is None or talk is None or size == 0:
            return bytes(real(self, size, *flags))
        return talk.receive(size, lambda: real(self, size, *flags), whole=_has_ends(self))

    return recv


def _recv_into(real: _Real) -> _Real:
    def recv_into(self: Any, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        lane, talk = lane_and_talk(self)
        view = memoryview(buffer).cast("B")
        size = nbytes or len(view)
        if lane is not None and talk is None:
            _goes_on(lane, self)
        if lane is None or talk is None or size == 0:
            return int(real(self, buffer, nbytes, flags))
        data = talk.receive(size, lambda: bytes(view[: real(self, buffer, nbytes, flags)]), whole=_has_ends(self))
        view[: len(data)] = data
        return len(data)

    return recv_into


def _recvfrom(real: _Real) -> _Real:
    def recvfrom(self: Any, size: int, *flags: Any) -> tuple[bytes, Any]:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None or size == 0:
            data, address = real(self, size, *flags)
            return data, address
        return _from(talk, lambda: real(self, size, *flags))

    return recvfrom


def _recvfrom_into(real: _Real) -> _Real:
    def recvfrom_into(self: Any, buffer: Any, nbytes: int = 0, flags: int = 0) -> tuple[int, Any]:
        lane, talk = lane_and_talk(self)
        view = memoryview(buffer).cast("B")
        if lane is None or talk is None or not (nbytes or len(view)):
            count, address = real(self, buffer, nbytes, flags)
            return count, address

        def perform() -> tuple[bytes, Any]:
            count, address = real(self, buffer, nbytes, flags)
            return bytes(view[:count]), address

        data, address = _from(talk, perform)
        view[: len(data)] = data
        return len(data), address

    return recvfrom_into


def _from(talk: Conversation, perform: Callable[[], tuple[bytes, Any]]) -> tuple[bytes, Any]:
    """A message with its sender."""
    message = talk.receive(0, lambda: packed(*perform()), whole=True)
    if not message:
        return b"", None
    data, address = message_of(message)
    return data, address


def _recvmsg(real: _Real) -> _Real:
    def recvmsg(self: Any, size: int, ancillary: int = 0, flags: int = 0) -> tuple[bytes, list[Any], int, Any]:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None:
            return real(self, size, ancillary, flags)  # type: ignore[no-any-return]
        perform = lambda: packed(*real(self, size, ancillary, flags))  # noqa: E731
        message = talk.receive(0, perform, whole=True)
        if not message:
            return b"", [], 0, None
        data, more, told, address = message_of(message)
        return data, [tuple(each) for each in more], told, address

    return recvmsg


def _has_ends(sock: Any) -> bool:
    return bool(sock.type == socket.SOCK_DGRAM)


# About it


def _address(real: _Real) -> _Real:
    def address(self: Any, /) -> Any:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None:
            return real(self)
        what = "own address" if real.__name__ == "getsockname" else "address of the other side"
        told = ask(lane, what, lambda: json.dumps(real(self), default=os.fsdecode).encode(), over=talk.crossing)
        found = json.loads(told)
        return tuple(found) if isinstance(found, list) else found

    return address


def _getsockopt(real: _Real) -> _Real:
    def getsockopt(self: Any, level: int, option: int, *rest: Any) -> Any:
        if (level, option) != (socket.SOL_SOCKET, socket.SO_ERROR):
            return real(self, level, option, *rest)
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None:
            return real(self, level, option, *rest)
        return int(ask(lane, "state of the connection", lambda: b"%d" % real(self, level, option), over=talk.crossing))

    return getsockopt


def _shutdown(real: _Real) -> _Real:
    def shutdown(self: Any, how: int, /) -> None:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None:
            real(self, how)
            return

        def perform() -> bytes:
            real(self, how)
            return b""

        ask(lane, f"shut down {talk.label}", perform, over=talk.crossing)

    return shutdown


def _close(real: _Real) -> _Real:
    def close(self: Any, /) -> None:
        talk = conversation_of(self)
        if talk is not None:
            talk.close(by_agent=current() is not None)
            del _talks[self]
        real(self)

    return close


def _detach(real: _Real) -> _Real:
    def detach(self: Any, /) -> int:
        talk = conversation_of(self)
        descriptor = int(real(self))
        if talk is not None:
            del _talks[self]
            _moved[descriptor] = (_inode(descriptor), talk)
        return descriptor

    return detach


# Names


def _tuples(found: Any) -> Any:
    return [(*about, tuple(address)) for *about, address in found]


_LOOK_UPS: Final[dict[str, Callable[[Any], Any]]] = {
    "getaddrinfo": _tuples,
    "gethostbyname": str,
    "gethostbyname_ex": tuple,
    "gethostbyaddr": tuple,
    "getnameinfo": tuple,
}


def _look_up(real: _Real, shape: Callable[[Any], Any]) -> _Real:
    event = f"socket.{real.__name__}"

    def look_up(*args: Any, **kwargs: Any) -> Any:
        lane = current()
        if lane is None or watch.needs_nobody(event, args[0] if args else kwargs.get("host")):
            watch.saw(event, *args)
            return real(*args, **kwargs)
        asked = json.dumps([args, kwargs], default=str).encode()
        name = f"look up {shown(args[0])}" if args else "look up"
        return shape(json.loads(ask(lane, name, lambda: json.dumps(real(*args, **kwargs)).encode(), asked)))

    return look_up
