"""The seam in TLS over Python's sockets: the handshake is an event, and what is said is kept above TLS."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from typing import Any

from reenact.seams.patch import Patches
from reenact.seams.sockets.blocking import conversation_of, lane_and_talk
from reenact.seams.sockets.conversation import ask

_Real = Callable[..., Any]


def install(patches: Patches) -> None:
    """Meets `ssl.SSLSocket`. What has no socket of its own (`MemoryBIO`) is met where its bytes go."""
    kind = ssl.SSLSocket
    for name, met in (
        ("do_handshake", _do_handshake),
        ("read", _read),
        ("write", _send),
        ("send", _send),
        ("sendall", _sendall),
        ("pending", _pending),
        ("unwrap", _unwrap),
    ):
        patches.set(kind, name, met(getattr(kind, name)))
    for name in ("cipher", "version", "compression", "selected_alpn_protocol"):
        patches.set(kind, name, _told(getattr(kind, name)))
    patches.set(kind, "getpeercert", _getpeercert(kind.getpeercert))


def _do_handshake(real: _Real) -> _Real:
    def do_handshake(self: Any, block: bool = False) -> None:  # noqa: FBT001, FBT002  as it is
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None:
            real(self, block)
            return

        def perform() -> bytes:
            real(self, block)
            return json.dumps(about(self)).encode()

        name = self.server_hostname or talk.label
        talk.tls = json.loads(ask(lane, f"TLS with {name}", perform, over=talk.crossing))

    return do_handshake


def about(sock: Any) -> dict[str, Any]:
    """What there is to know of a session that has begun."""
    certificate = sock.getpeercert(binary_form=True)
    return {
        "cipher": sock.cipher(),
        "version": sock.version(),
        "compression": sock.compression(),
        "selected_alpn_protocol": sock.selected_alpn_protocol(),
        "certificate": base64.b64encode(certificate).decode() if certificate else None,
        "getpeercert": sock.getpeercert(),
    }


def _told(real: _Real) -> _Real:
    def told(self: Any) -> Any:
        talk = conversation_of(self)
        if talk is None or not talk.served or talk.tls is None:
            return real(self)
        found = talk.tls[real.__name__]
        return tuple(found) if isinstance(found, list) else found

    return told


def _getpeercert(real: _Real) -> _Real:
    def getpeercert(self: Any, binary_form: bool = False) -> Any:  # noqa: FBT001, FBT002  as it is
        talk = conversation_of(self)
        if talk is None or not talk.served or talk.tls is None:
            return real(self, binary_form)
        return certificate(talk.tls, binary=binary_form)

    return getpeercert


def certificate(about: dict[str, Any], *, binary: bool) -> Any:
    """The other side's certificate, as `getpeercert` gives it."""
    if binary:
        held = about["certificate"]
        return base64.b64decode(held) if held is not None else None
    told = about["getpeercert"]
    return {name: _tuples(value) for name, value in told.items()} if told is not None else None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _read(real: _Real) -> _Real:
    def read(self: Any, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002  its name
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None or talk.tls is None or len == 0:
            return real(self, len, buffer)
        if buffer is None:
            return talk.receive(len, lambda: real(self, len))
        view = memoryview(buffer).cast("B")
        data = talk.receive(len, lambda: bytes(view[: real(self, len, buffer)]))
        count = memoryview(data).nbytes
        view[:count] = data
        return count

    return read


def _send(real: _Real) -> _Real:
    def send(self: Any, data: Any, *flags: Any) -> int:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None or talk.tls is None:
            return int(real(self, data, *flags))
        label, body = f"send to {talk.label}", talk.sent(bytes(data))
        return int(ask(lane, label, lambda: b"%d" % real(self, data, *flags), body, talk.crossing))

    return send


def _sendall(real: _Real) -> _Real:
    def sendall(self: Any, data: Any, flags: int = 0) -> None:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None or talk.tls is None:
            real(self, data, flags)
            return

        def perform() -> bytes:
            real(self, data, flags)
            return b""

        ask(lane, f"send to {talk.label}", perform, talk.sent(bytes(data)), talk.crossing)

    return sendall


def _pending(real: _Real) -> _Real:
    def pending(self: Any) -> int:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None or talk.tls is None:
            return int(real(self))
        return int(ask(lane, "what is there of an answer", lambda: b"%d" % real(self), over=talk.crossing))

    return pending


def _unwrap(real: _Real) -> _Real:
    def unwrap(self: Any) -> Any:
        lane, talk = lane_and_talk(self)
        if lane is None or talk is None or talk.tls is None:
            return real(self)
        made: list[Any] = []

        def perform() -> bytes:
            made.append(real(self))
            return b""

        ask(lane, f"end of TLS with {talk.label}", perform, over=talk.crossing)
        talk.tls = None
        if not made:
            self._sslobj = None
            made.append(self)
        return made[0]

    return unwrap
