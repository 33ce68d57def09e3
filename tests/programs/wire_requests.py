"""Everything that a program that uses requests may meet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import requests
from attempts import attempt
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

BASE = os.environ["BASE"]
CODINGS = ("gzip", "br", "zstd")


def head(response: requests.Response) -> None:
    print("  ", response.raw.version, response.status_code, response.reason, response.url)
    for name, value in response.raw.headers.items():
        print("  <", name, value)


def whole(response: requests.Response) -> None:
    head(response)
    print("  ", response.encoding, len(response.content), response.text[:400])
    print("  ", [(hop.status_code, hop.url) for hop in response.history], response.cookies.get_dict())


def streamed(session: requests.Session, path: str, size: int | None, **options: Any) -> None:
    with session.get(BASE + path, stream=True, **options) as response:
        head(response)
        for piece in response.iter_content(size):
            print("  +", len(piece), piece[:60])


def lines(session: requests.Session, path: str) -> None:
    with session.get(BASE + path, stream=True) as response:
        for line in response.iter_lines():
            print("  +", line)


def body() -> Iterator[bytes]:
    for number in range(5):
        yield b"piece %d;" % number


def abandoned(session: requests.Session) -> None:
    with session.get(BASE + "/steady", stream=True) as response:
        for piece in response.iter_content(None):
            print("  +", piece)
            break


def never_read(session: requests.Session) -> None:
    response = session.get(BASE + "/steady", stream=True)
    head(response)
    response.close()


def gate(session: requests.Session) -> None:
    with session.get(BASE + "/gate", stream=True) as response:
        for piece in response.iter_content(None):
            print("  +", piece)
            print("  ", session.post(BASE + "/seen").text)


def raw(session: requests.Session) -> None:
    response = session.get(BASE + "/coded/gzip/chunked", stream=True)
    print("  ", response.raw.read(10), response.raw.read(7, decode_content=False)[:1], len(response.raw.read()))


def main() -> None:
    with requests.Session() as session:
        session.headers["accept-encoding"] = "gzip, br, zstd"
        attempt("sized", lambda: whole(session.get(BASE + "/sized")))
        attempt("chunked", lambda: whole(session.get(BASE + "/chunked")))
        attempt("chunked, as it comes", lambda: streamed(session, "/chunked", None))
        attempt("chunked, in pieces", lambda: streamed(session, "/chunked", 64))
        attempt("chunked, lines", lambda: lines(session, "/chunked"))
        for coding in CODINGS:
            attempt(coding, lambda coding=coding: whole(session.get(f"{BASE}/coded/{coding}")))
            attempt(coding + " chunked", lambda coding=coding: streamed(session, f"/coded/{coding}/chunked", None))
        attempt("raw", lambda: raw(session))
        for path in ("/empty", "/nothing", "/status/404", "/status/418", "/status/500", "/status/299"):
            attempt(path, lambda path=path: whole(session.get(BASE + path)))
        attempt("raise for status", lambda: session.get(BASE + "/status/503").raise_for_status())
        attempt("head", lambda: whole(session.head(BASE + "/sized")))
        attempt("large", lambda: print(len(session.get(BASE + "/large").content)))
        attempt("json", lambda: whole(session.put(BASE + "/echo?q=1&q=%20b", json={"a": ["ä", None]})))
        attempt("form", lambda: whole(session.post(BASE + "/echo", data={"a": "1", "b": "ä &"})))
        attempt("generator", lambda: whole(session.post(BASE + "/echo", data=body())))
        attempt(
            "files", lambda: print("  ", len(session.post(BASE + "/echo", files={"f": ("n.txt", b"data")}).content))
        )
        attempt("redirect", lambda: whole(session.get(BASE + "/redirect/302/2")))
        attempt("redirect keeps", lambda: whole(session.post(BASE + "/redirect/307/1", data=b"x")))
        attempt("not followed", lambda: whole(session.get(BASE + "/redirect/301/1", allow_redirects=False)))
        attempt("cookies", lambda: whole(session.get(BASE + "/cookies")))
        attempt("cookies sent", lambda: whole(session.get(BASE + "/echo")))
        attempt("basic", lambda: whole(session.get(BASE + "/echo", auth=("user", "pass"))))
        attempt("reset before the body", lambda: streamed(session, "/reset/head", None))
        attempt("reset in a chunked body", lambda: streamed(session, "/reset/chunked", None))
        attempt("reset in a sized body", lambda: streamed(session, "/reset/sized", None))
        attempt("reset, read whole", lambda: session.get(BASE + "/reset/chunked"))
        attempt("dropped", lambda: session.get(BASE + "/drop"))
        attempt("slow", lambda: session.get(BASE + "/slow", timeout=0.2))
        attempt("stalls", lambda: streamed(session, "/stalls", None, timeout=0.3))
        attempt("refused", lambda: session.get("http://127.0.0.1:9/"))
        attempt("no such scheme", lambda: session.get("ftp://127.0.0.1/"))
        attempt("abandoned", lambda: abandoned(session))
        attempt("never read", lambda: never_read(session))
        attempt("gate", lambda: gate(session))
        session.mount(
            BASE,
            HTTPAdapter(
                max_retries=Retry(2, status_forcelist=[500], backoff_factor=0.01, respect_retry_after_header=False)
            ),
        )
        attempt("retried by urllib3", lambda: session.get(BASE + "/status/500"))
        attempt("retried after a drop", lambda: session.get(BASE + "/drop"))
        attempt("after all that", lambda: whole(session.get(BASE + "/sized")))
    attempt("no session", lambda: whole(requests.get(BASE + "/sized", timeout=5)))


main()
