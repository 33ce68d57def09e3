"""The seam in the connections of event loops: what comes is handed to the protocol when its turn has come.

The agent has a transport of ours in recording and in replay. In a recording there is a real one behind it; in replay
there is none, and the tape says what comes. A protocol is never told to stop writing: how soon the other side reads is
nobody's doing, and would be another in each run.
"""

from __future__ import annotations

import asyncio
import asyncio.protocols
import asyncio.selector_events
import asyncio.unix_events
import functools
import json
import os
import socket
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final

from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import current, muted
from reenact.seams.patch import Patches
from reenact.seams.sockets import blocking, watch
from reenact.seams.sockets.backlog import Backlog
from reenact.seams.sockets.conversation import asked, revive, say
from reenact.seams.sockets.speech import Speech
from reenact.seams.sockets.tls import about, certificate
from reenact.tape.event import Kind, Part, PartKind

_Real = Callable[..., Any]
_NAMES: Final = ("peername", "sockname")


def install(patches: Patches) -> None:
    """Meets asyncio's own loops."""
    base: Any = asyncio.base_events.BaseEventLoop
    unix: Any = asyncio.unix_events._UnixSelectorEventLoop
    patches.set(base, "create_connection", _connection(base.create_connection, _by_address))
    patches.set(unix, "create_unix_connection", _connection(unix.create_unix_connection, _by_path))
    patches.set(base, "start_tls", _start_tls(base.start_tls))


# Transports


def _by_address(host: Any = None, port: Any = None, **options: Any) -> Any:
    sock = options.get("sock")
    return sock.getpeername() if sock is not None else (host, port)


def _by_path(path: Any = None, **options: Any) -> Any:
    sock = options.get("sock")
    return sock.getpeername() if sock is not None else os.fspath(path)


def _connection(real: _Real, address_of: Callable[..., Any]) -> _Real:
    @functools.wraps(real)
    async def create(self: Any, protocol_factory: Callable[[], Any], *args: Any, **options: Any) -> tuple[Any, Any]:
        lane = current()
        if lane is None or (not args and options.keys().isdisjoint(("host", "path", "sock"))):
            return await real(self, protocol_factory, *args, **options)  # type: ignore[no-any-return]
        address = address_of(*args, **options)
        if watch.is_own(address):
            return await real(self, protocol_factory, *args, **options)  # type: ignore[no-any-return]
        label, context = blocking.shown(address), options.get("ssl")
        secure = " with TLS" if context else ""
        crossing = Crossing.begin(lane, Call(Kind.SOCKET, f"connect to {label}{secure}"), revive)
        line = Line(self, crossing, label, tls=bool(context))

        async def perform() -> Answer:
            line.real, _ = await real(self, lambda: _Relay(line), *args, **options)
            return Answer(PartKind.OPENED, line.found())

        opened = await crossing.apull(perform)
        line.open(opened.data, context)
        line.protocol = protocol_factory()
        transport = _Transport(line)
        line.protocol.connection_made(transport)
        line.expect()
        return transport, line.protocol

    return create


def _start_tls(real: _Real) -> _Real:
    @functools.wraps(real)
    async def start_tls(self: Any, transport: Any, protocol: Any, sslcontext: Any, **options: Any) -> Any:
        lane = current()
        if lane is None or not isinstance(transport, _Transport):
            return await real(self, transport, protocol, sslcontext, **options)
        line = transport.line

        async def perform() -> bytes:
            line.real = await real(self, line.real, line.relay, sslcontext, **options)
            return line.found()

        name = options.get("server_hostname") or line.label
        found = await asked(lane, f"TLS with {name}", perform, over=line.crossing)
        line.tls = True
        line.open(found, sslcontext)
        line.protocol = protocol
        return _Transport(line)

    return start_tls


class Line:
    """One connection of a loop: what comes over it goes on tape in its turn, or comes from there."""

    kind = socket.SOCK_STREAM

    def __init__(self, loop: Any, crossing: Crossing, label: str, *, tls: bool) -> None:
        self.loop = loop
        self.label = label
        self.tls = tls
        self.real: Any = None
        self.relay: Any = None
        self.protocol: Any = None
        self.about: dict[str, Any] = {}
        self.context: Any = None
        self.closing = False
        self.lost = False
        self.paused = False
        self._socket: Any = None
        self._held: deque[Callable[[], None]] = deque()
        self._backlog = Backlog(lambda: self.paused)
        self._speech = Speech()
        self.crossing = crossing
        self._turns = copy_context()

    @property
    def served(self) -> bool:
        """Whether the tape answers."""
        return self.crossing.served is not None

    # What there is to know of it

    def found(self) -> bytes:
        """What the loop knows of the connection, as it stands on tape."""
        secured = self.real.get_extra_info("ssl_object")
        facts = {name: self.real.get_extra_info(name) for name in _NAMES}
        return json.dumps({**facts, **(about(secured) if secured is not None else {})}, default=os.fsdecode).encode()

    def open(self, found: bytes, context: Any) -> None:
        """It is there."""
        self.about, self.context = json.loads(found), context

    def info(self, name: str, default: Any) -> Any:
        """What `get_extra_info` tells."""
        if self.real is not None:
            return self.real.get_extra_info(name, default)
        if name == "socket":
            return self._stand_in()
        if name == "sslcontext" and self.tls:
            return self.context
        if name == "ssl_object" and self.tls:
            return _Secured(self)
        if name == "peercert" and self.tls:
            return certificate(self.about, binary=False)
        found = self.about.get(name, default) if name in (*_NAMES, "cipher", "compression") else default
        return tuple(found) if isinstance(found, list) else found

    def _stand_in(self) -> Any:
        if self._socket is None:
            address = self.about.get("peername")
            family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
            if isinstance(address, list) and ":" in str(address[0]):
                family = socket.AF_INET6
            with muted():
                self._socket = _StandIn(family, self.kind)
                self._socket.line = self
        return self._socket

    # What comes

    def came(self, kind: PartKind, data: bytes = b"", error: BaseException | None = None) -> None:
        """The real transport has something (recording). A chunk without data: the other side sends no more."""
        gate = self.crossing.gate

        def arrived() -> None:
            self._backlog.less(len(data), self.real)
            if self.closing and kind is PartKind.CHUNK:
                return
            if error is not None:
                self.crossing.fail(error)
            else:
                self.crossing.deliver(Answer(kind, data))
            self._deliver(kind, data, error)

        self._backlog.more(len(data), self.real)
        if gate is None:
            arrived()
        else:
            self._turns.run(gate.push, arrived)

    def expect(self) -> None:
        """What is on tape comes when it is its turn (replay)."""
        gate = self.crossing.gate
        if self.served and gate is not None:
            for tick, part in self.crossing.pushed():
                if tick >= 0:
                    self._turns.run(gate.on_tick, tick, functools.partial(self._serve, part))
            self.crossing.when_lost(lambda error: self.came(PartKind.FAILURE, b"", error))

    def _serve(self, part: Part) -> None:
        self.crossing.take(part)
        error = revive(part.failed) if part.failed is not None else None
        self._deliver(PartKind(part.kind), part.data, error)

    def _deliver(self, kind: PartKind, data: bytes, error: BaseException | None) -> None:
        if kind is not PartKind.CHUNK:
            self._end(error)
        elif self.paused:
            self._held.append(functools.partial(self._feed, data))
        else:
            self._feed(data)

    def resume(self) -> None:
        """The protocol wants to hear again."""
        self.paused = False
        if self._held:
            self.loop.call_soon(self._feed_held)

    def _feed_held(self) -> None:
        while self._held and not self.paused and not self.closing:
            self._held.popleft()()

    def _feed(self, data: bytes) -> None:
        protocol = self.protocol
        try:
            if not data:
                if not protocol.eof_received() and not self.tls:
                    self.close()
            elif isinstance(protocol, asyncio.BufferedProtocol):
                asyncio.protocols._feed_data_to_buffered_proto(protocol, data)  # type: ignore[attr-defined]
            else:
                protocol.data_received(data)
        except Exception as error:  # noqa: BLE001  as asyncio's transports do
            what = {"message": "Fatal error on transport", "exception": error, "protocol": protocol}
            self.loop.call_exception_handler(what)
            self.close()

    def _end(self, error: BaseException | None) -> None:
        if not self.lost:
            self.lost = self.closing = True
            self.gone()
            self.protocol.connection_lost(error)
            if not self.tls:
                self.protocol = None  # as in asyncio's own

    # What the agent does

    def write(self, data: bytes) -> None:
        """Sends it."""
        lane = current()
        if lane is None or self.lost:
            if self.real is not None and not self.lost:
                self.real.write(data)
            return
        write = lambda: self.real is not None and self.real.write(data)  # noqa: E731
        say(lane, self.label, self._speech.sent(data), write, self.crossing)

    def write_eof(self) -> None:
        """Nothing more is sent."""
        if self.real is not None:
            with muted():
                self.real.write_eof()

    def close(self, how: str = "close") -> None:
        """Closes it, and the protocol is told when it is closed."""
        self.closing = True
        if self.real is not None:
            with muted():
                getattr(self.real, how)()
        elif not self._ends:
            self.gone()

    @property
    def _ends(self) -> bool:
        return any(part.kind in (PartKind.END, PartKind.FAILURE) for _, part in self.crossing.pushed())

    def gone(self) -> None:
        """Lets go of what stands for a socket."""
        if self._socket is not None:
            with muted():
                self._socket.close()


class _Relay(asyncio.Protocol):
    """What the real transport talks to."""

    def __init__(self, line: Line) -> None:
        self._line = line
        line.relay = self

    def data_received(self, data: bytes) -> None:
        self._line.came(PartKind.CHUNK, bytes(data))

    def eof_received(self) -> bool:
        self._line.came(PartKind.CHUNK)
        return not self._line.tls

    def connection_lost(self, exc: BaseException | None) -> None:
        self._line.came(PartKind.END if exc is None else PartKind.FAILURE, b"", exc)


class _Transport(asyncio.Transport):
    """What the agent talks to."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self.line = line

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.line.info(name, default)

    def is_closing(self) -> bool:
        return self.line.closing

    def close(self) -> None:
        if not self.line.closing:
            self.line.close()

    def abort(self) -> None:
        if not self.line.lost:
            self.line.close("abort")

    def set_protocol(self, protocol: Any) -> None:
        self.line.protocol = protocol

    def get_protocol(self) -> Any:
        return self.line.protocol

    def is_reading(self) -> bool:
        return not self.line.paused and not self.line.closing

    def pause_reading(self) -> None:
        self.line.paused = True
        if self.line.real is not None:
            with muted():
                self.line.real.pause_reading()

    def resume_reading(self) -> None:
        if self.line.real is not None:
            with muted():
                self.line.real.resume_reading()
        self.line.resume()

    def write(self, data: Any) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data argument must be a bytes-like object, not {type(data).__name__!r}")
        if data:
            self.line.write(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return not self.line.tls

    def write_eof(self) -> None:
        if self.line.tls:
            raise NotImplementedError
        self.line.write_eof()

    def get_write_buffer_size(self) -> int:
        return 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (0, 0)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nobody is told to stop writing."""


class _StandIn(socket.socket):
    """Takes the place of a connected socket in replay."""

    line: Any = None

    def getpeername(self) -> Any:
        return self.line.info("peername", None)

    def getsockname(self) -> Any:
        return self.line.info("sockname", None)


class _Secured:
    """Takes the place of an `ssl.SSLObject` in replay: what there is to know of the session."""

    def __init__(self, line: Line) -> None:
        self._about = line.about
        self.context = line.context
        self.server_side = False

    def cipher(self) -> Any:
        return tuple(self._about["cipher"]) if self._about["cipher"] else None

    def version(self) -> Any:
        return self._about["version"]

    def compression(self) -> Any:
        return self._about["compression"]

    def selected_alpn_protocol(self) -> Any:
        return self._about["selected_alpn_protocol"]

    def getpeercert(self, binary_form: bool = False) -> Any:  # noqa: FBT001, FBT002  as it is
        return certificate(self._about, binary=binary_form)
