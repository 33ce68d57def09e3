"""How editors reach us: by our standard streams, or by a port of this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from reenact.debugger.dap.server import Stream
from reenact.errors import UsageError

LOOPBACK = "127.0.0.1"

Serve = Callable[[Stream], None]


class Streams:
    """Our standard streams. Whatever else would write to stdout from here on writes to stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._in = os.dup(0)
        self._out = os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def read(self, size: int, /) -> bytes:
        """What has come."""
        return os.read(self._in, size)

    def write(self, data: bytes, /) -> None:
        """Sends it all."""
        while data:
            data = data[os.write(self._out, data) :]


class Connection:
    """An editor that has come to our port."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def read(self, size: int, /) -> bytes:
        """What has come."""
        return self._end.recv(size)

    def write(self, data: bytes, /) -> None:
        """Sends it all."""
        self._end.sendall(data)


def listen(port: int) -> socket.socket:
    """A port of the loopback interface; 0 is any that is free.

    Raises:
        UsageError: it is taken.
    """
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise UsageError(f"cannot listen on port {port} of {LOOPBACK}: {error.strerror}") from error


def over_streams(serve: Serve) -> None:
    """Serves the editor that has started us, until it is done."""
    serve(Streams())


def over_port(listener: socket.socket, serve: Serve) -> NoReturn:
    """Serves editors, each in a thread of its own, until this process is told to end. Then they are let go of."""
    serving: dict[threading.Thread, socket.socket] = {}
    try:
        while True:
            end, _ = listener.accept()
            thread = threading.Thread(target=_serve, args=(end, serve), name="editor")
            serving = {one: its for one, its in serving.items() if one.is_alive()} | {thread: end}
            thread.start()
    finally:
        for thread, end in serving.items():
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(end: socket.socket, serve: Serve) -> None:
    with end:
        try:
            serve(Connection(end))
        finally:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # else it stays open as long as somebody reads from it
