"""Answers of Gemini's generateContent and streamGenerateContent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reenact.edits.decision import END, LENGTH, REFUSAL, TOOLS, Call
from reenact.edits.framing import Event, Framing, dumped
from reenact.edits.shape import Block, Ids, object_of, pieces, portions
from reenact.errors import EditError
from reenact.providers.loose import NOTHING, Doc, as_json, doc, docs, text

STOPS = {END: "STOP", TOOLS: "STOP", LENGTH: "MAX_TOKENS", REFUSAL: "SAFETY"}
OTHER_STOPS = (
    "RECITATION",
    "LANGUAGE",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
)
# What Google's documentation of thought signatures gives for a call that no model has made: without a signature on the
# first call of an answer, Gemini 3 refuses the next request.
UNSIGNED = "skip_thought_signature_validator"
_SIGNATURE = "thoughtSignature"


class _Gemini:
    stops = STOPS
    other_stops = OTHER_STOPS
    ids = Ids("", 0)
    blocks: list[Block]
    stop: str


class Plain(_Gemini):
    """One JSON object."""

    def __init__(self, body: Doc) -> None:
        self._body = body
        self._candidate = _candidate(body)
        if not self._candidate:
            raise EditError("the recorded answer has no candidate to edit: the prompt was refused")
        self.stop = text(self._candidate, "finishReason")
        self.blocks = [_block(part, part) for part in _parts(body)]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        return Block({**(like.raw if like is not None else NOTHING), "text": words}, words)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        return Block(_called(like.raw if like is not None else NOTHING, call), call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        parts = [block.raw for block in blocks]
        first = next((at for at, block in enumerate(blocks) if block.call is not None), None)
        if first is not None and _wants_signature(self._body, self.blocks):
            parts[first] = {_SIGNATURE: UNSIGNED, **parts[first]}
        return [dumped(_with_parts(self._body, parts, {"finishReason": stop}))]


class Streamed(_Gemini):
    """A stream of answers, each with what is new. One that brings several parts is taken for several."""

    def __init__(self, framing: Framing, events: Sequence[Event]) -> None:
        self._framing = framing
        self._before: list[Event] = []
        self._after: list[Event] = []
        self._end: Doc = NOTHING
        self.blocks = []
        for event in events:
            self._take(event)
        self.stop = text(_candidate(self._end), "finishReason")
        if not self.stop:
            raise EditError("the recorded answer is not whole: its stream has no finishReason")

    def _take(self, event: Event) -> None:
        body = event.doc or NOTHING
        if len(docs(body, "candidates")) > 1:
            raise EditError("the recorded answer has several candidates; such a stream cannot be edited")
        if text(_candidate(body), "finishReason"):
            self._end = body
        parts = _parts(body)
        if not parts:
            (self._after if self.blocks else self._before).append(event)
        for part in parts:
            alone = event if len(parts) == 1 else self._framing.event("", _with_parts(body, [part]))
            block = _block(part, [alone])
            if block.said is not None and self.blocks and self.blocks[-1].said is not None:
                last = self.blocks.pop()
                block = Block([*last.raw, alone], (last.said or "") + block.said)
            self.blocks.append(block)

    def _made(self, like: Block | None, parts: Sequence[Doc]) -> Iterator[Event]:
        model = (like.raw[0].doc if like is not None else None) or self._end
        for part in parts:
            yield self._framing.event("", _with_parts(model, [part]))

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        given = pieces(words, len(like.raw) if like is not None else portions(words)) or [""]
        parts: list[Doc] = [{"text": piece} for piece in given]
        if like is not None and (signed := _signature(like)):
            parts[-1] = {**parts[-1], _SIGNATURE: signed}
        return Block([*self._made(like, parts)], words)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        was = _parts(like.raw[0].doc or NOTHING)[0] if like is not None else NOTHING
        return Block([*self._made(like, [_called(was, call)])], call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        events = list(self._before)
        unsigned = _wants_signature(self._end, self.blocks)
        for block in blocks:
            if block.call is not None and unsigned:
                events += [self._signed(event) for event in block.raw]
                unsigned = False
            else:
                events += block.raw
        events = [self._with(event, {"finishReason": None}) for event in events]
        after = [self._with(event, {"finishReason": stop}) for event in self._after]
        if not any(text(_candidate(event.doc or NOTHING), "finishReason") for event in after):
            last = events.pop() if blocks else None
            parts = _parts(last.doc or NOTHING) if last is not None else []
            ended = self._framing.event("", _with_parts(self._end, parts, {"finishReason": stop}))
            events.append(last if last is not None and last.doc == ended.doc else ended)
        return self._framing.chunks([*events, *after])

    def _signed(self, event: Event) -> Event:
        body = event.doc or NOTHING
        parts = [{_SIGNATURE: UNSIGNED, **part} for part in _parts(body)]
        return self._framing.event("", _with_parts(body, parts, _candidate(body)))

    def _with(self, event: Event, fields: Doc) -> Event:
        """The event with another finish reason, where it has one."""
        body = event.doc or NOTHING
        was = text(_candidate(body), "finishReason")
        if not was or was == fields["finishReason"]:
            return event
        return self._framing.event("", _with_parts(body, _parts(body), fields))


def _candidate(body: Doc) -> Doc:
    return next(iter(docs(body, "candidates")), NOTHING)


def _parts(body: Doc) -> list[Doc]:
    return docs(doc(_candidate(body), "content"), "parts")


def _with_parts(body: Doc, parts: Sequence[Doc], fields: Doc = {"finishReason": None}) -> Doc:  # noqa: B006  never changed
    """The answer with other parts; a finish reason of None is left out."""
    candidate = _candidate(body)
    content = {"role": "model", **doc(candidate, "content"), "parts": [*parts]}
    new = {**candidate, **fields, "content": content}
    kept = {key: value for key, value in new.items() if value is not None or key != "finishReason"}
    return {**body, "candidates": [kept, *docs(body, "candidates")[1:]]}


def _block(part: Doc, raw: object) -> Block:
    if isinstance(words := part.get("text"), str) and part.get("thought") is not True and (words or len(part) == 1):
        return Block(raw, words)
    if call := doc(part, "functionCall"):
        return Block(raw, call=Call(text(call, "name"), as_json(call.get("args") or {}), text(call, "id")))
    return Block(raw)


def _called(like: Doc, call: Call) -> Doc:
    inner = {**doc(like, "functionCall"), "name": call.name, "args": object_of(call)}
    return {**like, "functionCall": {**inner, "id": call.id} if call.id else inner}


def _signature(block: Block) -> object:
    signed = (part.get(_SIGNATURE) for event in block.raw for part in _parts(event.doc or NOTHING))
    return next(filter(None, signed), None)


def _wants_signature(body: Doc, blocks: Sequence[Block]) -> bool:
    """Whether the model that answered signs what it calls."""
    raws = [block.raw[0].doc if isinstance(block.raw, list) else None for block in blocks]
    seen = [part for raw in raws for part in _parts(raw or NOTHING)] + [
        b.raw for b in blocks if isinstance(b.raw, dict)
    ]
    return text(body, "modelVersion").startswith("gemini-3") or any(part.get(_SIGNATURE) for part in seen)
