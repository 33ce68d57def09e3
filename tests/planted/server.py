"""The other side of the agent: HTTP, a line protocol, datagrams, and a WebSocket, on this machine."""

from __future__ import annotations

import contextlib
import gzip
import json
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
WORDS = b" ".join(b"%d packed words" % number**5 for number in range(90))
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstandard.compress,
}
SLOW = ("spelled-chat", "spelled-converse", "plain-spelled-chat")


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
                "/login": b'{"access_token": "' + TOKEN.encode() + b'", "token_type": "bearer"}',
                "/split": f"cut {of('answer-split')} here".encode(),
                "/framed": f"cut {of('answer-framed')} here".encode(),
                "/plain-framed": f"cut {of('plain-framed')} here".encode(),
                "/plain-framed-gzip": gzip.compress(WORDS + of("plain-framed-gzip").encode()),
            }
            if path[1:].removeprefix("plain-") in PACKS:
                self.send_packed(path[1:])
                return
            if "spelled" in path:
                self.send_spelled(path[1:])
                return
            told = answers.get(path, b'{"echo": "' + body[:200].hex().encode() + b'"}')
            self.send_response(200)
            if path == "/head":
                self.send_header("x-told", of("answer-header"))
            if path == "/plain-framed-gzip":
                self.send_header("content-encoding", "gzip")
            if path == "/login":
                self.send_header("set-cookie", f"sid={COOKIE}; Path=/")
            if "framed" in path or path == "/split":
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

        def send_packed(self, place: str) -> None:
            coding = place.removeprefix("plain-")
            told = PACKS[coding](WORDS + of(place).encode() + b" and more")
            self.send_response(200)
            self.send_header("content-encoding", coding)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def send_spelled(self, place: str) -> None:
            """With pauses in some, in which what has come might go to disk before the rest of it has."""
            head, spell = FORMATS[place.partition("spelled-")[2]]
            kind = dict(json.loads(head)["headers"])["content-type"]
            events = spell(["the key is ", *cut(of(place), 3), ", I think"])
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(sum(map(len, events))))
            self.end_headers()
            for number, event in enumerate(events):
                if place in SLOW and len(events) // 3 <= number <= 2 * len(events) // 3:
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

    def packed_chat(connection: Any) -> None:
        place = connection.request.path[1:]
        for message in connection:
            told = {"heard": len(message), "words": "the same words again, " * 5}
            key = of(f"{place}-came")
            connection.send(json.dumps(told))
            connection.send(json.dumps({**told, "key": key}))
            connection.send([f"in pieces {key[:9]}", key[9:]])

    servers: list[Any] = [
        ThreadingHTTPServer(("127.0.0.1", 0), Handler),
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lines),
        socketserver.UDPServer(("127.0.0.1", 0), Letters),
        websockets.sync.server.serve(chat, "127.0.0.1", 0, compression=None),
        websockets.sync.server.serve(packed_chat, "127.0.0.1", 0),
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    web, lines, letters = (server.server_address[1] for server in servers[:3])
    plain, packed = (server.socket.getsockname()[1] for server in servers[3:])
    try:
        yield {
            "T_BASE": f"http://127.0.0.1:{web}",
            "T_RAW": f"127.0.0.1:{lines}",
            "T_DATAGRAMS": f"127.0.0.1:{letters}",
            "T_CHAT": f"ws://127.0.0.1:{plain}",
            "T_PACKED_CHAT": f"ws://127.0.0.1:{packed}",
        }
    finally:
        for server in servers:
            server.shutdown()
            if isinstance(server, socketserver.BaseServer):
                server.server_close()
