"""A server of everything that an HTTP client may meet: codings, redirects, cookies, odd lengths, cuts and delays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event
from typing import cast

from reenact.testing.coding import Coding, encoded
from reenact.testing.host import Host
from reenact.testing.request import Request
from reenact.testing.response import HangUp, Pace, Response

TEXT = b"".join(b"line %d of a body that is worth compressing\n" % number for number in range(40))
PIECES = tuple(TEXT[at : at + 150] for at in range(0, len(TEXT), 150))
PLAIN = (("content-type", "text/plain; charset=utf-8"),)
WAIT = 20.0  # seconds until the gate gives up on a client that never says that it has seen the first piece


class Wire(Host):
    """Answers by path; see `_answer`. What POST /echo is sent comes back as JSON."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port, None)
        self._seen = Event()

    def _answer(self, request: Request, index: int) -> Response | HangUp:  # noqa: C901, PLR0911, PLR0912  one case per path
        if request.method == "HEAD":
            return Response(200, (*PLAIN, ("x-head", "yes")), b"")
        match request.path.strip("/").split("/"):
            case ["sized"]:
                return Response(200, PLAIN, TEXT)
            case ["chunked"]:
                return Response(200, PLAIN, PIECES)
            case ["coded", coding, "chunked"]:
                return encoded(Response(200, PLAIN, PIECES), cast("Coding", coding))
            case ["coded", coding]:
                return encoded(Response(200, PLAIN, TEXT), cast("Coding", coding))
            case ["empty"]:
                return Response(200, PLAIN, b"")
            case ["nothing"]:
                return Response(204, (("x-request", str(index)),), b"")
            case ["large"]:
                return Response(200, (("content-type", "application/octet-stream"),), bytes(range(256)) * 8192)
            case ["echo"]:
                return _json(_seen(request))
            case ["status", status]:
                headers = (*PLAIN, ("retry-after", "7"), ("x-twice", "one"), ("X-Twice", "two"), ("x-latin", "caf\xe9"))
                return Response(int(status), headers, b"that is status " + status.encode())
            case ["redirect", status, times]:
                onward = f"/redirect/{status}/{int(times) - 1}" if int(times) > 1 else "/echo"
                return Response(
                    int(status), (("location", onward), ("set-cookie", f"hop{times}=yes; Path=/")), b"elsewhere"
                )
            case ["cookies"]:
                cookies = (("set-cookie", "session=abc; Path=/; HttpOnly"), ("set-cookie", "theme=dark; Max-Age=3600"))
                return Response(200, (*PLAIN, *cookies), b"two cookies")
            case ["reset", "head"]:
                return Response(200, PLAIN, PIECES, Pace(reset_after=0))
            case ["reset", "chunked"]:
                return Response(200, PLAIN, PIECES, Pace(between=0.02, reset_after=3))
            case ["reset", "sized"]:
                return Response(200, PLAIN, TEXT, Pace(reset_after=1))
            case ["drop"]:
                return HangUp()
            case ["slow"]:
                return Response(200, PLAIN, TEXT, Pace(first_byte=5))
            case ["stalls"]:
                return Response(200, PLAIN, PIECES, Pace(between=5))
            case ["steady"]:
                return Response(200, PLAIN, PIECES, Pace(between=0.01))
            case ["gate"]:
                self._seen.clear()
                return Response(200, PLAIN, cast("tuple[bytes, ...]", _Gate(self._seen)))
            case ["seen"]:
                self._seen.set()
                return Response(200, PLAIN, b"thanks")
        return Response(404, PLAIN, b"no such path")


class _Gate:
    """Two pieces; the second is sent after the client has told, over another connection, that it has the first."""

    def __init__(self, seen: Event) -> None:
        self._was_seen = seen

    def __iter__(self) -> Iterator[bytes]:
        yield b"first"
        yield b"second, on time" if self._was_seen.wait(WAIT) else b"second, the first was held back"


def _seen(request: Request) -> dict[str, object]:
    return {
        "method": request.method,
        "target": request.target,
        "headers": dict(request.headers),
        "body": request.body.decode("latin-1"),
    }


def _json(value: object) -> Response:
    return Response(200, (("content-type", "application/json"),), json.dumps(value, sort_keys=True).encode())
