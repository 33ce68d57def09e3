"""What a branch sends in the place of a request to a model: to another endpoint, or to another model."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import msgspec

from reenact.engine.call import Outgoing
from reenact.launch.tail import Tail
from reenact.providers.route import place_of

_BELONGS = ("host", "content-length")  # what follows from the rest


class Reroute:
    """The rerouting of one branch. `tell` is called with the event's number and how it was sent."""

    def __init__(self, tail: Tail, tell: Callable[[int, Outgoing], None]) -> None:
        self._tail = tail
        self._tell = tell

    def __call__(self, event: int, asked: Outgoing) -> Outgoing | None:
        """What is sent instead; None for what goes as it is."""
        if place_of(asked.method, asked.url) is None:
            return None
        sent = self._to_endpoint(asked)
        if sent == asked:
            return None
        self._tell(event, sent)
        return sent

    def _to_endpoint(self, asked: Outgoing) -> Outgoing:
        if not self._tail.endpoint:
            return asked
        there, was = urlsplit(self._tail.endpoint), urlsplit(asked.url)
        path = _rebased(there.path, was.path)
        url = urlunsplit((there.scheme, there.netloc, path, was.query, ""))
        headers = [(name, value) for name, value in asked.headers if name.lower() != "host"]
        return msgspec.structs.replace(asked, url=url, headers=(("host", there.netloc), *headers))


def _rebased(base: str, path: str) -> str:
    """The path below the base of another endpoint: `/v1` in front of `/v1/chat/completions` is not there twice."""
    base = base.rstrip("/")
    if not base or path == base or path.startswith(f"{base}/"):
        return path
    known = next((at for at in ("/v1beta", "/v1alpha", "/v1") if path.startswith(f"{at}/")), "")
    return base + path.removeprefix(known)
