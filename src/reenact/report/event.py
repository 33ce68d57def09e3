"""One event byte for byte: what was asked, and what came back piece by piece."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from reenact.providers import Unreadable, header
from reenact.providers.stream import stream_of
from reenact.report import moment
from reenact.report.figures import counted, seconds, size
from reenact.report.marks import facts
from reenact.report.run import where
from reenact.report.speech import pretty
from reenact.report.terminal import Paint, clip, lines, plain
from reenact.report.timeline import FORMAT, GIVEN
from reenact.tape.event import Failed, Kind, PartKind
from reenact.tape.recording import Recording
from reenact.trajectory import Entry, Mark
from reenact.trajectory.exchange import Exchange, Headers, class_of, message_of
from reenact.trajectory.exchanges import Exchanges

_LABEL: Final = 10
_HEX_ROW: Final = 16
_HEX_ROWS: Final = 32
_ENDS: Final = {
    PartKind.END: "the answer ended",
    PartKind.FAILURE: "it failed",
    PartKind.ABANDONED: "the agent let go of it before its end",
    PartKind.GIVEN_UP: "the agent let go of it before its end",
    PartKind.CANCELLED: "the agent cancelled it",
    PartKind.CLOSED: "the agent closed it at its end",
    PartKind.OPENED: "the connection was made",
    PartKind.VALUE: "it gave a value",
    PartKind.FALTERED: "nothing came in time",
}


class Body(msgspec.Struct, frozen=True):
    """A body without framing and content coding, unless `fault` says why they are still on. `base64` if not UTF-8."""

    bytes: int
    text: str | None
    base64: str | None
    fault: str = ""


class Piece(msgspec.Struct, frozen=True):
    """A piece of the answer: `kind` as on tape ("head", "chunk", "end" …), when it came, and its size on the wire."""

    kind: str
    at: int
    bytes: int


class Raised(msgspec.Struct, frozen=True):
    """The exception that the agent got, and what it was raised from."""

    type: str
    message: str
    cause: Raised | None


class Request(msgspec.Struct, frozen=True):
    """What was asked."""

    headers: Headers
    body: Body


class Response(msgspec.Struct, frozen=True):
    """What came back over HTTP."""

    status: int
    reason: str
    version: str
    headers: Headers
    body: Body


class EventDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact show RUN --event N --json`. `step` is None where the event belongs to none.

    `marks` are those that it is in, the outermost first. `sent` is what went out in the place of the request, in a
    branch, whose headers are not on tape; `entry.sent_as` says what of it is other.
    """

    timeline: int = FORMAT
    run: str
    step: int | None
    entry: Entry
    request: Request
    response: Response | None
    pieces: tuple[Piece, ...]
    value: Body | None
    raised: Raised | None
    marks: tuple[Mark, ...] = ()
    sent: Body | None = None


def document(
    recording: Recording, entry: Entry, *, run: str, step: int | None, marks: Iterable[Mark] = ()
) -> EventDocument:
    """An event of a recording, which the trajectory has as this entry."""
    exchange = Exchanges(recording).of(recording.events[entry.event])
    event = exchange.event
    carried = (PartKind.VALUE, PartKind.CHUNK) if event.kind == Kind.SOCKET else (PartKind.VALUE,)
    sent = recording.sent_for(event)
    value = b"".join(part.data for _, part in event.parts if part.kind in carried)
    return EventDocument(
        run=run,
        step=step,
        entry=entry,
        request=Request(exchange.request_headers, _body(exchange.question)),
        response=_response(exchange),
        pieces=tuple(Piece(_kind(part.kind), part.at, len(part.data)) for _, part in event.parts),
        value=_body(value) if value else None,
        raised=_raised(exchange.failed),
        marks=tuple(marks),
        sent=_body(sent[1]) if sent is not None else None,
    )


def text(document: EventDocument, *, cwd: str, lanes: Mapping[str, str], width: int, paint: Paint) -> Iterator[str]:
    """The event for a terminal, line by line; bodies are not cut."""
    entry = document.entry
    yield f"{paint.bold(f'Event {entry.event}')}  {clip(plain(entry.name), width - len(str(entry.event)) - 8)}"
    took = f", took {seconds(entry.ended - entry.began)}" if entry.ended is not None else ", no end on tape"
    lane = f"{entry.lane} ({lanes[entry.lane]})" if entry.lane in lanes else entry.lane
    told = [
        *facts(document.marks),
        ("step", str(document.step) if document.step is not None else "none"),
        ("at", moment.offset(entry.began) + took),
        ("line", where(entry.site, cwd)),
        ("lane", plain(lane)),
        ("given", GIVEN.get(entry.given, "")),
        ("piece of", f"event {entry.within}" if entry.within is not None else ""),
    ]
    yield from (f"  {paint.dim(label.ljust(_LABEL))}{value}" for label, value in told if value)
    if entry.kind == "http" or document.request.body.bytes:
        yield from ("", paint.bold("Request"))
        yield from _headed(plain(entry.name), document.request.headers, document.request.body, paint)
    if document.sent is not None and entry.sent_as is not None:
        yield from ("", paint.bold("Sent in its place"))
        yield from _headed(plain(entry.sent_as.name), (), document.sent, paint)
    if (response := document.response) is not None:
        yield from ("", paint.bold("Response"))
        status = plain(f"{response.version} {response.status} {response.reason}".strip())
        yield from _headed(status, response.headers, response.body, paint)
    if document.value is not None:
        title = "What came" if entry.kind == "socket" else "Value"
        yield from ("", paint.bold(title), *_shown(document.value, ()))
    if document.pieces:
        yield from ("", paint.bold("As it came"))
        yield from (_piece(piece, entry.began) for piece in document.pieces)
    if (raised := document.raised) is not None:
        yield from ("", paint.bold("The agent got an exception"))
        yield from _exception(raised, paint)


# From the tape


def _response(exchange: Exchange) -> Response | None:
    head = exchange.head
    if head is None:
        return None
    return Response(head.status, head.reason, head.version, head.headers, _body(exchange.answer))


def _body(data: bytes | Unreadable) -> Body:
    if isinstance(data, Unreadable):
        return msgspec.structs.replace(_body(data.raw), fault=data.reason)
    try:
        return Body(len(data), data.decode(), None)
    except UnicodeDecodeError:
        return Body(len(data), None, base64.b64encode(data).decode())


def _kind(number: int) -> str:
    try:
        return PartKind(number).name.lower()
    except ValueError:
        return str(number)


def _raised(failed: Failed | None) -> Raised | None:
    if failed is None:
        return None
    return Raised(class_of(failed), message_of(failed), _raised(failed.cause))


# For a terminal


def _headed(first: str, headers: Headers, body: Body, paint: Paint) -> Iterator[str]:
    yield f"  {first}"
    yield from (f"  {paint.name(plain(name))}: {plain(value)}" for name, value in headers)
    yield ""
    yield from _shown(body, headers)


def _shown(body: Body, headers: Headers) -> Iterator[str]:
    if not body.bytes:
        yield "  (no body)"
        return
    if body.fault:
        yield f"  ({plain(body.fault)}; as it came:)"
    data = base64.b64decode(body.base64) if body.base64 is not None else (body.text or "").encode()
    stream = stream_of(header(headers, "content-type"), data) if body.text is None and not body.fault else None
    if stream is not None:
        for chunk in stream.chunks:
            yield f"  {plain(chunk.name or 'event')}"
            yield from (f"    {line}" for line in lines(pretty(msgspec.json.encode(chunk.doc))))
    elif body.text is not None:
        yield from (f"  {line}" if line else "" for line in lines(pretty(body.text)))
    else:
        yield from _hex(data)


def _hex(data: bytes) -> Iterator[str]:
    for start in range(0, min(len(data), _HEX_ROW * _HEX_ROWS), _HEX_ROW):
        row = data[start : start + _HEX_ROW]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"  {start:08x}  {row.hex(' ').ljust(_HEX_ROW * 3)} {letters}"
    if len(data) > _HEX_ROW * _HEX_ROWS:
        yield f"  … and {counted(len(data) - _HEX_ROW * _HEX_ROWS, 'byte')} more; --json has them all"


def _piece(piece: Piece, began: int) -> str:
    words = {"head": "head of the answer", "chunk": size(piece.bytes)}.get(piece.kind)
    if words is None:
        known = next((kind for kind in PartKind if kind.name.lower() == piece.kind), None)
        words = _ENDS.get(known, piece.kind) if known is not None else piece.kind
    return f"  {f'after {seconds(piece.at - began)}':16}{words}"


def _exception(raised: Raised, paint: Paint) -> Iterator[str]:
    following: Raised | None = raised
    while following is not None:
        first, *rest = lines(f"{following.type}: {following.message}" if following.message else following.type)
        yield f"  {paint.bad(first)}"
        yield from (f"    {paint.bad(line)}" for line in rest)
        following = following.cause
        if following is not None:
            yield "  raised from"
