"""A recorded answer as it is on tape, and the same with another decision: what a fork serves.

What is edited stays in its format and its streaming shape; ids, model, times, usage and headers are as recorded, and of
a stream the events of whatever did not change keep their bytes. The exceptions: an edited body has no content coding
(`content-encoding` goes), `content-length` is that of the new body, and what counts letters of the old text (log
probabilities, annotations, citations) is dropped with it. An unchanged decision leaves every byte as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reenact.edits import chat, converse, gemini, messages, responses
from reenact.edits.decision import Decision
from reenact.edits.framing import Array, Frames, Framing, Sse
from reenact.edits.shape import Shape, decision_of, edited
from reenact.errors import EditError
from reenact.providers import ModelCall, Thinking, Unreadable, Wire, header, read
from reenact.providers.encoding import dechunk, decode_content
from reenact.providers.loose import load_doc
from reenact.providers.route import place_of

_FORMATS = {
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic.messages": messages,
    "google.gemini": gemini,
    "bedrock.converse": converse,
    "bedrock.invoke": messages,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a model, with the request that it answers.

    `chunks` are the pieces of its body as the tape has them: with HTTP/1.1 framing if `chunked`, without a coding if
    `decoded` (then `content-encoding` only tells of one that was).
    """

    method: str
    url: str
    request: bytes
    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[bytes, ...]
    chunked: bool = False
    decoded: bool = False

    @property
    def body(self) -> bytes:
        """The body without framing and content coding. Raises EditError where it cannot be had."""
        raw = b"".join(self.chunks)
        raw = dechunk(raw) if self.chunked else raw
        plain = raw if self.decoded else decode_content(self.headers, raw)
        if isinstance(plain, Unreadable):
            raise EditError(f"the recorded answer cannot be read: {plain.reason}")
        return plain


def decided(answer: Answer) -> Decision:
    """What the model decided. Raises EditError where the answer is none that can be edited."""
    return decision_of(_shape(answer), _reasoning(answer))


def apply(answer: Answer, decision: Decision) -> Answer:
    """The answer with this decision.

    Raises:
        EditError: the recorded answer is an error, cut, or of no format that can be edited; or its format cannot say
            what is decided.
    """
    shape = _shape(answer)
    if decision_of(shape).same(decision):
        return answer
    stop = decision.stop
    if stop and stop not in shape.stops and stop not in (*shape.stops.values(), *shape.other_stops, shape.stop):
        known = ", ".join((*shape.stops, *shape.other_stops))
        raise EditError(f"this API has no reason to stop {stop!r}; it has: {known}")
    return _with_body(answer, edited(shape, decision, hashlib.sha256(answer.body).digest()))


def _shape(answer: Answer) -> Shape:
    place = place_of(answer.method, answer.url)
    form = _FORMATS.get(place.reader.api) if place is not None else None
    if place is None or form is None:
        raise EditError(f"{answer.method} {answer.url} is no request to a model whose answers can be edited")
    if not 200 <= answer.status < 300:
        raise EditError(f"the recorded answer is an error ({answer.status}); there is no decision in it to edit")
    body = answer.body
    try:
        framing = _framing(answer, body, place.reader.api)
        shape: Shape = form.Plain(load_doc(body)) if framing is None else form.Streamed(framing, framing.split(body))
    except (ValueError, RecursionError) as problem:
        raise EditError(f"the recorded answer cannot be read: {problem}") from None
    return shape


def _framing(answer: Answer, body: bytes, api: str) -> Framing | None:
    """The framing of a streamed body; None if it is not streamed."""
    kind = header(answer.headers, "content-type").partition(";")[0].strip().lower()
    if kind == "application/vnd.amazon.eventstream":
        return Frames(wrapped=api == "bedrock.invoke")
    if (kind == "text/event-stream" and not body.startswith(b"{")) or body.startswith((b"data:", b"event:", b":")):
        return Sse()
    return Array() if api == "google.gemini" and body.lstrip().startswith(b"[") else None


def _reasoning(answer: Answer) -> str:
    wire = Wire(answer.method, answer.url, (), answer.request, answer.status, answer.headers, answer.body)
    call = read(wire)
    if not isinstance(call, ModelCall) or call.answer is None:
        return ""
    return "\n".join(part.text for part in call.answer.parts if isinstance(part, Thinking) and part.text)


def _with_body(answer: Answer, pieces: Sequence[bytes]) -> Answer:
    size = str(sum(map(len, pieces)))
    headers = tuple(
        (name, size if name.lower() == "content-length" else value)
        for name, value in answer.headers
        if name.lower() != "content-encoding"
    )
    if answer.chunked:
        pieces = [*(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece), b"0\r\n\r\n"]
    return replace(answer, headers=headers, chunks=tuple(pieces))
