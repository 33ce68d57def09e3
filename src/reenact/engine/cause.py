"""The likely cause of a divergence, and what to do about it: read from the shape of what changed.

Where a change stands tells what was edited (model, tools, prompt); what the changed words look like tells what leaked
past the seams (an address, a clock, a random id). A guess, and worded as one: the diff is the evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec

from reenact.engine.diff import HIDDEN, compare
from reenact.engine.divergence import Cause, Change, Datum, Divergence, Kind, Mark, Part, Request
from reenact.engine.normalize import SHIPPED, SHIPPED_NAMES, Normalizer, canonical

# Of several causes the first is named; the others are mentioned.
RANK: Final = (
    "host", "other-call", "model", "tool-schema", "sampling", "address", "unordered", "temp-path", "path", "uuid",
    "clock", "random", "process", "tool-result", "history", "prompt",
)  # fmt: skip

_DAY: Final = r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b)(?:,?\s+\d{{4}})?"
_TIME: Final = r"\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AP]M\b|\s(?:GMT|UTC)\b)?"
_ISO: Final = r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_EPOCH: Final = r"(?<![\w.])(?:\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19})(?![\w.])"
_CLOCK: Final = (
    rf"{_ISO}|\b20\d\d[01]\d[0-3]\d(?:T\d{{6}}Z?)?\b|(?:{_DAY},?\s+)?{_DATE}(?:,?\s+{_TIME})?|{_DAY}|{_TIME}"
    rf"|\b\d+\.\d{{2,}}\s?(?:ms|s|sec|seconds)\b|{_EPOCH}"
)
_PATH_END: Final = r"""[^\s"'`<>()\[\]{},;:]+"""
_ELEVEN_YEARS: Final = 11 * 366 * 86_400


@dataclass(frozen=True, slots=True)
class _Scene:
    """What was expected, its body decoded if it is JSON, and whether it is one that normalizers apply to."""

    expected: Request | Datum
    document: object
    normalized: bool


@dataclass(frozen=True, slots=True)
class _Leak:
    """A kind of text that differs from run to run. `agree` tells whether two of them differ as such texts do."""

    slug: str
    pattern: re.Pattern[str]
    what: str
    advice: str
    mask: str = ""  # the expression to offer for a normalizer; "" to offer the pattern itself
    agree: Callable[[str, str], bool] = lambda _before, _after: True


def _is_time(before: str, after: str) -> bool:
    """Whether two numbers can be times since 1970 in the same unit, some years apart; true of anything else."""
    if re.fullmatch(_EPOCH, before) is None or re.fullmatch(_EPOCH, after) is None:
        return True
    units = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}
    lengths = [len(text.partition(".")[0]) for text in (before, after)]
    old, new = (float(text) / units[length] for text, length in zip((before, after), lengths, strict=True))
    return lengths[0] == lengths[1] and min(old, new) >= 10**9 and abs(old - new) < _ELEVEN_YEARS


def _is_random(before: str, after: str) -> bool:
    """Whether two words of one length differ in a segment that looks drawn and not written."""
    if all(re.fullmatch(r"0\.\d+", text) for text in (before, after)):
        return True
    if len(before) != len(after):
        return False
    segments = zip(re.split(r"[-_.]", before), re.split(r"[-_.]", after), strict=False)
    differing = [text for pair in segments if pair[0] != pair[1] for text in pair]
    return bool(differing) and all(map(_looks_drawn, differing))


def _looks_drawn(text: str) -> bool:
    """Whether it is long, and hexadecimal, a number, or letters and digits that change places more than once."""
    if len(text) < 8 or not re.search(r"\d", text):
        return False
    return re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", text) is not None or len(re.findall(r"\d+|\D+", text)) > 2


_LEAKS: Final = (
    _Leak(
        "address",
        re.compile(r"\b0x[0-9a-fA-F]{8,16}\b|\b1[34]\d{13}\b"),
        "memory address",
        "Give the model a stable name in place of repr(obj) or id(obj), or define __repr__ on the class.",
        "0x[0-9a-fA-F]{8,16}",
    ),
    _Leak(
        "temp-path",
        re.compile(rf"(?:/private)?/(?:tmp|var/tmp|var/folders)/{_PATH_END}|\\Temp\\{_PATH_END}|\btmp[a-z0-9_]{{8}}\b"),
        "temporary path",
        "Show the model a path relative to the directory, or use a directory with a fixed name.",
        r'/tmp/[^\s"\\]+',  # noqa: S108 - an expression, no file of ours
    ),
    _Leak(
        "path",
        re.compile(rf"/(?:home|Users|root|workspace|builds?)/{_PATH_END}|\b[A-Z]:\\Users\\{_PATH_END}"),
        "path of this machine",
        "Show the model paths relative to the project.",
    ),
    _Leak(
        "uuid",
        re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        "UUID",
        "It was not drawn through Python's uuid or os.urandom, which the tape answers, but in native code (uuid_utils, "
        "fastuuid) or another process. Draw it in Python.",
        "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    ),
    _Leak(
        "process",
        re.compile(
            r"(?i)\bp?pid\W{1,3}\d+|(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\bport)[\s:=]{1,3}\d{2,5}"
            r"|\b(?:rss|memory|heap)\W{1,3}\d[\d.,]*"
        ),
        "number of this process (its pid, port or memory)",
        "Leave it out of what the model sees, or fix it (a port, say).",
    ),
    _Leak(
        "clock",
        re.compile(_CLOCK),
        "clock value",
        "The clock was read past the seams: in native code, by another process, from the times of a file or by a "
        "database. Read it in Python (time, datetime), which the tape answers.",
        agree=_is_time,
    ),
    _Leak(
        "random",
        re.compile(r"\b0\.\d{8,}\b|[\w-]{8,}[\w+/=-]*"),
        "random value, or the hash of something that differs",
        "It was drawn past the seams, in native code or by another process. Draw it in Python (random, secrets, uuid), "
        "which the tape answers.",
        agree=_is_random,
    ),
)

_SAMPLING: Final = frozenset({
    "temperature", "top_p", "topP", "top_k", "topK", "min_p", "max_tokens", "maxTokens", "max_output_tokens",
    "maxOutputTokens", "max_completion_tokens", "seed", "stop", "stop_sequences", "stopSequences", "presence_penalty",
    "frequency_penalty", "logit_bias", "n", "reasoning", "reasoning_effort", "thinking", "thinkingConfig", "effort",
    "generationConfig", "inferenceConfig", "generation_config", "verbosity", "service_tier", "response_format",
    "tool_choice", "parallel_tool_calls",
})  # fmt: skip
_TOOLS: Final = frozenset({"tools", "functions", "toolConfig", "tool_config", "input_schema"})
_SYSTEM: Final = frozenset({"system", "instructions", "systemInstruction", "system_instruction"})
_TALK: Final = frozenset({"messages", "input", "contents", "prompt", "inputText", "message", "chat_history"})
_RESULTS: Final = frozenset({"tool", "tool_result", "function_call_output", "toolResult", "functionResponse"})
_ON_PURPOSE: Final = "If you meant this, record the run again; if not, undo the change."


def explain(
    divergence: Divergence, normalizers: Sequence[Normalizer] = SHIPPED, draws: Sequence[Datum] = ()
) -> Divergence:
    """The divergence with its changes and likely cause, found from what was expected and what was asked."""
    expected, actual = (
        canonical(asked, normalizers) if isinstance(asked, Request) else asked
        for asked in (divergence.expected, divergence.actual)
    )
    if expected is None or actual is None:
        return divergence
    changes = compare(expected, actual)
    cause = likely_cause(expected, actual, changes, draws)
    return msgspec.structs.replace(divergence, changes=changes, cause=cause)


def likely_cause(
    expected: Request | Datum | None,
    actual: Request | Datum | None,
    changes: Sequence[Change],
    draws: Sequence[Datum] = (),
) -> Cause | None:
    """The most telling cause that the changes show, others mentioned in its text; None when they show none.

    `expected` and `actual` are what was compared, `draws` those of this lane that the tape could not answer.
    """
    if expected is None or actual is None:
        return None
    scene = _Scene(expected, _document(expected), isinstance(actual, Request))
    found: dict[str, Cause] = {}
    for change in changes:
        for cause in _causes(change, scene):
            found.setdefault(cause.slug, cause)
    if not found:
        return None
    slugs = sorted(found, key=RANK.index)
    first = found[slugs[0]]
    text = first.text
    if slugs[1:]:
        text += f" Other causes seen: {_listed(slugs[1:])}."
    if draws and {"clock", "random", "uuid"}.intersection(slugs):
        text += f" This run made draws that the tape does not hold: {_listed([draw.name for draw in draws])}."
    return Cause(first.slug, text, first.advice)


def _causes(change: Change, scene: _Scene) -> Iterator[Cause]:
    if change.kind is Kind.ELIDED or change.before == change.after == HIDDEN:
        return
    steps = _steps(change)
    if change.part is Part.BODY:
        edited = _edited(change, steps, scene.document)
    elif change.part is Part.PATH:
        edited = _other_path(change, scene)
    elif change.part is Part.ORIGIN:
        edited = _other_host(change)
    elif change.part in (Part.CALL, Part.METHOD):
        text = f"The run asks {_quoted(change.after)} where the tape holds {_quoted(change.before)}."
        edited = Cause("other-call", text, "The agent took another path before this call. " + _ON_PURPOSE)
    else:
        edited = None
    if edited is not None:
        yield edited
        return
    leaks, rest = _leaked(change, scene)
    yield from leaks
    if rest and change.part is Part.BODY:
        said = _said(change, steps, scene.document, rest)
        if said is not None:
            yield said


# What was edited


def _edited(change: Change, steps: list[str], document: object) -> Cause | None:
    """The cause that the place alone tells."""
    top = steps[0] if steps else ""
    if steps in (["model"], ["modelId"], ["model_id"]):
        return _other_model(change)
    if change.kind is Kind.MOVED:
        return None
    if top in _TOOLS or "input_schema" in steps:
        return _other_tool(change, steps, document)
    if top in _SAMPLING or (top == "config" and len(steps) > 1):
        text = f"The parameter {'.'.join(steps)} was {_quoted(change.before)} and is {_quoted(change.after)}."
        return Cause("sampling", text, _ON_PURPOSE)
    return None


def _other_model(change: Change) -> Cause:
    text = f"The run asks the model {_quoted(change.after)}; the tape holds an answer of {_quoted(change.before)}."
    return Cause("model", text, "Look for a model name that comes from the environment or a default. " + _ON_PURPOSE)


def _other_tool(change: Change, steps: list[str], document: object) -> Cause:
    names = _names(document, steps)
    tool = f"the tool {_quoted(names[0])}" if names else "a tool"
    if len(steps) <= 2 and change.kind in (Kind.ADDED, Kind.REMOVED):
        own = re.search(r'"name":"([^"]{1,80})"', change.before or change.after or "")
        tool = f"the tool {_quoted(own[1])}" if own else "a tool"
        return Cause("tool-schema", f"In what the model is offered, {tool} was {change.kind.value}.", _ON_PURPOSE)
    advice = "Tool schemas come from signatures and docstrings in many frameworks, and change with them. "
    return Cause("tool-schema", f"The definition of {tool} differs at {change.pointer}.", advice + _ON_PURPOSE)


def _other_path(change: Change, scene: _Scene) -> Cause | None:
    segments = urlsplit(scene.expected.url).path.split("/") if isinstance(scene.expected, Request) else []
    number = change.pointer.removeprefix("/")
    if number.isdecimal() and segments[int(number) - 1] in ("model", "models", "deployments"):
        return _other_model(change)
    leaks, rest = _leaked(change, scene)
    if leaks and not rest:
        return None
    text = f"The run asks {_quoted(change.after)} of the server where the tape holds {_quoted(change.before)}."
    return Cause("other-call", text, "The agent took another path before this call. " + _ON_PURPOSE)


def _other_host(change: Change) -> Cause:
    before, after = change.before or "", change.after or ""
    hosts = [re.sub(r":\d+$", "", origin) for origin in (before, after)]
    if hosts[0] == hosts[1]:
        text = f"Only the port differs: {_quoted(before)} on tape, {_quoted(after)} now."
        return Cause("process", text, "Give the server a fixed port: a free one is another in each run.")
    text = f"The run calls {_quoted(after)}; the tape holds a call to {_quoted(before)}."
    advice = "Compare the base URL: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, a proxy or a region in the environment. "
    return Cause("host", text, advice + _ON_PURPOSE)


def _said(change: Change, steps: list[str], document: object, rest: list[tuple[str, str]]) -> Cause | None:
    """The cause when words of the conversation differ that look like nothing but words."""
    top = steps[0] if steps else ""
    if top in _SYSTEM:
        return Cause("prompt", f"The system prompt changed: {_words(rest, change.more)}.", _ON_PURPOSE)
    if top not in _TALK:
        return None
    if change.kind in (Kind.ADDED, Kind.REMOVED) and len(steps) <= 2:
        text = f"A message was {change.kind.value} at {change.pointer}."
        advice = "The agent took another path before this call: look at what builds its messages. "
        return Cause("history", text, advice + _ON_PURPOSE)
    labels = [*_labels(document, steps), *steps]
    if _RESULTS.intersection(labels):
        text = f"A tool returned something else: {_words(rest, change.more)}."
        advice = (
            "Its result comes from where the tape does not answer: a file, a database, native code. Decorate the tool "
            "with @reenact.tool, and replay will not run it again."
        )
        return Cause("tool-result", text, advice)
    who = "system" if {"system", "developer"}.intersection(labels) else next(iter(labels[:1]), "")
    who = {"system": "system prompt", "user": "user's message", "assistant": "assistant's message"}.get(who, "prompt")
    return Cause("prompt", f"The {who} changed: {_words(rest, change.more)}.", _ON_PURPOSE)


def _labels(document: object, steps: list[str]) -> list[str]:
    """Roles and types of the objects on the way down to a pointer, outermost first."""
    return [label for node in _way(document, steps) for key in ("role", "type") for label in _string(node, key)]


def _names(document: object, steps: list[str]) -> list[str]:
    """Names of the objects on the way down to a pointer, innermost first."""
    found = []
    for node in _way(document, steps):
        found += _string(node, "name")
        found += [name for key in ("function", "toolSpec") for name in _string(node.get(key), "name")]
    return found[::-1]


def _way(document: object, steps: list[str]) -> Iterator[dict[str, object]]:
    for step in steps:
        if isinstance(document, dict):
            yield document
            document = document.get(step)
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return
    if isinstance(document, dict):
        yield document


def _string(node: object, key: str) -> list[str]:
    value = node.get(key) if isinstance(node, dict) else None
    return [value] if isinstance(value, str) else []


# What leaked past the seams


@dataclass(frozen=True, slots=True)
class _Place:
    """Changed words in the text around them, on each side with where they start and end."""

    before: str
    after: str
    old: tuple[int, int]
    new: tuple[int, int]

    @property
    def words(self) -> tuple[str, str]:
        return self.before[slice(*self.old)], self.after[slice(*self.new)]


def _leaked(change: Change, scene: _Scene) -> tuple[list[Cause], list[tuple[str, str]]]:
    """The leaks among the changed words, and the changed words that are none."""
    if change.kind is Kind.MOVED:
        return [_unordered(change)], []
    found: dict[str, Cause] = {}
    rest = []
    for place in _places(change):
        match = next(filter(None, (_pair(leak, place) for leak in _LEAKS)), None)
        if match is None:
            rest.append(place.words)
        else:
            leak, old, new = match
            found.setdefault(leak.slug, _leak_cause(leak, change, (old, new), scene))
    if rest and _shuffled(rest):
        found["unordered"] = _unordered(change)
        rest = []
    return list(found.values()), rest


def _unordered(change: Change) -> Cause:
    advice = (
        "Sort them before they are sent: sets, os.listdir, glob and as_completed promise no order. "
        "sorted(names) is enough."
    )
    return Cause("unordered", f"{_at(change)} holds the same things in another order.", advice)


def _places(change: Change) -> Iterator[_Place]:
    """Each stretch of changed words of the hunks; the whole value where there are none."""
    if not change.hunks:
        before, after = change.before or "", change.after or ""
        yield _Place(before, after, (0, len(before)), (0, len(after)))
    for hunk in change.hunks:
        before, after = hunk.text(Mark.REMOVED), hunk.text(Mark.ADDED)
        old = new = old_start = new_start = 0
        for piece in hunk.pieces:
            if piece.mark is Mark.SAME and (old, new) != (old_start, new_start):
                yield _Place(before, after, (old_start, old), (new_start, new))
            old += len(piece.text) * (piece.mark is not Mark.ADDED)
            new += len(piece.text) * (piece.mark is not Mark.REMOVED)
            if piece.mark is Mark.SAME:
                old_start, new_start = old, new
        if (old, new) != (old_start, new_start):
            yield _Place(before, after, (old_start, old), (new_start, new))


def _pair(leak: _Leak, place: _Place) -> tuple[_Leak, str, str] | None:
    """What of this kind the changed words are, or are part of, on either side."""
    old = _overlapping(leak.pattern, place.before, place.old)
    new = _overlapping(leak.pattern, place.after, place.new)
    if old and new and old != new and leak.agree(old, new):
        return leak, old, new
    return None


def _overlapping(pattern: re.Pattern[str], text: str, place: tuple[int, int]) -> str:
    start, end = place
    return next((m[0] for m in pattern.finditer(text) if m.start() < end and m.end() > start), "")


def _shuffled(places: list[tuple[str, str]]) -> bool:
    """Whether the changed words of all places together are the same on both sides, and not all where they were."""
    old, new = (re.findall(r"\w+", " ".join(words)) for words in zip(*places, strict=True))
    apart = any(not was or not now for was, now in places)
    return bool(old) and Counter(old) == Counter(new) and (old != new or apart)


def _leak_cause(leak: _Leak, change: Change, pair: tuple[str, str], scene: _Scene) -> Cause:
    what = leak.what
    if leak.slug == "address":
        text = change.before if not change.hunks else change.hunks[0].text(Mark.REMOVED)
        owner = re.search(r"<([\w.]+)[^<>]{0,80}? at " + re.escape(pair[0]), text or "")
        what += f" (of a {owner[1].rpartition('.')[2]})" if owner else ""
    elif leak.slug == "uuid" and pair[0][14] == pair[1][14]:
        what += f" of version {pair[0][14]}" + (", made from the clock" if pair[0][14] in "167" else "")
    article = "" if leak.slug == "address" and not what.startswith("memory") else "a "
    text = f"{_at(change)} holds {article}{what}: {_quoted(pair[0])} on tape, {_quoted(pair[1])} now."
    entry = _normalizer(leak, change, pair, scene)
    advice = f"{leak.advice} Or add a normalizer to pyproject.toml:\n{entry}" if entry else leak.advice
    return Cause(leak.slug, text, advice)


def _normalizer(leak: _Leak, change: Change, pair: tuple[str, str], scene: _Scene) -> str:
    """An entry of pyproject.toml that takes the leak out of both sides; "" where none can be offered."""
    name = next((step for step in reversed(_steps(change)) if not step.isdecimal()), leak.slug)
    if not scene.normalized or change.part not in (Part.BODY, Part.HEADER, Part.QUERY):
        return ""
    if change.part is not Part.BODY:
        line = f"{change.part.value} = {_toml(name)}"
    elif change.pointer and scene.document is None:
        return ""  # a form field: its text stands encoded in the body
    elif pair == (change.before, change.after) and change.pointer:
        path = "/".join("*" if step.isdecimal() else step for step in change.pointer.split("/"))
        line = f"pointer = {_toml(path)}"
    else:
        name = leak.slug
        lead = _lead(change, pair) if leak.slug in ("clock", "random") else ""
        known = leak.mask and all(re.fullmatch(leak.mask, text) for text in pair)
        expression = leak.mask if known else _expression(leak, pair)
        if not all(re.fullmatch(expression, text) for text in pair):
            return ""
        line = f"regex = '{_escaped(lead)}{expression}'\nreplace = {_toml(lead + leak.slug.upper())}"
    label = f"my-{name}" if name in SHIPPED_NAMES else name
    return f"[[tool.reenact.normalizers]]\nname = {_toml(label)}\n{line}"


def _steps(change: Change) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in change.pointer.split("/")[1:]]


def _lead(change: Change, pair: tuple[str, str]) -> str:
    """The words before it, which keep the normalizer from other texts of the same form."""
    text = change.hunks[0].text(Mark.REMOVED) if change.hunks else change.before or ""
    found = re.search(r"(?:[A-Za-z]+[ :=]+){1,2}\Z", text.partition(pair[0])[0])
    return found[0] if found else ""


def _expression(leak: _Leak, pair: tuple[str, str]) -> str:
    """An expression for texts such as these two."""
    old, new = pair
    if all(re.fullmatch(r"0\.\d+", text) for text in pair):
        return r"0\.\d+"
    if leak.slug == "random" and len(old) == len(new):
        shared = next(index for index, letter in enumerate(old) if letter != new[index])
        start = max(old.rfind("-", 0, shared), old.rfind("_", 0, shared)) + 1
        letters = "[0-9a-f]" if all(re.fullmatch("[0-9a-f]+", text[start:]) for text in pair) else "[A-Za-z0-9+/=_-]"
        return f"{_escaped(old[:start])}{letters}{{{len(old) - start}}}"
    runs = [re.findall(r"\d+|[A-Za-z]+|[^A-Za-z\d]+", text) for text in pair]
    if len(runs[0]) != len(runs[1]):
        return _escaped(old)
    return "".join(_run(was, now, words=leak.slug == "clock") for was, now in zip(*runs, strict=True))


def _run(old: str, new: str, *, words: bool) -> str:
    if old.isdigit() and new.isdigit():
        # Parts of dates and whole times have a fixed number of digits; fractions, pids and ports have not.
        return rf"\d{{{len(old)}}}" if len(old) == len(new) and len(old) in (2, 4, 10, 13, 15) else r"\d+"
    if (words or old != new) and old.isalpha() and new.isalpha() and len(old) > 1:
        return "[A-Za-z]+"
    return _escaped(old)


def _escaped(text: str) -> str:
    # re.escape would escape blanks and hyphens too, which nobody wants to read. A quote cannot stand in TOML's '...',
    # and a line break or double quote stands escaped in the body, which is what the expression is for.
    special = {"'": ".", "\n": r"\\n", '"': r"\\" + '"'}
    return re.sub(r"""[.^$*+?{}\[\]\\|()'"\n]""", lambda match: special.get(match[0], "\\" + match[0]), text)


# Words


def _at(change: Change) -> str:
    if change.part is Part.BODY:
        return change.pointer or (change.note.capitalize() if change.note.startswith("line ") else "The text")
    where = {Part.QUERY: "The query parameter", Part.PATH: "The path of the URL"}.get(change.part, f"The {change.part}")
    return where if change.part is Part.PATH else f"{where} {change.pointer.removeprefix('/')}".rstrip()


def _words(rest: list[tuple[str, str]], unseen: int) -> str:
    told = [
        f"{_quoted(old)} became {_quoted(new)}" if old and new else f"{_quoted(old or new)} was {_gone(old)}"
        for old, new in rest[:2]
    ]
    more = f", and {len(rest) - 2 + unseen} more" if len(rest) > 2 else ""
    return ", ".join(told) + more


def _gone(old: str) -> str:
    return "removed" if old else "added"


def _quoted(text: str | None) -> str:
    if text is None:
        return "absent"
    text = " ".join(text.split())
    return f'"{text}"' if len(text) <= 60 else f'"{text[:40]} … {text[-16:]}"'


def _listed(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:4]) + (f" and {len(unique) - 4} more" if len(unique) > 4 else "")


def _toml(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _document(asked: Request | Datum) -> object:
    body = asked.body if isinstance(asked, Request) else asked.data
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
