"""The seam in sockets that an event loop waits for: as those that block, suspending the calling task instead."""

from __future__ import annotations

import asyncio.selector_events
import functools
from collections.abc import Awaitable, Callable
from typing import Any

from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import current
from reenact.seams.patch import Patches
from reenact.seams.sockets import blocking, watch
from reenact.seams.sockets.conversation import Conversation, asked, message_of, packed, revive
from reenact.tape.event import Kind, PartKind

_Real = Callable[..., Any]


def install(patches: Patches) -> None:
    """Meets asyncio's own loops."""
    chosen: Any = asyncio.selector_events.BaseSelectorEventLoop
    for name, met in (
        ("sock_connect", _sock_connect),
        ("sock_recv", _sock_recv),
        ("sock_recv_into", _sock_recv_into),
        ("sock_sendall", _sock_sendall),
        ("sock_recvfrom", _sock_recvfrom),
        ("sock_recvfrom_into", _sock_recvfrom_into),
        ("sock_sendto", _sock_sendto),
    ):
        patches.set(chosen, name, met(getattr(chosen, name)))


def _sock_connect(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_connect(self: Any, sock: Any, address: Any) -> None:
        lane = current()
        if lane is None or watch.is_own(address):
            await real(self, sock, address)
            return
        label = blocking.shown(address)
        crossing = Crossing.begin(lane, Call(Kind.SOCKET, f"connect to {label}"), revive)

        async def perform() -> Answer:
            await real(self, sock, address)
            return Answer(PartKind.OPENED, b"")

        await crossing.apull(perform)
        blocking.keep(sock, Conversation(crossing, label))

    return sock_connect


def _sock_recv(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_recv(self: Any, sock: Any, n: int) -> bytes:
        lane, talk = blocking.lane_and_talk(sock)
        if lane is None or talk is None or n == 0:
            return bytes(await real(self, sock, n))
        return await talk.areceive(n, lambda: real(self, sock, n))

    return sock_recv


def _sock_recv_into(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_recv_into(self: Any, sock: Any, buf: Any) -> int:
        lane, talk = blocking.lane_and_talk(sock)
        view = memoryview(buf).cast("B")
        if lane is None or talk is None or len(view) == 0:
            return int(await real(self, sock, buf))

        async def perform() -> bytes:
            return bytes(view[: await real(self, sock, buf)])

        data = await talk.areceive(len(view), perform)
        view[: len(data)] = data
        return len(data)

    return sock_recv_into


def _sock_sendall(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_sendall(self: Any, sock: Any, data: Any) -> None:
        lane, talk = blocking.lane_and_talk(sock)
        if lane is None or talk is None:
            await real(self, sock, data)
            return

        async def perform() -> bytes:
            await real(self, sock, data)
            return b""

        await asked(lane, f"send to {talk.label}", perform, talk.sent(bytes(data)), talk.crossing)

    return sock_sendall


def _sock_sendto(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_sendto(self: Any, sock: Any, data: Any, address: Any) -> int:
        lane, talk = blocking.lane_and_talk(sock)
        if lane is None or watch.is_own(address):
            return int(await real(self, sock, data, address))
        label = blocking.shown(address)
        talk = talk or blocking.messages(lane, sock, blocking.POST, label)

        async def perform() -> bytes:
            return b"%d" % await real(self, sock, data, address)

        return int(await asked(lane, f"send to {label}", perform, talk.sent(bytes(data)), talk.crossing))

    return sock_sendto


def _sock_recvfrom(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_recvfrom(self: Any, sock: Any, bufsize: int) -> tuple[bytes, Any]:
        lane, talk = blocking.lane_and_talk(sock)
        if lane is None or talk is None or bufsize == 0:
            return await real(self, sock, bufsize)  # type: ignore[no-any-return]
        return await _from(talk, lambda: real(self, sock, bufsize))

    return sock_recvfrom


def _sock_recvfrom_into(real: _Real) -> _Real:
    @functools.wraps(real)
    async def sock_recvfrom_into(self: Any, sock: Any, buf: Any, nbytes: int = 0) -> tuple[int, Any]:
        lane, talk = blocking.lane_and_talk(sock)
        view = memoryview(buf).cast("B")
        if lane is None or talk is None or not len(view):
            return await real(self, sock, buf, nbytes)  # type: ignore[no-any-return]

        async def perform() -> tuple[bytes, Any]:
            count, address = await real(self, sock, buf, nbytes)
            return bytes(view[:count]), address

        data, address = await _from(talk, perform)
        view[: len(data)] = data
        return len(data), address

    return sock_recvfrom_into


async def _from(talk: Conversation, perform: Callable[[], Awaitable[tuple[bytes, Any]]]) -> tuple[bytes, Any]:
    """A message with its sender."""

    async def message() -> bytes:
        return packed(*await perform())

    data, address = message_of(await talk.areceive(0, message, whole=True))
    return data, address
