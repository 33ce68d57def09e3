"""A server that answers with recorded exchanges instead of a policy."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reenact.testing.cassette import Exchange, address, read_cassettes
from reenact.testing.coding import Coding
from reenact.testing.cut import Cut
from reenact.testing.host import Host
from reenact.testing.request import Request
from reenact.testing.response import Pace, Response

# Framing is done anew; codings were taken off when the exchange was recorded.
_NOT_SENT = frozenset({"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"})


class CassetteServer(Host):
    """Answers each method, path and query with what was recorded for it, in the recorded order.

    A query that was never recorded is answered as if the path had come with one that was. The source
    is a file of cassettes (all of it), or exchanges: read, or in their JSON form. Event streams are
    cut into chunks as `cut` says. A request for which nothing is left is answered 404.
    """

    def __init__(
        self,
        source: str | Path | Iterable[Exchange | Mapping[str, Any]],
        *,
        port: int = 0,
        cut: Cut = Cut(),  # noqa: B008  frozen
        chunk_delay: float = 0.0,
        encoding: Coding | None = None,
    ) -> None:
        super().__init__(port, encoding)
        self._cut = cut
        self._pace = Pace(between=chunk_delay)
        self._left: dict[tuple[str, str], deque[Exchange]] = {}
        for exchange in _exchanges(source):
            self._left.setdefault(address(exchange.method, exchange.target), deque()).append(exchange)

    @property
    def left(self) -> int:
        """How many exchanges have not been asked for."""
        with self._lock:
            return sum(map(len, self._left.values()))

    def _answer(self, request: Request, index: int) -> Response:
        with self._lock:
            queue = self._queue(request)
            exchange = queue.popleft() if queue else None
        if exchange is None:
            return self._missing(request, was_known=queue is not None)
        return self._coded(request, self._response(exchange))

    def _queue(self, request: Request) -> deque[Exchange] | None:
        exact = address(request.method, request.target)
        if exact in self._left:
            return self._left[exact]
        # SDKs add and drop parameters like `?beta=true` from version to version.
        bare = address(request.method, request.path)
        near = [queue for (method, target), queue in self._left.items() if (method, target.partition("?")[0]) == bare]
        return next((queue for queue in near if queue), near[0] if near else None)

    def _response(self, exchange: Exchange) -> Response:
        headers = tuple(pair for pair in exchange.headers if pair[0].lower() not in _NOT_SENT)
        kind = exchange.header("content-type")
        if "chunked" not in exchange.header("transfer-encoding") and "event" not in kind:
            return Response(exchange.status, headers, exchange.body, self._pace)
        return Response(exchange.status, headers, self._cut.chunks(exchange.body, kind), self._pace)

    def _missing(self, request: Request, *, was_known: bool) -> Response:
        why = "every recorded answer has been given" if was_known else "nothing was recorded"
        message = f"{why} for {request.method} {request.target}"
        body = json.dumps({"error": {"message": message, "type": "cassette_exhausted"}, "message": message})
        headers = (("content-type", "application/json"), ("x-should-retry", "false"))
        return Response(404, headers, body.encode())


def _exchanges(source: str | Path | Iterable[Exchange | Mapping[str, Any]]) -> Iterable[Exchange]:
    if isinstance(source, str | Path):
        return (exchange for cassette in read_cassettes(source) for exchange in cassette.exchanges)
    return (each if isinstance(each, Exchange) else Exchange.read(each) for each in source)
