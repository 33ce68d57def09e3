"""Answers of OpenAI's Chat Completions, and of whoever speaks it. Edited is the first choice; others stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reenact.edits.decision import END, LENGTH, REFUSAL, TOOLS, Call
from reenact.edits.framing import Event, Framing, dumped
from reenact.edits.shape import Block, Ids, pieces, portions
from reenact.errors import EditError
from reenact.providers.loose import NOTHING, Doc, as_json, count, doc, docs, either, text

STOPS = {END: "stop", TOOLS: "tool_calls", LENGTH: "length", REFUSAL: "stop"}
OTHER_STOPS = ("content_filter",)
_CALLS = {"function": "arguments", "custom": "input"}
_SAID = ("content", "refusal", "tool_calls")


class _Chat:
    stops = STOPS
    other_stops = OTHER_STOPS
    ids = Ids("call_", 24)
    blocks: list[Block]
    stop: str


class Plain(_Chat):
    """One JSON object."""

    def __init__(self, body: Doc) -> None:
        self._body = body
        self._choice = _first(body)
        self._message = doc(self._choice, "message")
        if not self._message:
            raise EditError("the recorded answer has no message to edit")
        _no_old_calls(self._message)
        self.stop = text(self._choice, "finish_reason")
        words, refused = _words(self._message)
        said = [Block(self._message.get("content"), words, refused=refused)] if words else []
        self.blocks = said + [Block(call, call=_call(call)) for call in docs(self._message, "tool_calls")]

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        was = like.raw if like is not None else None
        content: object = words
        if isinstance(was, list):
            content = [*(part for part in was if not _is_text(part)), {"type": "text", "text": words}]
        return Block(content, words, refused=refused)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        return Block(_with_arguments(_head(like.raw if like is not None else NOTHING, call), call.arguments), call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        said = next((block for block in blocks if block.said is not None), None)
        calls = [block.raw for block in blocks if block.call is not None]
        refused = said is not None and said.refused
        kept = {key: value for key, value in self._message.items() if key != "tool_calls" or calls}
        message = {**kept, "content": said.raw if said is not None else None if calls else ""}
        if refused or "refusal" in message:
            message["refusal"] = said.said if said is not None and refused else None
        if refused:
            message["content"] = None
        if calls:
            message["tool_calls"] = calls
        choice = {**self._choice, "message": message, "finish_reason": stop}
        if said not in self.blocks:
            message |= {"annotations": []} if message.get("annotations") else {}
            choice |= {"logprobs": None} if choice.get("logprobs") else {}
        return [dumped({**self._body, "choices": _choices(self._body, choice)})]


class Streamed(_Chat):
    """A stream of deltas. An event that carries several things is taken for several."""

    def __init__(self, framing: Framing, events: Sequence[Event]) -> None:
        self._framing = framing
        self._before: list[Event] = []
        self._after: list[Event] = []
        self.stop = ""
        self._said: list[Event] = []
        self._calls: dict[object, list[Event]] = {}
        for event in events:
            self._take(event)
        if not self.stop:
            raise EditError("the recorded answer is not whole: its stream has no finish_reason")
        words = [_words(_delta(event)) for event in self._said]
        said = Block(self._said, "".join(word for word, _ in words), refused=any(refused for _, refused in words))
        calls = [Block(pieces, call=_streamed_call(pieces)) for pieces in self._calls.values()]
        self.blocks = [*([said] if self._said else []), *calls]

    def _take(self, event: Event) -> None:
        if event.doc is None or not docs(event.doc, "choices") or not _first(event.doc):
            (self._after if self.stop else self._before).append(event)
            return
        delta, finish = _delta(event), text(_first(event.doc), "finish_reason")
        _no_old_calls(delta)
        content, calls = delta.get("content"), docs(delta, "tool_calls")
        parts: list[Doc] = []
        if content and (words := _words({"content": content})[0]):
            parts.append({"content": content if isinstance(content, str) else words})
        parts += [{"refusal": delta["refusal"]}] if delta.get("refusal") else []
        rest = {key: value for key, value in delta.items() if key not in _SAID}
        if isinstance(content, list) and (other := [part for part in content if not _is_text(part)]):
            rest["content"] = other
        others = any(value not in (None, "", []) for value in rest.values())
        alone = len(parts) + len(calls) + others + bool(finish) <= 1
        for part in parts:
            self._said.append(event if alone else self._made(event, part))
        for call in calls:
            self._slot(call).append(event if alone else self._made(event, {"tool_calls": [call]}))
        if alone and not parts and not calls:
            (self._after if finish or self.stop else self._before).append(event)
        elif not alone:
            if others:
                self._before.append(self._made(event, rest))
            if finish:
                self._after.append(self._framing.event(event.name, _with_choice(event.doc, {"delta": {}})))
        self.stop = self.stop or finish

    def _slot(self, call: Doc) -> list[Event]:
        """Where a piece of a call belongs; one without index and id goes on with the last."""
        slot = either(call, "index", "id")
        if not isinstance(slot, int | str):
            slot = next(reversed(self._calls), 0)
        return self._calls.setdefault(slot, [])

    def _made(self, like: Event, delta: Doc) -> Event:
        """An event that brings this and nothing else."""
        was = like.doc or NOTHING
        bare = {key: value for key, value in was.items() if key != "x_groq"}
        if "usage" in bare:
            bare["usage"] = None
        new: Doc = {"delta": delta, "finish_reason": None}
        if "logprobs" in _first(was):
            new = {**new, "logprobs": None}
        return self._framing.event(like.name, _with_choice(bare, new))

    def _like(self, like: Block | None) -> Event:
        """An event to make new ones like."""
        events = like.raw if like is not None else [*self._before, *self._said, *self._after]
        return next((event for event in events if event.doc is not None and docs(event.doc, "choices")), self._after[0])

    def say(self, words: str, like: Block | None, *, refused: bool) -> Block:
        """See Shape."""
        field, model = "refusal" if refused else "content", self._like(like)
        given = pieces(words, len(like.raw) if like is not None else portions(words))
        return Block([self._made(model, {field: piece}) for piece in given], words, refused=refused)

    def ask(self, call: Call, like: Block | None) -> Block:
        """See Shape."""
        model = self._like(like)
        head = _head(_call_of(like.raw[0]) if like is not None else NOTHING, call)
        kind = text(head, "type")
        given = pieces(call.arguments, len(like.raw) - 1 if like is not None else portions(call.arguments))
        deltas: list[Doc] = [{"index": 0, **_with_arguments(head, "")}]
        deltas += [{"index": 0, kind: {_CALLS[kind]: piece}} for piece in given]
        return Block([self._made(model, {"tool_calls": [delta]}) for delta in deltas], call=call)

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """See Shape."""
        events = list(self._before)
        for block in blocks:
            events += block.raw if block.call is None else []
        for at, block in enumerate(block for block in blocks if block.call is not None):
            events += [self._numbered(event, at) for event in block.raw]
        events += [self._stopped(event, stop) for event in self._after]
        return self._framing.chunks(events)

    def _numbered(self, event: Event, at: int) -> Event:
        call = _call_of(event)
        if call.get("index", at) == at or event.doc is None:
            return event
        delta = {**_delta(event), "tool_calls": [{**call, "index": at}]}
        return self._framing.event(event.name, _with_choice(event.doc, {"delta": delta}))

    def _stopped(self, event: Event, stop: str) -> Event:
        if event.doc is None or text(_first(event.doc), "finish_reason") in ("", stop):
            return event
        return self._framing.event(event.name, _with_choice(event.doc, {"finish_reason": stop}))


def _first(body: Doc) -> Doc:
    return next((choice for choice in docs(body, "choices") if count(choice, "index") == 0), NOTHING)


def _choices(body: Doc, first: Doc) -> list[Doc]:
    return [first if count(choice, "index") == 0 else choice for choice in docs(body, "choices")]


def _with_choice(body: Doc, fields: Doc) -> Doc:
    return {**body, "choices": _choices(body, {**_first(body), **fields})}


def _delta(event: Event) -> Doc:
    return doc(_first(event.doc or NOTHING), "delta")


def _call_of(event: Event) -> Doc:
    return next(iter(docs(_delta(event), "tool_calls")), NOTHING)


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text"


def _words(message: Doc) -> tuple[str, bool]:
    """What is said, and whether that is a refusal."""
    if refusal := text(message, "refusal"):
        return refusal, True
    content = message.get("content")
    if isinstance(content, list):
        return "".join(text(part, "text") for part in docs(message, "content") if _is_text(part)), False
    return text(message, "content"), False


def _no_old_calls(message: Doc) -> None:
    if message.get("function_call"):
        raise EditError("the recorded answer calls by `function_call`, of before `tool_calls`; it cannot be edited")


def _call(raw: Doc) -> Call:
    kind = "custom" if doc(raw, "custom") else "function"
    inner = doc(raw, kind)
    return Call(text(inner, "name"), as_json(inner.get(_CALLS[kind])), text(raw, "id"))


def _streamed_call(events: Sequence[Event]) -> Call:
    calls = [_call(_call_of(event)) for event in events]

    def first(values: Iterator[str]) -> str:
        return next(filter(None, values), "")

    arguments = "".join(call.arguments for call in calls)
    return Call(first(call.name for call in calls), arguments, first(call.id for call in calls))


def _head(like: Doc, call: Call) -> Doc:
    """A call without its arguments. Where its tool is another than before, free text is for a custom tool."""
    was = _call(like) if like else None
    kind = text(like, "type") or "function"
    if was is None or was.name != call.name:
        kind = "function" if call.object is not None else kind if was is not None else "custom"
    kept = {key: value for key, value in like.items() if key not in (*_CALLS, "index")}
    return {**kept, "id": call.id, "type": kind, kind: {"name": call.name}}


def _with_arguments(head: Doc, arguments: str) -> Doc:
    kind = text(head, "type")
    return {**head, kind: {**doc(head, kind), _CALLS[kind]: arguments}}
