"""Another result of a tool, where the model is told of it: in the requests that come after the call.

A tool that is a boundary (`@reenact.tool`, `boundaries` in pyproject.toml) has its result on tape, and a fork changes
it there (`tool_answer`): then the agent itself has the other result, and all that follows from it. Of any other tool
nobody knows which bytes of what it did become its result, but the next request to the model brings it. A `ResultRule`
changes it there. The agent's own state keeps the result that it had, and sends it again with every later request, so
the rule is for all requests of the branch: it finds the result by the id of the call. Ids may come twice (some servers
count from 0), and Gemini need not have any; then the result is told by its tool and what it was, and by how many equal
ones come before it. For that the rule is `bound` to the first request that brings it. Where the provider keeps the
conversation (`previous_response_id`) later requests do not bring it again, and need no change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from reenact.edits.asked import MESSAGES, Asked
from reenact.edits.decision import Call, Decision
from reenact.errors import EditError
from reenact.providers.loose import docs

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Result:
    """A result in a request: the object that holds it, which belongs to the document that was read."""

    id: str
    name: str
    holder: Object
    last: bool

    def fits(self, call: Call) -> bool:
        return self.id == call.id if call.id else self.name == call.name


@dataclass(frozen=True, slots=True)
class ResultRule:
    """Another result for one call, the `nth` of its name in its answer (from 0). `given` is what the model is told.

    `old` and `earlier` are known once it is bound: what the result was, as JSON, and how many equal ones come before.
    """

    call: Call
    given: str
    nth: int = 0
    failed: bool = False
    old: str = ""
    earlier: int = 0

    def bound(self, asked: Asked) -> ResultRule:
        """The rule for this and later requests. Raises EditError where this one does not bring the result."""
        api, document = asked.api, asked.document()
        fitting = [result for result in _results(api, document) if result.fits(self.call)]
        new = [result for result in fitting if result.last]
        new = new[-1:] if self.call.id else new[self.nth :]
        if not new:
            raise EditError(f"the request after the step brings no result of {self.call.name!r}")
        bound = new[0]
        old = _canonical(api, bound.holder)
        before = fitting[: next(at for at, one in enumerate(fitting) if one.holder is bound.holder)]
        return replace(self, old=old, earlier=sum(_canonical(api, one.holder) == old for one in before))

    def apply(self, asked: Asked) -> Asked:
        """See Rule."""
        api, document = asked.api, asked.document()
        fitting = [result for result in _results(api, document) if result.fits(self.call)]
        if len(fitting) > 1 or not self.call.id:
            fitting = [result for result in fitting if _canonical(api, result.holder) == self.old][self.earlier :]
        if not fitting:
            return asked
        _FORMATS[api].put(fitting[0].holder, self.given, failed=self.failed)
        return asked.saying(document)


def result_rule(decision: Decision, name: str, given: str, *, failed: bool = False) -> ResultRule:
    """The rule for a call of that answer: by its id, its tool, or `TOOL#2` for the second one of that tool.

    Raises:
        EditError: the answer has no such call, or several.
    """
    tool, _, number = name.rpartition("#")
    by_id = [call for call in decision.calls if call.id and call.id == name]
    if by_id:
        return ResultRule(by_id[0], given, failed=failed)
    if tool and number.isdecimal() and not any(call.name == name for call in decision.calls):
        calls = [call for call in decision.calls if call.name == tool]
        if not 1 <= int(number) <= len(calls):
            raise EditError(f"the step does not call {tool!r} {number} times, but {len(calls)}")
        return ResultRule(calls[int(number) - 1], given, int(number) - 1, failed)
    calls = [call for call in decision.calls if call.name == name]
    if len(calls) == 1:
        return ResultRule(calls[0], given, failed=failed)
    if calls:
        ways = ", ".join(call.id or f"{name}#{at}" for at, call in enumerate(calls, 1))
        raise EditError(f"the step calls {name!r} {len(calls)} times; say which: {ways}")
    known = ", ".join(sorted({call.name for call in decision.calls})) or "no tool"
    raise EditError(f"the step does not call {name!r}; it calls: {known}")


def tool_answer(name: str, old: bytes, given: str) -> bytes:
    """The value of a tool that is a boundary, as the tape holds it, with what a person gives in its place.

    A text is a text; anything else is given as JSON, and an object of a class as the tape has it, with its `$` members.

    Raises:
        EditError: it is no JSON, or does not say of which class it is.
    """
    try:
        was = json.loads(old)
    except (ValueError, RecursionError) as problem:
        raise EditError(f"what {name!r} gave back cannot be read: {problem}") from None
    if isinstance(was, str):
        return json.dumps(given).encode()
    try:
        value = json.loads(given)
    except (ValueError, RecursionError) as problem:
        raise EditError(f"the result of {name!r} has to be JSON, as it was: {problem}") from None
    tag = next((key for key in was if key.startswith("$")), None) if isinstance(was, dict) else None
    if tag is not None and not (isinstance(value, dict) and tag in value):
        raise EditError(f"{name!r} gave back no plain JSON; its result has to be as on the tape: {_short(old)}")
    return json.dumps(value).encode()


def _short(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    return text if len(text) <= 300 else text[:300] + " …"


# How a result stands in each API


class _Format:
    """Where results stand in a request, and how one is written. `said` is the key of what it says."""

    said = "content"

    def found(self, message: Object) -> Iterator[tuple[str, str, Object]]:
        """Id, tool (or nothing) and holder of each result in a message."""
        raise NotImplementedError

    def is_answer(self, message: Object) -> bool:
        """Whether the message is the model's."""
        return message.get("role") == "assistant"

    def called(self, message: Object) -> Iterator[tuple[str, str]]:
        """Id and name of each call in a message of the model."""
        raise NotImplementedError

    def put(self, holder: Object, given: str, *, failed: bool) -> None:
        """Writes another result where that one is."""
        holder[self.said] = _as_parts(holder.get(self.said), given, "text")


def _as_parts(was: object, given: str, kind: str) -> object:
    """A text, or a list with that text, as it was."""
    return [{"type": kind, "text": given}] if isinstance(was, list) else given


class _Chat(_Format):
    def found(self, message: Object) -> Iterator[tuple[str, str, Object]]:
        if message.get("role") in ("tool", "function"):
            yield _word(message, "tool_call_id"), _word(message, "name"), message

    def called(self, message: Object) -> Iterator[tuple[str, str]]:
        for call in docs(message, "tool_calls"):
            inner = call.get("function") or call.get("custom")
            yield _word(call, "id"), _word(inner, "name")


class _Responses(_Format):
    said = "output"

    def found(self, message: Object) -> Iterator[tuple[str, str, Object]]:
        if _word(message, "type").endswith("_call_output"):
            yield _word(message, "call_id"), "", message

    def is_answer(self, message: Object) -> bool:
        return message.get("role") == "assistant" or _word(message, "type").endswith(("_call", "reasoning"))

    def called(self, message: Object) -> Iterator[tuple[str, str]]:
        if _word(message, "type").endswith("_call"):
            yield _word(message, "call_id"), _word(message, "name")

    def put(self, holder: Object, given: str, *, failed: bool) -> None:
        was = holder.get("output")
        if isinstance(was, str | list) and _word(holder, "type") in ("function_call_output", "custom_tool_call_output"):
            holder["output"] = _as_parts(was, given, "input_text")
            return
        try:
            holder["output"] = json.loads(given)
        except (ValueError, RecursionError) as problem:
            raise EditError(f"a {holder['type']} has to be JSON, as the API has it: {problem}") from None


class _Messages(_Format):
    def found(self, message: Object) -> Iterator[tuple[str, str, Object]]:
        for block in docs(message, "content"):
            if block.get("type") == "tool_result" and isinstance(block, dict):
                yield _word(block, "tool_use_id"), "", block

    def called(self, message: Object) -> Iterator[tuple[str, str]]:
        for block in docs(message, "content"):
            if block.get("type") == "tool_use":
                yield _word(block, "id"), _word(block, "name")

    def put(self, holder: Object, given: str, *, failed: bool) -> None:
        super().put(holder, given, failed=failed)
        holder.pop("is_error", None)
        if failed:
            holder["is_error"] = True


class _Converse(_Format):
    def found(self, message: Object) -> Iterator[tuple[str, str, Object]]:
        for block in docs(message, "content"):
            if isinstance(result := block.get("toolResult"), dict):
                yield _word(result, "toolUseId"), "", result

    def called(self, message: Object) -> Iterator[tuple[str, str]]:
        for block in docs(message, "content"):
            if isinstance(use := block.get("toolUse"), dict):
                yield _word(use, "toolUseId"), _word(use, "name")

    def put(self, holder: Object, given: str, *, failed: bool) -> None:
        was = holder.get("content")
        value = _loaded(given)
        structured = isinstance(was, list) and any(isinstance(part, dict) and "json" in part for part in was)
        holder["content"] = [{"json": value}] if structured and isinstance(value, dict) else [{"text": given}]
        if "status" in holder or failed:
            holder["status"] = "error" if failed else "success"


class _Gemini(_Format):
    """A result is an object. What is given as another JSON value, or as a text, stands in one as the old one did."""

    def found(self, message: Object) -> Iterator[tuple[str, str, Object]]:
        for part in docs(message, "parts"):
            result = part.get("functionResponse") or part.get("function_response")
            if isinstance(result, dict):
                yield _word(result, "id"), _word(result, "name"), result

    def is_answer(self, message: Object) -> bool:
        return message.get("role") == "model"

    def called(self, message: Object) -> Iterator[tuple[str, str]]:
        for part in docs(message, "parts"):
            call = part.get("functionCall") or part.get("function_call")
            if isinstance(call, dict):
                yield _word(call, "id"), _word(call, "name")

    said = "response"

    def put(self, holder: Object, given: str, *, failed: bool) -> None:
        was = holder.get("response")
        value = _loaded(given)
        alone = next(iter(was)) if isinstance(was, dict) and len(was) == 1 else ""
        if failed:
            holder["response"] = {"error": given}
        elif alone in ("result", "output") and not (isinstance(value, dict) and value.keys() == {alone}):
            text = isinstance(was, dict) and isinstance(was[alone], str)
            holder["response"] = {alone: given if text or value is None else value}
        else:
            holder["response"] = value if isinstance(value, dict) else {"result": given}


_FORMATS: dict[str, _Format] = {
    "openai.chat": _Chat(),
    "openai.responses": _Responses(),
    "anthropic.messages": _Messages(),
    "bedrock.invoke": _Messages(),
    "google.gemini": _Gemini(),
    "bedrock.converse": _Converse(),
}


def _results(api: str, document: Object) -> list[_Result]:
    """The results in a request, in order; `last` are those after the model's last word."""
    form = _FORMATS[api]
    messages = [message for message in docs(document, MESSAGES[api]) if isinstance(message, dict)]
    spoken = max((at for at, message in enumerate(messages) if form.is_answer(message)), default=-1)
    names = {made: name for message in messages for made, name in form.called(message) if made}
    return [
        _Result(made, name or names.get(made, ""), holder, at > spoken)
        for at, message in enumerate(messages)
        for made, name, holder in form.found(message)
    ]


def _canonical(api: str, holder: Object) -> str:
    return json.dumps(holder.get(_FORMATS[api].said), sort_keys=True)


def _word(source: object, key: str) -> str:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, str) else ""


def _loaded(given: str) -> Any:
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return None
