"""The listening socket: accepts connections on the loopback interface, one thread for each."""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress
from threading import Event, Lock, Thread

from reenact.testing.connection import Connection, Handler

_JOIN_SECONDS = 2.0


class Listener:
    """Serves a handler on 127.0.0.1 until `stop`; `port` 0 takes a free one. Raises OSError when it is taken."""

    def __init__(self, handler: Handler, port: int = 0) -> None:
        self._handler = handler
        self._stopping = Event()
        self._lock = Lock()
        self._open: dict[socket.socket, Thread] = {}
        self._sock = socket.create_server(("127.0.0.1", port), backlog=512)
        self._sock.settimeout(0)
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._acceptor = Thread(target=self._accept, name="reenact-testing-accept", daemon=True)
        self.port: int = self._sock.getsockname()[1]

    def start(self) -> None:
        """Begin to accept; a listener that was made must be started."""
        self._acceptor.start()

    def stop(self) -> None:
        """Stop accepting, cut the open connections and wait for their threads. Idempotent."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._wake_writer.send(b"x")
        self._acceptor.join(_JOIN_SECONDS)
        self._sock.close()
        self._wake_reader.close()
        self._wake_writer.close()
        with self._lock:
            left = dict(self._open)
        for sock in left:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in left.values():
            thread.join(_JOIN_SECONDS)

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while True:
                selector.select()
                if self._stopping.is_set():
                    return
                with suppress(BlockingIOError, ConnectionAbortedError):
                    sock, _peer = self._sock.accept()
                    self._adopt(sock)

    def _adopt(self, sock: socket.socket) -> None:
        sock.settimeout(None)
        thread = Thread(target=self._serve, args=(sock,), name="reenact-testing-connection", daemon=True)
        with self._lock:
            self._open[sock] = thread
        thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            Connection(sock, self._handler, self._stopping).serve()
        finally:
            with self._lock:
                self._open.pop(sock, None)
