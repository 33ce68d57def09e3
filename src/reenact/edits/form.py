r"""A decision as a person writes it, for an editor or a file.

    I will look that up.

    @call get_weather id=call_abc
    {
      "city": "Oslo"
    }
    @stop end
    @ignored
    From here on nothing counts.

What comes first is the text of the answer; a text alone is a whole form. Each `@call` begins a call of a tool, with its
arguments below it: a JSON object, or, after `@call NAME text`, whatever text there is. A call without an id gets one.
The name is written in JSON's quotes if it has spaces. `@stop` is one of end, tools, length and refusal, or a word of
the provider's; without it, it follows from whether there are calls. `@text` on the first line says that the text begins
below it. A line of the text that looks like one of these has a backslash before it. Empty lines at the end of the text
count as they were recorded.

A JSON object says the same, `{"text": "...", "calls": [{"name": "...", "arguments": {}, "id": "..."}], "stop": "..."}`.
It has to have `calls`, so that an answer which is JSON itself is a text like any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from reenact.edits.decision import Call, Decision
from reenact.errors import EditError

_LINE = re.compile(r"@(call|stop|text|ignored)(?=\s|$)")
_QUOTED = re.compile(r"\\*@(?:call|stop|text|ignored)(?=\s|$)")
_CALL = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*"|\S+)(?:\s+id=(?P<id>"(?:[^"\\]|\\.)*"|\S+))?(?P<free>\s+text)?')
_PLAIN = re.compile(r'[^\s"]+')
_HELP = """\
@ignored
What follows here is ignored. Above stands the model's answer: its text, then each tool that it calls,

    @call NAME id=ID
    {"arguments": "as JSON"}

A call without an id gets one. Reasoning cannot be edited: providers sign it."""


class _Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call in JSON."""

    name: str
    arguments: dict[str, object] | str = {}
    id: str = ""


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision in JSON."""

    calls: list[_Given]
    text: str = ""
    stop: str = ""


def written(decision: Decision, *, helping: bool = False) -> str:
    """The decision as a text; `helping` with a hint and the reasoning at its end, as an editor shows them."""
    lines = [_quoted(line) for line in decision.text.split("\n")]
    if decision.text.startswith("{") and _json(decision.text) is not None:
        lines.insert(0, "@text")
    if decision.calls and decision.text:
        lines.append("")
    elif not decision.text:
        lines = []
    for call in decision.calls:
        lines += _call_lines(call)
    if decision.stop:
        lines.append(f"@stop {decision.stop}")
    if helping:
        lines += ["", *_HELP.split("\n")]
        lines += ["", "The model's reasoning:", "", *decision.reasoning.split("\n")] if decision.reasoning else []
    return "\n".join(lines) + "\n"


def _call_lines(call: Call) -> Iterator[str]:
    head = f"@call {_word(call.name)}" + (f" id={_word(call.id)}" if call.id else "")
    if call.object is None:
        yield head + " text"
        yield from map(_quoted, call.arguments.split("\n"))
    else:
        yield head
        yield from json.dumps(call.object, ensure_ascii=False, indent=2).split("\n")


def _quoted(line: str) -> str:
    return "\\" + line if _QUOTED.match(line) else line


def _word(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else json.dumps(word)


def parsed(form: str, before: Decision | None = None) -> Decision:
    """The decision that a text says. What it leaves as it was `before` is what it was, to the letter.

    Raises:
        EditError: it is not to be understood; the message names the line.
    """
    try:
        form.encode()
    except UnicodeEncodeError as problem:
        raise EditError(f"the answer holds what is no character: {problem}") from None
    made = _json(form)
    made = _Reading(form).decision() if made is None else made
    return made if before is None else _as_before(made, before)


def _as_before(made: Decision, before: Decision) -> Decision:
    """White space at the end of the text, and of arguments, is not what a person has changed."""
    text = before.text if made.text.rstrip() == before.text.rstrip() else made.text
    left = list(before.calls)
    calls: list[Call] = []
    for call in made.calls:
        was = next((was for was in left if _unchanged(was, call)), None)
        if was is not None:
            left.remove(was)
        calls.append(was or call)
    return Decision(text, tuple(calls), made.stop, before.reasoning)


def _unchanged(was: Call, call: Call) -> bool:
    free = was.name == call.name and was.arguments.rstrip() == call.arguments.rstrip()
    return was.id == call.id and (free or was.same(call))


def _json(form: str) -> Decision | None:
    """A decision that is written as JSON; None where the text is not."""
    if not form.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(form)
    except (ValueError, RecursionError):
        return None
    if not (isinstance(value, dict) and "calls" in value and value.keys() <= {"text", "calls", "stop"}):
        return None
    try:
        given = msgspec.convert(value, _Form)
    except (msgspec.ValidationError, RecursionError) as problem:
        raise EditError(f"the answer, as JSON: {problem}") from None
    calls = tuple(Call(call.name, _text(call.arguments), call.id) for call in given.calls)
    return Decision(given.text, calls, given.stop)


def _text(arguments: dict[str, object] | str) -> str:
    return arguments if isinstance(arguments, str) else _compact(arguments)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Reading:
    """Goes through the lines of a form."""

    def __init__(self, form: str) -> None:
        self._lines = form.removeprefix("\ufeff").split("\n")
        self._at = 0

    def decision(self) -> Decision:
        """What they say."""
        if self._lines[0].rstrip() == "@text":
            self._at = 1
        text = "\n".join(self._plain()).rstrip("\r\n")
        calls: list[Call] = []
        stop = ""
        while self._at < len(self._lines):
            line, number = self._lines[self._at].rstrip(), self._at + 1
            found = _LINE.match(line)
            word, rest = (found[1], line[found.end() :].strip()) if found is not None else ("", line)
            self._at += 1
            match word:
                case "call":
                    calls.append(self._call(rest, number))
                case "stop" if rest and not stop:
                    stop = rest
                    self._nothing(number)
                case "ignored":
                    break
                case _:
                    raise EditError(f"line {number} of the answer: {line!r} cannot stand here; {_rules(word)}")
        return Decision(text, tuple(calls), stop)

    def _plain(self) -> list[str]:
        """The lines up to the next that begins something."""
        begun = self._at
        while self._at < len(self._lines) and not _LINE.match(self._lines[self._at]):
            self._at += 1
        return [line[1:] if _QUOTED.match(line) else line for line in self._lines[begun : self._at]]

    def _call(self, rest: str, number: int) -> Call:
        found = _CALL.fullmatch(rest)
        if found is None:
            raise EditError(f"line {number} of the answer: a call is written `@call NAME`, or `@call NAME id=ID`")
        name, made = _unquoted(found["name"], number), _unquoted(found["id"] or "", number)
        given = "\n".join(self._plain())
        if found["free"]:
            return Call(name, given.rstrip("\r\n"), made)
        try:
            value = json.loads(given) if given.strip() else {}
        except json.JSONDecodeError as problem:
            line = number + problem.lineno
            raise EditError(
                f"line {line} of the answer: the arguments of {name!r} are no JSON: {problem.msg}"
            ) from None
        except RecursionError:
            raise EditError(f"line {number} of the answer: the arguments of {name!r} are nested too deep") from None
        if not isinstance(value, dict):
            raise EditError(f"line {number + 1} of the answer: the arguments of {name!r} have to be a JSON object")
        return Call(name, _compact(value), made)

    def _nothing(self, number: int) -> None:
        for line in self._plain():
            number += 1
            if line.strip():
                raise EditError(f"line {number} of the answer: {line!r} cannot stand here; {_rules('')}")


def _rules(word: str) -> str:
    if word == "stop":
        return "`@stop` needs a reason, and comes once"
    return "text comes first, and what a call is given comes under its `@call`"


def _unquoted(word: str, number: int) -> str:
    if not word.startswith('"'):
        return word
    try:
        value = json.loads(word)
    except ValueError as problem:
        raise EditError(f"line {number} of the answer: {word} is no JSON string: {problem}") from None
    return str(value)
