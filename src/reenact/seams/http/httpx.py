"""The seam in httpx and httpx2: the transport that a client picks for a URL, whatever kind it is.

Clients made before recording began are met too, and transports that others provide. Transports that never leave the
process (ASGI, WSGI, mock) pass through untouched.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from reenact.engine import failure
from reenact.engine.call import Call, Outgoing
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import current, muted
from reenact.seams.http import upgraded
from reenact.seams.http.exchange import begin, raw_pairs, request, text_pairs
from reenact.seams.http.head import Head, decode_head, encode_head
from reenact.seams.patch import Patches
from reenact.tape.event import Failed, Kind, PartKind

_CHUNK = PartKind.CHUNK
_END = Answer(PartKind.END, b"")
_INSIDE = ("ASGITransport", "WSGITransport", "MockTransport")


def install(module: ModuleType, patches: Patches) -> None:
    """Meets every client of `module`, which is httpx or httpx2."""
    seam = _Seam(module)
    for client, wrap in ((module.Client, seam.wrap_sync), (module.AsyncClient, seam.wrap_async)):
        patches.set(client, "_transport_for_url", _picking(client._transport_for_url, wrap))
    for name in ("aclose", "__aexit__"):
        patches.set(module.AsyncHTTPTransport, name, _closing(getattr(module.AsyncHTTPTransport, name)))


def _closing(real: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def close(self: Any, *args: Any) -> None:
        lane = current()
        if lane is None:
            await real(self, *args)
            return

        async def perform() -> Answer:
            await real(self, *args)
            return Answer(PartKind.VALUE, b"")

        await Crossing.begin(lane, Call(Kind.CLOSE, "close the client"), _unexpected).apull(perform)

    return close


def _beneath(module: ModuleType) -> tuple[ModuleType, ...]:
    """The libraries whose exceptions are the causes of httpx's own."""
    import socket
    import ssl

    found: list[ModuleType] = [ssl, socket]
    for name in ("httpcore2" if module.__name__ == "httpx2" else "httpcore", "anyio", "h11"):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            continue
    return tuple(found)


def _unexpected(failed: Failed) -> BaseException:
    return failure.decode(failed, ())


async def _nothing() -> None:
    """There is no connection to release in replay."""


def _picking(original: Callable[..., Any], wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    def _transport_for_url(self: Any, url: Any) -> Any:
        transport = original(self, url)
        return transport if current() is None else wrap(transport)

    return _transport_for_url


class _AsyncPieces:
    """Pieces that are there already, as a stream."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        """There is nothing to let go of."""


class _Seam:
    """The transports and streams for one generation of httpx, as subclasses of its own."""

    def __init__(self, module: ModuleType) -> None:  # noqa: C901  it is four small classes
        self._module = module
        self._modules = (module, *_beneath(module))
        self._inside = tuple(getattr(module, name) for name in _INSIDE if hasattr(module, name))
        seam = self

        class Transport(module.BaseTransport):  # type: ignore[misc, name-defined]
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            def handle_request(self, request: Any) -> Any:
                return seam.cross(self._inner, request)

        class AsyncTransport(module.AsyncBaseTransport):  # type: ignore[misc, name-defined]
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            async def handle_async_request(self, request: Any) -> Any:
                return await seam.across(self._inner, request)

        class Stream(module.SyncByteStream):  # type: ignore[misc, name-defined]
            def __init__(self, crossing: Crossing, real: Any) -> None:
                self._crossing, self._real = crossing, real
                self.let_go = crossing.abandon

            def __iter__(self) -> Iterator[bytes]:
                return self._crossing.chunks(iter(self._real if self._real is not None else ()))

            def close(self) -> None:
                if self._real is not None:
                    with muted():
                        self._real.close()
                self.let_go()

        class AsyncStream(module.AsyncByteStream):  # type: ignore[misc, name-defined]
            def __init__(self, crossing: Crossing, real: Any) -> None:
                self._crossing, self._real = crossing, real

            async def __aiter__(self) -> AsyncIterator[bytes]:
                chunks = aiter(self._real) if self._real is not None else None

                async def following() -> Answer:
                    data = await anext(chunks, None) if chunks is not None else None
                    if data is None and self._real is not None:
                        # the connection goes back before the end is told, so that nothing is left to wait for
                        real, self._real = self._real, None
                        await real.aclose()
                    return _END if data is None else Answer(_CHUNK, bytes(data))

                while (answer := await self._crossing.apull(following)).kind is _CHUNK:
                    yield answer.data

            async def aclose(self) -> None:
                real, self._real = self._real, None
                await self._crossing.give_up(real.aclose if real is not None else _nothing)

        self._transport, self._async_transport = Transport, AsyncTransport
        self._stream, self._async_stream = Stream, AsyncStream

    def wrap_sync(self, transport: Any) -> Any:
        return transport if isinstance(transport, self._inside) else self._transport(transport)

    def wrap_async(self, transport: Any) -> Any:
        return transport if isinstance(transport, self._inside) else self._async_transport(transport)

    def cross(self, inner: Any, asked: Any) -> Any:
        lane = current()
        if lane is None:
            return inner.handle_request(asked)
        body = asked.read()
        crossing = begin(lane, lambda: _call(asked, body), self._reviver(asked))
        if crossing is None:
            return inner.handle_request(asked)
        real: list[Any] = []

        def perform() -> Answer:
            real.append(inner.handle_request(self._sent(crossing, asked, body)))
            return _head(real[0])

        answer = crossing.pull(perform)
        if self._is_read(answer, real):
            return self._read(answer, real, b"".join(crossing.chunks(iter(one.content for one in real))))
        response = self._response(crossing, answer, real[0] if real else None, self._stream)
        if response.status_code == upgraded.SWITCHING:
            upgraded.take(crossing, response, asked.url.host, self._modules)
        return response

    async def across(self, inner: Any, asked: Any) -> Any:
        lane = current()
        if lane is None:
            return await inner.handle_async_request(asked)
        body = await asked.aread()
        crossing = begin(lane, lambda: _call(asked, body), self._reviver(asked))
        if crossing is None:
            return await inner.handle_async_request(asked)
        real: list[Any] = []

        async def perform() -> Answer:
            real.append(await inner.handle_async_request(self._sent(crossing, asked, body)))
            return _head(real[0])

        answer = await crossing.apull(perform)
        if self._is_read(answer, real):
            held = self._async_stream(crossing, _AsyncPieces([one.content for one in real]) if real else None)
            return self._read(answer, real, b"".join([chunk async for chunk in held]))
        response = self._response(crossing, answer, real[0] if real else None, self._async_stream)
        if response.status_code == upgraded.SWITCHING:
            upgraded.take_async(crossing, response, asked.url.host)
        return response

    def _sent(self, crossing: Crossing, asked: Any, body: bytes) -> Any:
        """What leaves: the request, unless a branch sends another in its place."""
        sent = crossing.sent(lambda: Outgoing(asked.method, str(asked.url), (*text_pairs(asked.headers.raw),), body))
        if sent is None:
            return asked
        raw = raw_pairs(sent.headers)
        return self._module.Request(sent.method, sent.url, headers=raw, content=sent.body, extensions=asked.extensions)

    def _is_read(self, answer: Answer, real: list[Any]) -> bool:
        return hasattr(real[0], "_content") if real else decode_head(answer.data).read is not None

    def _read(self, answer: Answer, real: list[Any], content: bytes) -> Any:
        """A response whose body the transport has read itself."""
        if real:
            return real[0]
        made = self._made(answer, self._module.ByteStream(b""))
        made._content, made._num_bytes_downloaded = content, decode_head(answer.data).read
        made.is_stream_consumed = made.is_closed = True
        return made

    def _response(self, crossing: Crossing, answer: Answer, real: Any, stream: Callable[..., Any]) -> Any:
        if real is not None:
            real.stream = stream(crossing, real.stream)
            return real
        return self._made(answer, stream(crossing, None))

    def _made(self, answer: Answer, stream: Any) -> Any:
        """The response on tape."""
        head = decode_head(answer.data)
        extensions = {"http_version": head.version.encode(), "reason_phrase": head.reason.encode("latin-1")}
        headers = raw_pairs(head.headers)
        return self._module.Response(head.status, headers=headers, stream=stream, extensions=extensions)

    def _reviver(self, asked: Any) -> Callable[[Failed], BaseException]:
        def dress(error: BaseException) -> None:
            if isinstance(error, self._module.RequestError):
                error.request = asked

        return lambda failed: failure.decode(failed, self._modules, dress)


def _call(asked: Any, body: bytes) -> Any:
    return request(asked.method, str(asked.url), text_pairs(asked.headers.raw), body)


def _head(real: Any) -> Answer:
    def encode() -> bytes:
        extensions = real.extensions
        reason = extensions.get("reason_phrase", b"").decode("latin-1")
        version = extensions.get("http_version", b"HTTP/1.1").decode("latin-1")
        read = real.num_bytes_downloaded if hasattr(real, "_content") else None
        return encode_head(Head(real.status_code, text_pairs(real.headers.raw), reason, version, read=read))

    return Answer(PartKind.HEAD, b"", encode)
