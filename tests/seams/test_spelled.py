"""What a model spells over the events of a stream, in real programs that are recorded by the command line."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

import pytest

from reenact.tape.event import PartKind
from tests.runs import Bench
from tests.tape.spelling import chat, cut, spelled

SECRET = "sk-project-abcdefghij4b1c0d8e7f6a5b4c9d8e"
ASKS = """
import os, signal, httpx
with httpx.stream("GET", os.environ["STREAM"], timeout=30) as answer:
    more = 0
    for line in answer.iter_lines():
        more += "and on" in line
        if more == 15:
            {}
"""


@pytest.fixture
def stream() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # who asks goes before the end
                for event in chat(["the key is ", *cut(SECRET, 4), ", I think", *["and on"] * 20]):
                    self.wfile.write(event)
                    self.wfile.flush()
                    threading.Event().wait(0.02)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "break", "pass"])
def test_it_is_on_no_tape_however_the_program_ends(bench: Bench, stream: str, end: str) -> None:
    run = bench.record(ASKS.format(end), env={"STREAM": stream, "MY_API_KEY": SECRET})
    (event,) = run.http
    said = [*spelled(b"".join(part.data for _, part in event.parts if part.kind == PartKind.CHUNK))]
    assert any("the key is sk-redact" in text for text in said), [text for text in said if "key" in text]
    assert not any(SECRET in text for text in said)
