"""The seam in messages without a connection (UDP) of event loops: each is handed to the protocol in its turn."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
from collections.abc import Callable
from typing import Any

from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import current
from reenact.seams.patch import Patches
from reenact.seams.sockets.blocking import shown
from reenact.seams.sockets.conversation import faltered, message_of, packed, raised, revive, say
from reenact.seams.sockets.transports import Line, _Transport
from reenact.tape.event import Kind, PartKind

_Real = Callable[..., Any]
_BROKEN = "Exception in callback _SelectorDatagramTransport._read_ready()"


def install(patches: Patches) -> None:
    """Meets asyncio's own loops."""
    base: Any = asyncio.base_events.BaseEventLoop
    patches.set(base, "create_datagram_endpoint", _endpoint(base.create_datagram_endpoint))


def _endpoint(real: _Real) -> _Real:
    @functools.wraps(real)
    async def create_datagram_endpoint(
        self: Any,
        protocol_factory: Callable[[], Any],
        local_addr: Any = None,
        remote_addr: Any = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        lane = current()
        if lane is None:
            return await real(self, protocol_factory, local_addr, remote_addr, **options)  # type: ignore[no-any-return]
        crossing = Crossing.begin(lane, Call(Kind.SOCKET, _named(local_addr, remote_addr)), revive)
        post = _Post(self, crossing, "", tls=False)

        async def perform() -> Answer:
            post.real, _ = await real(self, lambda: _Relay(post), local_addr, remote_addr, **options)
            return Answer(PartKind.OPENED, post.found())

        opened = await crossing.apull(perform)
        post.open(opened.data, None)
        post.protocol = protocol_factory()
        transport = _PostTransport(post)
        post.protocol.connection_made(transport)
        post.expect()
        return transport, post.protocol

    return create_datagram_endpoint


def _named(local: Any, remote: Any) -> str:
    if remote is not None:
        return f"messages with {shown(remote)}"
    return f"messages at {shown(local)}" if local is not None else "messages without a connection"


class _Post(Line):
    """What is sent and received over one socket of a loop, message by message."""

    kind = socket.SOCK_DGRAM

    def found(self) -> bytes:
        """What the loop knows of it, and the one address that it sends to, if there is one."""
        remote = getattr(self.real, "_address", None)
        return json.dumps({**json.loads(super().found()), "remote": remote}).encode()

    def sendto(self, data: bytes, address: Any) -> None:
        """Sends a message."""
        remote = self.about["remote"]
        only = tuple(remote) if isinstance(remote, list) else remote
        if only and address not in (None, only):
            raise ValueError(f"Invalid address: must be None or {only}")
        if self.closing:
            return
        lane = current()
        if lane is None:
            if self.real is not None:
                self.real.sendto(data, address)
            return
        to = shown(address or only or self.info("peername", None))
        send = lambda: self.real is not None and self.real.sendto(data, address)  # noqa: E731
        say(lane, to, self._speech.sent(data), send, self.crossing)

    def _deliver(self, kind: PartKind, data: bytes, error: BaseException | None) -> None:
        if kind is PartKind.CHUNK:
            self._feed(data)
        elif kind is PartKind.FALTERED:
            self.protocol.error_received(raised(data, self.crossing))
        else:
            self._end(error)

    def _feed(self, data: bytes) -> None:
        try:
            self.protocol.datagram_received(*message_of(data))
        except Exception as error:  # noqa: BLE001  as asyncio's loops do
            self.loop.call_exception_handler({"message": _BROKEN, "exception": error})


class _Relay(asyncio.DatagramProtocol):
    """What the real transport talks to."""

    def __init__(self, post: _Post) -> None:
        self._post = post

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._post.came(PartKind.CHUNK, packed(data, addr))

    def error_received(self, exc: Exception) -> None:
        self._post.came(PartKind.FALTERED, faltered(exc))

    def connection_lost(self, exc: Exception | None) -> None:
        self._post.came(PartKind.END if exc is None else PartKind.FAILURE, b"", exc)


class _PostTransport(_Transport, asyncio.DatagramTransport):
    """What the agent talks to."""

    line: _Post

    def sendto(self, data: Any, addr: Any = None) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data argument must be a bytes-like object, not {type(data).__name__!r}")
        self.line.sendto(bytes(data), addr)
