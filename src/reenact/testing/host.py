"""What the servers share: they listen while a `with` block runs, and keep a log of the requests."""

from __future__ import annotations

from abc import abstractmethod
from threading import Lock
from types import TracebackType
from typing import Self

from reenact.testing import coding as codings
from reenact.testing.address import Address
from reenact.testing.coding import Coding
from reenact.testing.listener import Listener
from reenact.testing.request import Request
from reenact.testing.response import HangUp, Response


class Host(Address):
    """Serves on the loopback interface; `encoding` is used for clients that accept it."""

    def __init__(self, port: int, encoding: Coding | None) -> None:
        if encoding is not None:
            codings.require(encoding)
        self._wanted_port = port
        self._encoding = encoding
        self._listener: Listener | None = None
        self._lock = Lock()
        self._requests: list[Request] = []
        self._failures: list[Exception] = []

    @abstractmethod
    def _answer(self, request: Request, index: int) -> Response | HangUp:
        """Answer the `index`-th request; called from several threads at once, must not raise."""

    def __enter__(self) -> Self:
        """Start to answer; raises OSError when the port is taken."""
        self._listener = Listener(self._serve, self._wanted_port)
        self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; raises the first failure of the server's own side, unless an error is on its way."""
        if self._listener is not None:
            self._listener.stop()
        if error is None and self._failures:
            raise self._failures[0]

    @property
    def port(self) -> int:
        """See Address. It stays known after the block, when nobody listens there any more."""
        if self._listener is None:
            message = "the server does not listen yet: use it in a with statement"
            raise RuntimeError(message)
        return self._listener.port

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in order of arrival; each is listed before it is answered."""
        with self._lock:
            return tuple(self._requests)

    def _serve(self, request: Request) -> Response | HangUp:
        with self._lock:
            index = len(self._requests)
            self._requests.append(request)
        return self._answer(request, index)

    def _failed(self, error: Exception) -> None:
        with self._lock:
            self._failures.append(error)

    def _coded(self, request: Request, response: Response) -> Response:
        accepted = request.headers.get("accept-encoding", "")
        if self._encoding is None or not codings.accepts(accepted, self._encoding):
            return response
        return codings.encoded(response, self._encoding)
