"""The other side of the agent: HTTP, a line protocol, datagrams, and a WebSocket, on this machine."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import socketserver
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import brotli
import websockets.sync.server
import zstandard

from tests.tape.spelling import FORMATS, cut

TOKEN = "Token-From-Login-1a2b3c4d5e"
COOKIE = "Cookie-Value-77dd88ee"
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstandard.compress,
}
SLOW = ("spelled-chat", "spelled-converse")


@contextlib.contextmanager
def serving(of: Callable[[str], str], pause: Callable[[], None]) -> Iterator[dict[str, str]]:  # noqa: C901  four small ones
    """The addresses, as the agent finds them in its environment."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            if path == "/pause":
                pause()
            answers = {
                "/answer": f"said {of('answer')}".encode(),
                "/gzip": gzip.compress(b"packed " * 40 + of("gzip").encode() + b" and more"),
                "/login": b'{"access_token": "' + TOKEN.encode() + b'", "token_type": "bearer"}',
                "/split": f"cut {of('answer-split')} here".encode(),
                "/framed": f"cut {of('answer-framed')} here".encode(),
            }
            if path[1:] in PACKS:
                self.send_packed(path[1:])
                return
            if path.startswith("/spelled-"):
                self.send_spelled(path[1:])
                return
            told = answers.get(path, b'{"echo": "' + body[:200].hex().encode() + b'"}')
            self.send_response(200)
            if path == "/head":
                self.send_header("x-told", of("answer-header"))
            if path == "/gzip":
                self.send_header("content-encoding", "gzip")
            if path == "/login":
                self.send_header("set-cookie", f"sid={COOKIE}; Path=/")
            if path in ("/split", "/framed"):
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in (told[:12], told[12:]):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
                return
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def send_packed(self, coding: str) -> None:
            words = b" ".join(b"%d packed words" % number**5 for number in range(90))
            told = PACKS[coding](words + of(coding).encode() + b" and more")
            self.send_response(200)
            self.send_header("content-encoding", coding)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def send_spelled(self, place: str) -> None:
            """With a pause in it, so that some of it is on disk before the rest of it comes."""
            head, spell = FORMATS[place.removeprefix("spelled-")]
            kind = dict(json.loads(head)["headers"])["content-type"]
            events = spell(["the key is ", *cut(of(place), 3), ", I think"])
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(sum(map(len, events))))
            self.end_headers()
            for number, event in enumerate(events):
                if number == len(events) // 2 and place in SLOW:
                    time.sleep(0.3)
                self.wfile.write(event)
                self.wfile.flush()

        do_GET = do_POST  # noqa: N815  its name

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    class Lines(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline() != b"END\r\n":
                pass
            self.wfile.write(f"200 {of('socket-came')} BYE\r\n".encode())

    class Letters(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, sock = self.request
            sock.sendto(data + b" " + of("datagram-came").encode(), self.client_address)

    def chat(connection: Any) -> None:
        for _ in connection:
            connection.send(of("websocket-came"))

    servers: list[Any] = [
        ThreadingHTTPServer(("127.0.0.1", 0), Handler),
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lines),
        socketserver.UDPServer(("127.0.0.1", 0), Letters),
        websockets.sync.server.serve(chat, "127.0.0.1", 0, compression=None),
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    web, lines, letters = (server.server_address[1] for server in servers[:3])
    listening: socket.socket = servers[3].socket
    try:
        yield {
            "T_BASE": f"http://127.0.0.1:{web}",
            "T_RAW": f"127.0.0.1:{lines}",
            "T_DATAGRAMS": f"127.0.0.1:{letters}",
            "T_CHAT": f"ws://127.0.0.1:{listening.getsockname()[1]}",
        }
    finally:
        for server in servers:
            server.shutdown()
            if isinstance(server, socketserver.BaseServer):
                server.server_close()
