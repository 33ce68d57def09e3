"""Everything that a synchronous client of httpx (or httpx2: the first argument) may meet."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from attempts import attempt

library: Any = importlib.import_module(sys.argv[1])
BASE = os.environ["BASE"]
CODINGS = ("gzip", "br", "zstd")


def head(response: Any) -> None:
    print("  ", response.http_version, response.status_code, response.reason_phrase, str(response.url))
    for name, value in response.headers.raw:
        print("  <", name, value)


def whole(response: Any) -> None:
    head(response)
    print("  ", response.encoding, len(response.content), response.text[:400], response.num_bytes_downloaded)
    print("  ", [(hop.status_code, str(hop.url)) for hop in response.history], dict(response.cookies))


def streamed(client: Any, path: str, how: str, *size: int, **options: Any) -> None:
    with client.stream("GET", path, **options) as response:
        head(response)
        for piece in getattr(response, how)(*size):
            print("  +", len(piece), piece[:60])
        print("  ", response.is_closed, response.is_stream_consumed, response.num_bytes_downloaded)


def body() -> Iterator[bytes]:
    for number in range(5):
        yield b"piece %d;" % number


def abandoned(client: Any) -> None:
    with client.stream("GET", "/steady") as response:
        for piece in response.iter_raw():
            print("  +", piece)
            break
    print("  ", response.is_closed, response.is_stream_consumed)


def never_read(client: Any) -> None:
    request = client.build_request("GET", "/steady")
    response = client.send(request, stream=True)
    head(response)
    response.close()
    print("  ", response.is_closed)


def gate(client: Any) -> None:
    with client.stream("GET", "/gate") as response:
        for piece in response.iter_raw():
            print("  +", piece)
            print("  ", client.post("/seen").text)


def main() -> None:
    with library.Client(base_url=BASE, headers={"accept-encoding": "gzip, br, zstd"}) as client:
        attempt("sized", lambda: whole(client.get("/sized")))
        attempt("chunked", lambda: whole(client.get("/chunked")))
        attempt("chunked, raw", lambda: streamed(client, "/chunked", "iter_raw"))
        attempt("chunked, in pieces", lambda: streamed(client, "/chunked", "iter_bytes", 64))
        attempt("chunked, lines", lambda: streamed(client, "/chunked", "iter_lines"))
        for coding in CODINGS:
            attempt(coding, lambda coding=coding: whole(client.get(f"/coded/{coding}")))
            attempt(
                coding + " chunked", lambda coding=coding: streamed(client, f"/coded/{coding}/chunked", "iter_bytes")
            )
            attempt(coding + " raw", lambda coding=coding: streamed(client, f"/coded/{coding}/chunked", "iter_raw"))
        for path in ("/empty", "/nothing", "/status/404", "/status/418", "/status/500", "/status/299"):
            attempt(path, lambda path=path: whole(client.get(path)))
        attempt("raise for status", lambda: client.get("/status/503").raise_for_status())
        attempt("head", lambda: whole(client.head("/sized")))
        attempt("large", lambda: print(hash(client.get("/large").content) != 0, len(client.get("/large").content)))
        attempt("json", lambda: whole(client.put("/echo?q=1&q=%20b", json={"a": ["ä", None]}, headers={"x-one": "1"})))
        attempt("form", lambda: whole(client.post("/echo", data={"a": "1", "b": "ä &"})))
        attempt("generator", lambda: whole(client.post("/echo", content=body())))
        attempt("files", lambda: print("  ", len(client.post("/echo", files={"f": ("name.txt", b"data")}).content)))
        attempt("redirect", lambda: whole(client.get("/redirect/302/2", follow_redirects=True)))
        attempt("redirect keeps", lambda: whole(client.post("/redirect/307/1", content=b"x", follow_redirects=True)))
        attempt("not followed", lambda: whole(client.get("/redirect/301/1")))
        attempt("cookies", lambda: whole(client.get("/cookies")))
        attempt("cookies sent", lambda: whole(client.get("/echo")))
        attempt("basic", lambda: whole(client.get("/echo", auth=("user", "pass"))))
        attempt("reset before the body", lambda: streamed(client, "/reset/head", "iter_raw"))
        attempt("reset in a chunked body", lambda: streamed(client, "/reset/chunked", "iter_raw"))
        attempt("reset in a sized body", lambda: streamed(client, "/reset/sized", "iter_raw"))
        attempt("reset, read whole", lambda: client.get("/reset/chunked"))
        attempt("dropped", lambda: client.get("/drop"))
        attempt("slow", lambda: client.get("/slow", timeout=0.2))
        attempt("stalls", lambda: streamed(client, "/stalls", "iter_raw", timeout=0.3))
        attempt("refused", lambda: client.get("http://127.0.0.1:9/"))
        attempt("no such scheme", lambda: client.get("ftp://127.0.0.1/"))
        attempt("abandoned", lambda: abandoned(client))
        attempt("never read", lambda: never_read(client))
        attempt("gate", lambda: gate(client))
        attempt("after all that", lambda: whole(client.get("/sized")))
    attempt("a closed client", lambda: client.get("/sized"))
    attempt("no client", lambda: whole(library.get(BASE + "/sized")))


main()
