"""One accepted connection: HTTP/1.1 requests read from a socket, responses written to it.

Written by hand because a test needs what server libraries hide: where chunks end, when the first
byte leaves, and a reset in the middle of a body.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from http import HTTPStatus
from threading import Event
from types import MappingProxyType

from reenact.testing.request import Request
from reenact.testing.response import HangUp, Response

Handler = Callable[[Request], "Response | HangUp"]

_READ = 1 << 16
_MAX_HEAD = 1 << 17
_RST_ON_CLOSE = struct.pack("ii", 1, 0)


class ClientGoneError(Exception):
    """The connection is over: the client closed it or sent what is not HTTP/1.1, or the server stops."""


class Connection:
    """Serves the requests of one socket, one after the other, until either side ends it."""

    def __init__(self, sock: socket.socket, handler: Handler, stopping: Event) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._handler = handler
        self._stopping = stopping
        self._buffer = bytearray()

    def serve(self) -> None:
        """Answer requests until the connection ends; the socket is closed on return."""
        try:
            while not self._stopping.is_set():
                request = self._read()
                if not self._write(self._handler(request)):
                    return
                if request.headers.get("connection", "").lower() == "close":
                    return
        except (ClientGoneError, OSError):
            return  # A client may leave at any byte: that is its business, not a fault of the server.
        finally:
            self._sock.close()

    # Reading

    def _fill(self) -> None:
        data = self._sock.recv(_READ)
        if not data:
            raise ClientGoneError
        self._buffer += data

    def _take_until(self, mark: bytes) -> bytes:
        searched = 0
        while (at := self._buffer.find(mark, searched)) < 0:
            if len(self._buffer) > _MAX_HEAD:
                raise ClientGoneError
            searched = max(0, len(self._buffer) - len(mark))
            self._fill()
        taken = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return taken

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _read(self) -> Request:
        start, *lines = self._take_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        try:
            method, target, _version = start.split(" ")
        except ValueError:
            raise ClientGoneError from None
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            key, value = name.strip().lower(), value.strip()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        if headers.get("expect", "").lower() == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Request(method, target, MappingProxyType(headers), self._read_body(headers))

    def _read_body(self, headers: dict[str, str]) -> bytes:
        try:
            if "chunked" in headers.get("transfer-encoding", "").lower():
                return self._read_chunks()
            return self._take(int(headers.get("content-length", "0")))
        except ValueError:
            raise ClientGoneError from None

    def _read_chunks(self) -> bytes:
        parts: list[bytes] = []
        while size := int(self._take_until(b"\r\n").partition(b";")[0], 16):
            parts.append(self._take(size))
            self._take(2)
        while self._take_until(b"\r\n"):
            pass  # trailers
        return b"".join(parts)

    # Writing

    def _write(self, answer: Response | HangUp) -> bool:
        """Send it; False when the connection cannot be used any more."""
        match answer:
            case HangUp(after):
                self._wait(after)
                return False
            case Response(body=bytes()):
                return self._write_whole(answer)
            case Response():
                return self._write_chunks(answer)

    def _write_whole(self, response: Response) -> bool:
        assert isinstance(response.body, bytes)  # noqa: S101  told by _write; narrows the type
        self._wait(response.pace.first_byte)
        body = response.body
        if response.pace.reset_after is not None:
            self._sock.sendall(_head(response, ("content-length", str(len(body)))) + body[: len(body) // 2])
            return self._reset()
        self._sock.sendall(_head(response, ("content-length", str(len(body)))) + body)
        return True

    def _write_chunks(self, response: Response) -> bool:
        pace = response.pace
        self._wait(pace.first_byte)
        self._sock.sendall(_head(response, ("transfer-encoding", "chunked")))
        for number, chunk in enumerate(response.body):
            assert isinstance(chunk, bytes)  # noqa: S101  told by _write; narrows the type
            if number == pace.reset_after:
                return self._reset()
            if number:
                self._wait(pace.between)
            if chunk:  # An empty chunk would say that the body is over.
                self._sock.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        if pace.reset_after is not None:
            return self._reset()  # A reset that is asked for comes, if only in place of the end.
        self._sock.sendall(b"0\r\n\r\n")
        return True

    def _reset(self) -> bool:
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
        return False

    def _wait(self, seconds: float) -> None:
        # Not time.sleep: a server that is being stopped must not wait, and a test may have
        # replaced the clock.
        if seconds > 0 and self._stopping.wait(seconds):
            raise ClientGoneError


def _head(response: Response, framing: tuple[str, str]) -> bytes:
    try:
        reason = HTTPStatus(response.status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {response.status} {reason}"]
    lines += [f"{name}: {value}" for name, value in (*response.headers, framing)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
