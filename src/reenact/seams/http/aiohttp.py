"""The seam in aiohttp's client: the connector that finds a connection, and the protocol that is fed from it.

What comes from the connection is kept as it came and handed to aiohttp's own parser when its turn has come, in
recording and in replay; in replay the connection is none. Redirects, cookies and retries above it do what they did.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.engine import failure
from reenact.engine.call import Call, Outgoing
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.given import IN_TURN
from reenact.engine.lane import MUTED, Lane, current, get_lane, muted
from reenact.seams.http.aside import AT_ONCE
from reenact.seams.http.exchange import begin, request
from reenact.seams.http.head import decode_head, encode_head
from reenact.seams.http.wire import BodyLength, join_head, split_head
from reenact.seams.patch import Patches
from reenact.seams.sockets.backlog import Backlog
from reenact.seams.sockets.conversation import say
from reenact.seams.sockets.speech import signed_off
from reenact.tape.event import Failed, Kind, Part, PartKind

_WIRE = "_reenact_wire"
_BELOW = "_reenact_below"


def install(module: ModuleType, patches: Patches) -> None:
    """Meets every client session of aiohttp, whatever its connector."""
    from aiohttp import client_proto, connector

    protocol, base, connection = client_proto.ResponseHandler, connector.BaseConnector, connector.Connection
    patches.set(base, "__init__", _born(base.__init__))
    patches.set(base, "connect", _connect(base.connect, module, connection, protocol))
    patches.set(base, "close", _close(base.close))
    patches.set(protocol, "data_received", _data_received(protocol.data_received))
    patches.set(protocol, "connection_lost", _connection_lost(protocol.connection_lost))
    for name in ("release", "close"):
        patches.set(connection, name, _let_go(getattr(connection, name)))
    writer = importlib.import_module("aiohttp.http_websocket").WebSocketWriter
    patches.set(writer, "send_frame", _send_frame(writer.send_frame))


def _connect(real: Callable[..., Any], module: ModuleType, connection: type, protocol: type) -> Callable[..., Any]:
    async def connect(self: Any, req: Any, traces: Any, timeout: Any) -> Any:
        lane = current()
        if lane is None:
            return await real(self, req, traces, timeout)
        body = await _body(req)

        def build() -> Call:
            pairs = [(str(name), str(value)) for name, value in req.headers.items()]
            return request(req.method, str(req.url), pairs, body)

        crossing = begin(lane, build, _reviver(module, req), PartKind.OPENED)
        if crossing is None:
            return await real(self, req, traces, timeout)
        made: list[Any] = []

        async def perform() -> Answer:
            await _instead(crossing, req, body)
            found = await real(self, req, traces, timeout)
            while isinstance(found.protocol.transport, _NoTransport):
                found.close()  # the run was resumed, and this connection is of before that
                found = await real(self, req, traces, timeout)
            made.append(found)
            return Answer(PartKind.OPENED, b"")

        await crossing.apull(perform)
        if not made:
            with muted():
                proto = protocol(self._loop)
                proto.connection_made(_NoTransport(self._loop, proto))
            made.append(connection(self, req.connection_key, proto, self._loop))
        _Wire(crossing, lane, made[0].protocol, str(req.url.host)).attach()
        return made[0]

    return connect


async def _instead(crossing: Crossing, req: Any, body: bytes) -> None:
    """Makes the request another one where a branch sends that in its place."""
    asked = lambda: Outgoing(req.method, str(req.url), (*((str(k), str(v)) for k, v in req.headers.items()),), body)  # noqa: E731
    sent = crossing.sent(asked)
    if sent is not None:
        req.url = type(req.url)(sent.url)
        if sent.body != body:
            await req.update_body(sent.body)
        length = req.headers.get("Content-Length")
        req.headers.clear()
        req.headers.update(dict(sent.headers))
        if length is not None:
            req.headers["Content-Length"] = str(len(sent.body))


def _born(real: Callable[..., None]) -> Callable[..., None]:
    """What is made below a boundary, by a transport of httpx that stands on aiohttp, is there in a recording only."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  it takes the place of one
        if get_lane() is MUTED:
            self.__dict__[_BELOW] = True
        real(self, *args, **kwargs)

    __init__.__wrapped__ = real  # type: ignore[attr-defined]  # what `inspect.signature` shows
    return __init__


def _close(real: Callable[..., Any]) -> Callable[..., Any]:
    def close(self: Any, **options: Any) -> Any:
        lane = current()
        if lane is None or self.closed or _BELOW in self.__dict__:
            with muted():
                return real(self, **options)

        async def perform() -> Answer:
            await real(self, **options)
            return Answer(PartKind.VALUE, b"")

        crossing = Crossing.begin(
            lane, Call(Kind.CLOSE, "close the connector"), lambda failed: failure.decode(failed, ())
        )

        async def closing() -> None:
            await crossing.apull(perform)
            if crossing.served is not None:
                with muted():
                    await real(self, **options)

        # awaited or not, the connector is closed: aiohttp's own close begins at once too
        return asyncio.ensure_future(closing())

    return close


async def _body(req: Any) -> bytes:
    """The bytes of the request's body. A body that can be read once only is read here and sent from memory."""
    body = req.body
    if body is None or isinstance(body, bytes | bytearray):
        return bytes(body or b"")
    if isinstance(body, tuple):
        return b"".join(bytes(part) for part in body)
    data = bytes(await body.as_bytes())
    if getattr(body, "_consumed", False):
        from aiohttp.payload import BytesPayload

        req._body = BytesPayload(data, headers=body.headers)
    return data


def _reviver(module: ModuleType, req: Any) -> Callable[[Failed], BaseException]:
    import ssl

    def dress(error: BaseException) -> None:
        if isinstance(error, module.ClientConnectorError):
            key = req.connection_key
            error.args = (key, *error.args[1:])
            error._conn_key, error._os_error = key, error.args[-1]

    return lambda failed: failure.decode(failed, (module, asyncio, ssl), dress)


class _Wire:
    """One exchange on one connection: bytes go to the protocol when their turn has come."""

    def __init__(self, crossing: Crossing, lane: Lane, protocol: Any, label: str) -> None:
        self.label = label
        self.crossing = crossing
        self._lane = lane
        self._protocol = protocol
        self._context = contextvars.copy_context()
        self._early = bytearray()
        self._backlog = Backlog(lambda: bool(protocol._reading_paused))
        self._length: BodyLength | None = None
        self._over = False
        self._ended = False
        self.end_is_coming = False

    def attach(self) -> None:
        """The protocol's data goes through here from now on; in replay it comes from the tape."""
        self._protocol.__dict__[_WIRE] = self
        gate = self.crossing.gate
        if self.crossing.served is not None and gate is not None:
            for tick, part in self.crossing.pushed():
                self.end_is_coming = self.end_is_coming or part.kind in (PartKind.END, PartKind.FAILURE)
                deliver = functools.partial(self._serve, part)
                if tick >= 0:
                    self._context.run(gate.on_tick, tick, deliver)
                elif tick == IN_TURN:
                    self._context.run(gate.push, deliver)
                elif tick == AT_ONCE:
                    asyncio.get_running_loop().call_soon(deliver, context=self._context)
            self.crossing.when_lost(self.lost)

    @property
    def served(self) -> bool:
        """Whether the tape answers."""
        return self.crossing.served is not None

    def received(self, data: bytes) -> None:
        """The transport has data (recording)."""
        if self._length is None:
            self._early += data
            found = split_head(self._early)
            if found is None:
                return
            head, size = found
            self._length = BodyLength(head)
            rest = bytes(self._early[size:])
            self._push(Answer(PartKind.HEAD, encode_head(head)), lambda: self._feed(join_head(head)))
            data = rest
        if data:
            self._push(Answer(PartKind.CHUNK, data), lambda: self._feed(data))

    def lost(self, error: BaseException | None) -> None:
        """The transport is gone (recording)."""
        if self._early and self._length is None:
            early = bytes(self._early)
            self._push(Answer(PartKind.CHUNK, early), lambda: self._feed(early))
        self._push(Answer(PartKind.END, b"") if error is None else None, lambda: self._end(error), error)

    def let_go(self) -> None:
        """The connection is released or closed."""
        if self._over:
            return
        self._over = True
        self._protocol.__dict__.pop(_WIRE, None)
        if self._ended:
            return
        self.crossing.drop(whole=self._length is not None and self._length.whole)

    def _push(self, answer: Answer | None, deliver: Callable[[], None], error: BaseException | None = None) -> None:
        gate = self.crossing.gate
        size = len(answer.data) if answer is not None else 0

        def arrived() -> None:
            self._backlog.less(size, self._protocol.transport)
            if self._over:
                return
            if answer is not None:
                self.crossing.deliver(answer)
                if answer.kind is PartKind.CHUNK and self._length is not None:
                    self._length.count(answer.data)
            elif error is not None:
                self.crossing.fail(error)
            deliver()

        self._backlog.more(size, self._protocol.transport)
        if gate is None:
            arrived()
        else:
            self._context.run(gate.push, arrived)

    def _serve(self, part: Part) -> None:
        if self._over:
            return
        self.crossing.take(part)
        if part.kind == PartKind.HEAD:
            head = decode_head(part.data)
            self._length = BodyLength(head)
            self._feed(join_head(head))
        elif part.kind == PartKind.CHUNK:
            if self._length is not None:
                self._length.count(part.data)
            self._feed(part.data)
        else:
            self._end(failure.decode(part.failed, (asyncio,)) if part.failed is not None else None)

    def _feed(self, data: bytes) -> None:
        type(self._protocol).data_received.__wrapped__(self._protocol, data)

    def _end(self, error: BaseException | None) -> None:
        self._ended = True
        type(self._protocol).connection_lost.__wrapped__(self._protocol, error)


def _data_received(real: Callable[..., None]) -> Callable[..., None]:
    def data_received(self: Any, data: bytes) -> None:
        wire: _Wire | None = self.__dict__.get(_WIRE)
        if wire is None or not data:
            real(self, data)
        else:
            wire.received(bytes(data))

    data_received.__wrapped__ = real  # type: ignore[attr-defined]
    return data_received


def _connection_lost(real: Callable[..., None]) -> Callable[..., None]:
    def connection_lost(self: Any, exc: BaseException | None) -> None:
        wire: _Wire | None = self.__dict__.get(_WIRE)
        if wire is None or wire.served:
            real(self, exc)
        else:
            wire.lost(exc)

    connection_lost.__wrapped__ = real  # type: ignore[attr-defined]
    return connection_lost


def _let_go(real: Callable[..., None]) -> Callable[..., None]:
    def let_go(self: Any) -> None:
        protocol = self._protocol
        wire: _Wire | None = protocol.__dict__.get(_WIRE) if protocol is not None else None
        if wire is not None:
            wire.let_go()
        if wire is None:
            return real(self)
        with muted():
            return real(self)

    return let_go


def _send_frame(real: Callable[..., Any]) -> Callable[..., Any]:
    async def send_frame(self: Any, message: bytes, opcode: int, compress: int | None = None) -> None:
        wire: _Wire | None = self.protocol.__dict__.get(_WIRE)
        lane = current()
        if wire is not None and lane is not None:
            say(lane, wire.label, bytes([opcode]) + signed_off(bytes(message)), lambda: None, wire.crossing)
        await real(self, message, opcode, compress)

    return send_frame


class _NoTransport(asyncio.Transport):
    """Takes the place of a connection in replay: what is written goes nowhere, and nothing comes by itself."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: Any) -> None:
        super().__init__()
        self._loop, self._protocol, self._closing = loop, protocol, False

    def write(self, data: Any) -> None:
        """Nothing leaves."""

    def writelines(self, list_of_data: Any) -> None:
        """Nothing leaves."""

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        wire: _Wire | None = self._protocol.__dict__.get(_WIRE)
        if wire is None or not wire.end_is_coming:  # else the tape says when the connection was gone
            with muted():
                self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        """Nothing comes by itself, so there is nothing to pause."""

    resume_reading = pause_reading

    def get_write_buffer_size(self) -> int:
        return 0
