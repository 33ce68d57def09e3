"""A connection of which no seam knew what is spoken over it, listened to: the HTTP exchanges that were made over it.

What was sent and what came are heard in the order in which it was so. Bytes that are no HTTP stay what they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from reenact.providers.encoding import dechunk
from reenact.tape import http1
from reenact.tape.event import LAST, Failed, Kind, Part, PartKind
from reenact.tape.recording import Event
from reenact.tape.redact import PLACEHOLDER, REDACTED
from reenact.trajectory.exchange import Exchange, Fault, Head, Room

OPENS, SENDS = "connect to ", "send to "
_SECURES, _SECURE = "TLS with ", " with TLS"
_BLANKS = (PLACEHOLDER.encode(), REDACTED.encode())
_NOT_YET = ("BlockingIOError", "InterruptedError", "SSLWantReadError", "SSLWantWriteError")
_LATE = "TimeoutError"
_DIGITS = 18
_CUT = Fault("cut", "the connection was closed before the answer was whole")
_UNSENT = Fault("cut", "the request was not sent to its end")
_MORE = Fault("unreadable", "more came than the answer says that it has")
_SEVERAL = Fault("unreadable", "more than one request was sent at once, and only the first is shown")

_encode = msgspec.json.Encoder().encode
_failed = msgspec.msgpack.Decoder(Failed).decode


class Heard:
    """One exchange. `pieces` are the events that it is made of, the first of them that of its request's beginning."""

    def __init__(self, event: Event, scheme: str, host: str, before: list[int]) -> None:
        self.event = event
        self.pieces = [event.id, *before]
        self.request = http1.request()
        self.answer: http1.Message | None = None
        self.over = False
        self.blanked = False  # a credential was taken out of a body, so that lengths are not what they were
        self.trouble: Failed | None = None
        self.fault: Fault | None = None
        self._start = scheme, host
        self._slices: list[tuple[int, int, int]] = []
        self._parts: list[tuple[int, Part]] = []

    @property
    def switches(self) -> bool:
        """Whether what is spoken from now on is no HTTP."""
        head = self.answer.head if self.answer is not None else None
        return head is not None and head.status == http1.SWITCHING

    def is_over_with(self, data: bytes) -> bool:
        """Whether that is the beginning of another request."""
        return http1.begins_request(data) if self.blanked else self.request.whole

    def ask(self, event: Event, data: bytes, at: int) -> int:
        """Takes what an event has sent from `at` on; where it ends."""
        start, end = at, len(data)
        if not self.request.whole:
            start, end = (at + size for size in self.request.take(data[at:]))
        if end > start:
            self._slices.append((event.id, start, end))
            self.blanked = self.blanked or _is_blanked(data)
        if self.pieces[-1] != event.id:
            self.pieces.append(event.id)
        self.trouble = _trouble(event) or self.trouble
        return end

    def hear(self, tick: int, part: Part, data: bytes) -> bytes:
        """Takes what came; what is left is another's."""
        self.trouble = None
        if self.answer is None:
            self.answer = http1.answer(self.request.head.words[0] if self.request.head is not None else "")
        begun = self.answer.head is not None
        start, end = self.answer.take(data)
        head = self.answer.head
        if head is not None and not begun:
            if head.is_preliminary:
                self.answer = None
                return data[start:]
            self._keep(tick, part, PartKind.HEAD, _on_tape(head))
        if end > start:
            self.more(tick, part, data[start:end])
        if self.answer.fault:
            self.fault = Fault("unreadable", self.answer.fault)
        if self.answer.whole:
            self.over = True
            self._keep(tick, part, PartKind.END)
        return data[end:]

    def more(self, tick: int, part: Part, data: bytes) -> None:
        """That belongs to the body of the answer, though it may have come after its end."""
        end = self._parts.pop() if self.over else None
        self._keep(tick, part, PartKind.CHUNK, data)
        self.blanked = self.blanked or _is_blanked(data)
        if end is not None:
            self._parts.append(end)

    def is_all(self) -> bool:
        """Whether an answer that seems not to be whole is all that there is: something was taken out of it."""
        if self.blanked and self._parts:
            self.end(*self._parts[-1])
        return self.over

    def end(self, tick: int, part: Part) -> None:
        """No more comes. A chunk without data says that the other side sends no more."""
        self.over = True
        kind, failed = PartKind(part.kind), part.failed
        by_other_side = kind in (PartKind.END, PartKind.CHUNK)
        if self.blanked or (by_other_side and self.answer is not None and self.answer.lasts):
            kind = PartKind.END
        elif self.trouble is not None and failed is None:
            kind, failed = PartKind.FAILURE, self.trouble
        elif by_other_side:
            kind, self.fault = PartKind.END, self.fault or _CUT
        elif kind is PartKind.CLOSED:
            kind = PartKind.ABANDONED
        self._keep(tick, part, kind, failed=failed)

    def _keep(self, tick: int, part: Part, kind: PartKind, data: bytes = b"", failed: Failed | None = None) -> None:
        self._parts.append((tick, Part(self.event.id, kind, part.at, data, failed)))

    def exchange(self, body: Callable[[int], bytes], room: Room | None = None) -> Exchange:
        """As a seam would have kept it. `body` is what an event has sent."""
        event, head = self.event, self.request.head
        assert head is not None  # noqa: S101  what has none is no exchange
        sent = b"".join([body(number)[start:end] for number, start, end in self._slices])
        name = f"{head.words[0]} {self._url(head)}"
        told = Event(event.id, event.lane, Kind.HTTP, name, event.site, event.at, _encode(head.headers), event.delta)
        told.parts = self._parts
        unsent = None if self.request.whole or self.blanked else _UNSENT
        return Exchange(told, dechunk(sent) if head.chunked else sent, self.fault or unsent, room)

    def _url(self, head: http1.Head) -> str:
        scheme, host = self._start
        target = head.words[1]
        return f"{scheme}://{head.value('host') or host}{target}" if target.startswith("/") else target


class Connection:
    """A connection, by the event that made it."""

    def __init__(self, event: Event) -> None:
        self._label = event.name.removeprefix(OPENS).removesuffix(_SECURE)
        self._secure = event.name.endswith(_SECURE)
        self._parts = deque(event.parts)
        self._found: list[Heard] = []
        self._asking: Heard | None = None
        self._waiting: deque[Heard] = deque()
        self._answered: Heard | None = None
        self._besides = [event.id]
        self._other = False

    def told(self, event: Event) -> None:
        """Something was done besides, for the sake of what is asked next."""
        if event.name.startswith(_SECURES):
            self._secure = True
        self._besides.append(event.id)

    def sent(self, event: Event, body: bytes) -> None:
        """Something was sent over it."""
        self._listen(event.at)
        data, at = _went(event, body), 0
        while at < len(data) and not self._other:
            heard = self._asking
            if heard is None or heard.is_over_with(data[at:]):
                heard = self._begin(event)
            at = heard.ask(event, data, at)
            if heard.request.fault:
                self._other = True

    def exchanges(self) -> Iterator[Heard]:
        """All that were made over it, when everything has been sent."""
        self._listen(None)
        found = [heard for heard in self._found if heard.request.head is not None]
        if found:
            found[-1].pieces += self._besides
        yield from found

    def _begin(self, event: Event) -> Heard:
        scheme = "https" if self._secure else "http"
        heard = self._asking = Heard(event, scheme, self._label, self._besides)
        self._besides = []
        if self._found and self._found[-1].event is event:
            self._found[-1].fault = _SEVERAL
        else:
            self._found.append(heard)
        if self._waiting and self._waiting[0].is_all():
            self._answered = self._waiting.popleft()
        self._waiting.append(heard)
        return heard

    def _listen(self, until: int | None) -> None:
        """Hears what came until then."""
        while self._parts and (until is None or self._parts[0][1].at <= until):
            tick, part = self._parts.popleft()
            if part.kind == PartKind.CHUNK and part.data:
                self._came(tick, part)
            elif part.kind == PartKind.FALTERED and self._waiting:
                self._waiting[0].trouble = _late(part)
            elif part.kind == PartKind.CHUNK or part.kind in LAST:
                while self._waiting:
                    self._waiting.popleft().end(tick, part)

    def _came(self, tick: int, part: Part) -> None:
        data = part.data
        while data and not self._other:
            if self._waiting:
                data = self._waiting[0].hear(tick, part, data)
                if self._waiting[0].over:
                    self._answered = self._waiting.popleft()
                    self._other = self._answered.switches
            elif self._answered is not None and self._answered.blanked:
                self._answered.more(tick, part, data)
                return
            else:
                if self._answered is not None:
                    self._answered.fault = _MORE
                return


def _went(event: Event, body: bytes) -> bytes:
    """What of that was really sent."""
    part = event.parts[-1][1] if event.parts else None
    if part is None or _is_blanked(body):
        return body
    if part.failed is not None:
        return b"" if part.failed.name in _NOT_YET else body
    return body[: int(part.data)] if part.data.isdigit() and len(part.data) < _DIGITS else body


def _trouble(event: Event) -> Failed | None:
    failed = event.parts[-1][1].failed if event.parts else None
    return failed if failed is not None and failed.name not in _NOT_YET else None


def _late(part: Part) -> Failed | None:
    """Why nothing came, unless it is just that nobody waited for it."""
    try:
        failed = _failed(part.data)
    except (ValueError, RecursionError):
        return None
    return failed if failed.name == _LATE else None


def _on_tape(head: http1.Head) -> bytes:
    version, status, reason = head.words
    return _encode(Head(int(status), head.headers, reason, version, "chunked" if head.chunked else ""))


def _is_blanked(data: bytes) -> bool:
    return any(blank in data for blank in _BLANKS)
