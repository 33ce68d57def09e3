"""What a program that uses urllib3 by itself may meet."""

from __future__ import annotations

import os
from typing import Any

import urllib3
from attempts import attempt

BASE = os.environ["BASE"]


def head(response: Any) -> None:
    print("  ", response.version, response.status, response.reason, response.geturl())
    for name, value in response.headers.items():
        print("  <", name, value)


def whole(response: Any) -> None:
    head(response)
    print("  ", len(response.data), response.data[:300], response.retries and response.retries.history)


def streamed(pool: Any, path: str, **options: Any) -> None:
    response = pool.request("GET", BASE + path, preload_content=False, **options)
    head(response)
    for piece in response.stream(None):
        print("  +", len(piece), piece[:60])
    response.release_conn()


def by_hand(pool: Any, path: str) -> None:
    response = pool.request("GET", BASE + path, preload_content=False)
    print("  ", response.read(1), response.read1(5), response.read(100, decode_content=False)[:0], response.tell())
    print("  ", len(response.read()), response.closed, response.tell())
    response.release_conn()


def as_file(pool: Any) -> None:
    response = pool.request("GET", BASE + "/sized", preload_content=False)
    print("  ", response.readline(), response.readlines()[:2], response.isclosed())


def main() -> None:
    with urllib3.PoolManager(headers={"accept-encoding": "gzip, br, zstd"}) as pool:
        for path in ("/sized", "/chunked", "/coded/gzip", "/coded/zstd/chunked", "/empty", "/nothing", "/status/404"):
            attempt(path, lambda path=path: whole(pool.request("GET", BASE + path)))
            attempt(path + " streamed", lambda path=path: streamed(pool, path))
            attempt(path + " by hand", lambda path=path: by_hand(pool, path))
        attempt("as a file", lambda: as_file(pool))
        attempt("echo", lambda: whole(pool.request("POST", BASE + "/echo", body=b"\x00\xff", headers={"x-a": "b"})))
        attempt(
            "fields", lambda: whole(pool.request("POST", BASE + "/echo", fields={"a": "b"}, encode_multipart=False))
        )
        attempt("json", lambda: whole(pool.request("POST", BASE + "/echo", json={"a": 1})))
        attempt("redirect", lambda: whole(pool.request("GET", BASE + "/redirect/302/2")))
        attempt("reset", lambda: whole(pool.request("GET", BASE + "/reset/chunked", retries=False)))
        attempt("dropped", lambda: pool.request("GET", BASE + "/drop", retries=1))
        attempt("slow", lambda: pool.request("GET", BASE + "/slow", timeout=0.2, retries=False))
        attempt("refused", lambda: pool.request("GET", "http://127.0.0.1:9/", retries=False))
        attempt("after all that", lambda: whole(pool.request("GET", BASE + "/sized")))


main()
