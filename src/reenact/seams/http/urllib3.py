"""The seam in urllib3, which requests and botocore are built on: one attempt at one request, at the level of the wire.

The bytes that come from the socket are kept. In replay the real urllib3 and http.client read them again from a socket
that is none, so that everything above them (retries, redirects, decoding, streaming) does what it did.
"""

from __future__ import annotations

import http.client
import io
import os
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import msgspec

from reenact.engine import failure
from reenact.engine.call import Call, Outgoing
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import current, muted
from reenact.seams.http.exchange import begin, request
from reenact.seams.http.head import Head, decode_head, encode_head
from reenact.seams.http.wire import BodyLength, join_head, split_head
from reenact.seams.patch import Patches
from reenact.tape.event import Failed, Kind, PartKind

_tee = threading.local()


def install(module: ModuleType, patches: Patches) -> None:
    """Meets every connection pool of urllib3 (2.x)."""
    import urllib3.connectionpool
    import urllib3.exceptions

    pool = urllib3.connectionpool.HTTPConnectionPool
    modules = (urllib3.exceptions, http.client, *_ssl())
    patches.set(pool, "_make_request", _make_request(pool._make_request, modules))
    for kind in (pool, urllib3.connectionpool.HTTPSConnectionPool):
        patches.set(kind, "_prepare_proxy", _prepare_proxy(kind._prepare_proxy, modules))
    patches.set(http.client.HTTPResponse, "__init__", _teeing(http.client.HTTPResponse.__init__))
    del module


def _ssl() -> tuple[ModuleType, ...]:
    import socket
    import ssl

    return (ssl, socket)


def _make_request(real: Callable[..., Any], modules: tuple[ModuleType, ...]) -> Callable[..., Any]:
    def _make_request(
        self: Any, conn: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> Any:
        lane = current()
        if lane is None:
            return real(self, conn, method, url, body=body, headers=headers, **options)
        sent, body = _body(body)

        def build() -> Call:
            return request(method, _full_url(self, url), _pairs(headers), sent)

        crossing = begin(lane, build, _reviver(modules, self, conn))
        if crossing is None:
            return real(self, conn, method, url, body=body, headers=headers, **options)

        def run() -> Any:
            asked = lambda: Outgoing(method, _full_url(self, url), _pairs(headers), sent)  # noqa: E731
            instead = crossing.sent(asked) if crossing.served is None else None
            if instead is None:
                return real(self, conn, method, url, body=body, headers=headers, **options)
            return _elsewhere(real, instead, {**options, "response_conn": None})

        if crossing.served is not None:
            return _served(crossing, conn, run)
        return _recorded(crossing, conn, run)

    return _make_request


def _pairs(headers: Any) -> tuple[tuple[str, str], ...]:
    return tuple((_text(name), _text(value)) for name, value in (headers or {}).items())


def _elsewhere(real: Callable[..., Any], instead: Outgoing, options: dict[str, Any]) -> Any:
    """Sends what a branch sends in the place of a request, over a connection of its own."""
    import urllib3

    pool = urllib3.PoolManager().connection_from_url(instead.url)
    parts = urlsplit(instead.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return real(pool, pool._get_conn(), instead.method, target, instead.body, dict(instead.headers), **options)


def _recorded(crossing: Crossing, conn: Any, run: Callable[[], Any]) -> Any:
    tee = _Tee(crossing)
    made: list[Any] = []

    def perform() -> Answer:
        if isinstance(getattr(conn, "sock", None), _NoSocket):
            conn.close()  # the run was resumed, and this connection is of before that
        _tee.active = tee
        try:
            made.append(run())
        finally:
            _tee.active = None
        verified = bool(getattr(conn, "is_verified", True))
        return Answer(PartKind.HEAD, b"", lambda: encode_head(tee.head(verified)))

    crossing.pull(perform)
    tee.body_begins()
    return made[0]


def _served(crossing: Crossing, conn: Any, run: Callable[[], Any]) -> Any:
    head = decode_head(crossing.pull(_never).data)
    conn.sock = _NoSocket(_ServedBytes(crossing, join_head(head)))
    conn.is_verified = head.verified
    with muted():
        return run()


def _prepare_proxy(real: Callable[..., None], modules: tuple[ModuleType, ...]) -> Callable[..., None]:
    def _prepare_proxy(self: Any, conn: Any) -> None:
        lane = current()
        if lane is None:
            return real(self, conn)

        answered = lane.session is not None and lane.session.source is not None

        def perform() -> Answer:
            if not answered:
                real(self, conn)
            return Answer(PartKind.VALUE, b"")

        call = Call(Kind.CONNECT, f"connect to proxy {self.proxy.host}:{self.proxy.port} for {self.host}:{self.port}")
        crossing = Crossing.begin(lane, call, _reviver(modules, self, conn))
        crossing.pull(perform)
        if crossing.served is not None or answered:
            conn.sock = _NoSocket(io.BytesIO())
        return None

    return _prepare_proxy


def _never() -> Answer:
    raise AssertionError("a served call is never performed")


def _full_url(pool: Any, url: str) -> str:
    if "://" in url.partition("?")[0]:
        return url
    default = {"http": 80, "https": 443}.get(pool.scheme)
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    return f"{pool.scheme}://{host}{'' if pool.port in (None, default) else f':{pool.port}'}{url}"


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(body: Any) -> tuple[bytes, Any]:
    """The bytes that are sent, and what to send them from: what can be read once only is read into memory."""
    if body is None:
        return b"", None
    if isinstance(body, str):
        return body.encode(), body
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body), body
    if hasattr(body, "read"):
        start = body.tell() if hasattr(body, "tell") and hasattr(body, "seek") else None
        data = body.read()
        raw = data.encode() if isinstance(data, str) else bytes(data)
        if start is None:
            return raw, io.BytesIO(raw)
        body.seek(start)
        return raw, body
    chunks = [chunk.encode() if isinstance(chunk, str) else bytes(chunk) for chunk in body]
    return b"".join(chunks), chunks


def _reviver(modules: tuple[ModuleType, ...], pool: Any, conn: Any) -> Callable[[Failed], BaseException]:
    def dress(error: BaseException) -> None:
        name = type(error).__name__
        if hasattr(type(error), "__reduce__") and "TimeoutError" in name and not isinstance(error, OSError):
            error.pool = pool  # type: ignore[attr-defined]
        if name in ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError"):
            error.conn = conn  # type: ignore[attr-defined]
            error._host = getattr(conn, "host", "")  # type: ignore[attr-defined]

    return lambda failed: failure.decode(failed, modules, dress)


# The wire


class _Tee:
    """What one response's raw reader tells: the bytes of its head, then each read of its body as a part.

    The head is handed over by itself, even when the socket gave more: what the agent does not read has not arrived.
    """

    def __init__(self, crossing: Crossing) -> None:
        self._crossing = crossing
        self._seen = bytearray()
        self._head: Head | None = None
        self._length: BodyLength | None = None
        self._rest = b""
        self._preloaded: list[bytes] = []
        self._asking = True
        self._closed = False

    def head(self, verified: bool) -> Head:  # noqa: FBT001
        """The head of the response."""
        if self._head is None:
            raise ValueError("a response without a head was accepted")
        return msgspec.structs.replace(self._head, verified=verified)

    def body_begins(self) -> None:
        """The head has been delivered; what was read of the body along with it follows."""
        self._asking = False
        for data in self._preloaded:
            self._crossing.deliver(_body_part(data))
        if self._closed:
            self.close()

    def read(self, real: Callable[[], bytes], size: int) -> bytes:
        """One read of up to `size` bytes from the socket."""
        if self._head is None:
            return self._read_head(real())
        if self._asking:
            data = self._take(size) or real()
            self._preloaded.append(data)
        else:
            data = self._crossing.pull(lambda: _body_part(self._take(size) or real())).data
        if self._length is not None:
            self._length.count(data)
        return data

    def close(self) -> None:
        """The reader is closed: at the end of the body, or before it."""
        self._closed = True
        if self._asking:
            return
        if self._length is not None and self._length.whole and not self._rest:
            self._crossing.close()
        else:
            self._crossing.abandon()

    def _read_head(self, data: bytes) -> bytes:
        self._seen += data
        found = split_head(self._seen)
        if found is None:
            return data
        self._head, size = found
        self._length = BodyLength(self._head)
        self._rest = bytes(self._seen[size:])
        return data[: len(data) - len(self._rest)]

    def _take(self, size: int) -> bytes:
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


def _body_part(data: bytes) -> Answer:
    return Answer(PartKind.CHUNK if data else PartKind.END, data)


def _teeing(real: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: Any, sock: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        real(self, sock, *args, **kwargs)
        tee: _Tee | None = getattr(_tee, "active", None)
        if tee is not None:
            self.fp = io.BufferedReader(_TeeBytes(self.fp, tee))

    return __init__


class _TeeBytes(io.RawIOBase):
    """A socket's reader that tells a tee what it read."""

    def __init__(self, buffered: Any, tee: _Tee) -> None:
        self._raw = buffered.raw
        self._buffered = buffered
        self._told = tee

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._told.read(lambda: self._raw.read(len(buffer)) or b"", len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def close(self) -> None:
        if not self.closed:
            with muted():
                self._buffered.close()
            self._told.close()
        super().close()


class _ServedBytes(io.RawIOBase):
    """Reads a response's head, then its body part by part as they were read in the recording."""

    def __init__(self, crossing: Crossing, head: bytes) -> None:
        self._crossing = crossing
        self._ready = head
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._ready and not self._ended:
            answer = self._crossing.pull(_never)
            self._ready, self._ended = answer.data, answer.kind is PartKind.END
        data, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._crossing.close()
        super().close()


class _NoSocket:
    """Takes the place of a connected socket in replay: what is sent goes nowhere, what is read is from the tape."""

    _silent: int | None = None

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(self._raw)

    def sendall(self, *_: Any) -> None:
        """Nothing leaves."""

    def fileno(self) -> int:
        """A descriptor on which nothing ever comes: the connection looks idle and alive."""
        if _NoSocket._silent is None:
            _NoSocket._silent = os.pipe()[0]
        return _NoSocket._silent

    def settimeout(self, _: float | None) -> None:
        """No time passes."""

    def gettimeout(self) -> None:
        return None

    def setsockopt(self, *_: Any) -> None:
        """There is nothing to set."""

    def shutdown(self, _: int) -> None:
        """There is nothing to shut down."""

    def close(self) -> None:
        """There is nothing to close."""
