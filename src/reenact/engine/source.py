"""Exchanges of another tool as answers for a program: each once, equal ones in the order of their file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from reenact.engine.call import Call, headers_of, request_of
from reenact.engine.divergence import Divergence, Request, What
from reenact.engine.normalize import Normalizer, canonical
from reenact.tape.event import Kind
from reenact.tape.recording import Event, Recording

NOTHING_LEFT = "of the imported exchanges, {asked} asked for this already, and none is left"
NOTHING_ALIKE = "none of the imported exchanges is of this method and URL"

_Key = tuple[str, str, bytes]


class Source:
    """The exchanges of one imported run, as far as they have an answer.

    Alike are requests of the same method, URL and body, after the normalizers; bodies of JSON where they hold the same.
    Headers are not looked at: they are those of another tool. `by_url`: nor are bodies.
    """

    def __init__(self, tape: Recording, normalizers: Sequence[Normalizer], *, by_url: bool = False) -> None:
        self._tape = tape
        self._normalizers = normalizers
        self._by_url = by_url
        self._left: dict[_Key, deque[Event]] = {}
        self._given: dict[_Key, int] = {}
        self.answered = 0
        for event in tape.events:
            if event.kind is Kind.HTTP and event.complete:
                self._left.setdefault(self._key(self._asked(event)), deque()).append(event)

    def take(self, call: Call) -> Event | None:
        """The exchange that answers it; None where none is left."""
        key = self._key(_request(call))
        left = self._left.get(key)
        if not left:
            return None
        self.answered += 1
        self._given[key] = self._given.get(key, 0) + 1
        return left.popleft()

    @property
    def size(self) -> int:
        """How many exchanges have an answer."""
        return self.answered + sum(map(len, self._left.values()))

    def unasked(self) -> list[Event]:
        """Those that nobody has asked for, in the order of their file."""
        return sorted((event for left in self._left.values() for event in left), key=lambda event: event.id)

    def refuse(self, lane: str, call: Call) -> Divergence:
        """What to tell of a call that nothing answers: against the first that is left of that method and URL."""
        asked = _request(call)
        given = self._given.get(self._key(asked), 0)
        if given:
            return Divergence(What.EXTRA, lane, actual=asked, notes=(NOTHING_LEFT.format(asked=given),))
        nearest = next(self._alike(asked), None)
        if nearest is None:
            return Divergence(What.EXTRA, lane, actual=asked, notes=(NOTHING_ALIKE,))
        expected = msgspec.structs.replace(self._asked(nearest), headers=asked.headers)  # which nobody compares
        return Divergence(What.MISMATCH, lane, nearest.id, expected=expected, actual=asked)

    def _alike(self, asked: Request) -> Iterator[Event]:
        method, url, _ = self._key(asked)
        for event in self.unasked():
            if self._key(self._asked(event))[:2] == (method, url):
                yield event

    def _asked(self, event: Event) -> Request:
        return request_of(event.name, headers_of(event.head), self._tape.body(event))

    def _key(self, asked: Request) -> _Key:
        plain = canonical(asked, self._normalizers)
        return plain.method, _without_port(plain.url), b"" if self._by_url else _body(plain.body)


def _request(call: Call) -> Request:
    return request_of(call.name, call.headers, call.body)


def _body(body: bytes) -> bytes:
    try:
        return msgspec.json.encode(msgspec.json.decode(body), order="sorted")
    except (ValueError, RecursionError):
        return body


def _without_port(url: str) -> str:
    """Without the port that the scheme means anyway, nor the slash of an empty path: some tools write them."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    host = host.removesuffix({"http": ":80", "https": ":443"}.get(scheme, ":"))
    if not slash and "?" in host:
        return url
    return f"{scheme}://{host}/{path}"
