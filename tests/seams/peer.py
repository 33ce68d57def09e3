"""The other side of a connection, in a thread: over TCP, TLS, a path or datagrams, a line asks and a line answers."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import struct
import threading
import time
from pathlib import Path
from typing import Any, Self

from reenact.testing.address import Address

LATE = 0.4  # seconds


class _Handler(socketserver.StreamRequestHandler):
    server: Any

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(b"hello\r\n")
            while line := self.rfile.readline():
                self.server.peer.asked.append(line)
                match line.decode("latin-1").split():
                    case ["big", size]:
                        self.wfile.write(bytes(range(256)) * (int(size) // 256))
                    case ["late"]:
                        time.sleep(LATE)
                        self.wfile.write(b"at last\r\n")
                    case ["reset"]:
                        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        self.connection.close()
                        return
                    case ["tls"]:
                        self.wfile.write(b"go ahead\r\n")
                        self.connection = self.server.peer.context.wrap_socket(self.connection, server_side=True)
                        self.setup_again()
                    case ["bye"]:
                        return
                    case said:
                        self.wfile.write(f"you said {' '.join(said)}\r\n".encode("latin-1"))

    def setup_again(self) -> None:
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)  # type: ignore[assignment]

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        self.connection.close()


class _Datagrams(socketserver.DatagramRequestHandler):
    server: Any

    def handle(self) -> None:
        said = self.rfile.read()
        self.server.peer.asked.append(said)
        self.wfile.write(b"you said " + said)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    peer: Peer

    def get_request(self) -> Any:
        connection, address = super().get_request()
        if self.peer.context is not None and self.peer.at_once:
            connection = self.peer.context.wrap_socket(connection, server_side=True)
        return connection, address

    def handle_error(self, *_: Any) -> None:
        """A client that does not trust this peer says so, and goes."""


class _PathServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class _DatagramServer(socketserver.ThreadingUDPServer):
    daemon_threads = True


class Peer(Address):
    """What it was asked is in `asked`. With `context` it speaks TLS: `at_once`, or when asked to."""

    def __init__(self, where: int | Path = 0, context: ssl.SSLContext | None = None, *, at_once: bool = True) -> None:
        self.asked: list[bytes] = []
        self.context = context
        self.at_once = at_once
        if isinstance(where, Path):
            self._servers: list[Any] = [_PathServer(str(where), _Handler)]
        else:
            self._servers = [_Server(("127.0.0.1", where), _Handler)]
            self._servers.append(_DatagramServer(("127.0.0.1", self.port), _Datagrams))
        for server in self._servers:
            server.peer = self

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._servers[0].server_address[1])

    def __enter__(self) -> Self:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
