"""Compares two runs: which of their steps are the same, and in what the others differ.

Of each request only what is new in it is compared: what two runs differ in is told where it comes in, and not again in
every request after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from typing import Final
from zlib import crc32

from reenact.diff.alignment import gaps
from reenact.diff.change import Change, Kind
from reenact.diff.value import container, value_changes
from reenact.providers import ToolSpec
from reenact.providers.parameters import EVERYWHERE
from reenact.tape.close import outcome
from reenact.tape.event import Stream
from reenact.tape.recording import Recording
from reenact.tape.whole import every
from reenact.trajectory.align import Gist, aligned
from reenact.trajectory.asked import Asked
from reenact.trajectory.decision import Step
from reenact.trajectory.difference import Comparison, Difference, Pair, Sort
from reenact.trajectory.entry import Entry
from reenact.trajectory.exchange import class_of, message_of
from reenact.trajectory.own import Own
from reenact.trajectory.spoken import Item, answered, items, told
from reenact.trajectory.walk import Trajectory

_BITS: Final = 512
_LETTERS: Final = 4_000  # of a text, by which steps are known
_WORD: Final = re.compile(r"\w+")
_HOUSEKEEPING: Final = frozenset({"close", "connect", "wait", "sleep"})
_ONLY_OWN: Final = "only its times, ids or addresses"
_ENDS: Final = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "completed", "complete"), "stop"),
    **dict.fromkeys(("tool_use", "tool_calls", "function_call"), "tools"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "incomplete"), "length"),
    **dict.fromkeys(("content_filter", "safety", "refusal", "guardrail_intervened"), "filter"),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the runs that are compared."""

    recording: Recording
    trajectory: Trajectory
    own: Own


def compared(a: Side, b: Side) -> Comparison:
    """All that the two differ in."""
    old, new = ([_Said.of(step, side) for step in side.trajectory.steps] for side in (a, b))
    settings = _Settings()
    pairs = []
    for i, j in aligned([one.gist for one in old], [one.gist for one in new]):
        was, now = (old[i] if i is not None else None), (new[j] if j is not None else None)
        if was is None or now is None:
            numbers = [one.step.number if one is not None else None for one in (was, now)]
            pairs.append(Pair(numbers[0], numbers[1], (Difference(Sort.STEP),)))
        else:
            found = (*settings.differences(was, now), *_step(was, now, a.own, b.own))
            pairs.append(Pair(was.step.number, now.step.number, found))
    beside = a.trajectory.outside, b.trajectory.outside
    return Comparison(
        tuple(pairs),
        tuple(chain(_inputs(*beside), _events(*beside, a.own, b.own))),
        tuple(_end(a, b)),
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """A step with what it was told, and what it answered."""

    step: Step
    asked: Asked
    told: tuple[Item, ...]
    answered: tuple[Item, ...]
    gist: Gist

    @classmethod
    def of(cls, step: Step, side: Side) -> _Said:
        said = tuple(items(told(step.news.messages), side.own)), tuple(items(answered(step.answer), side.own))
        asked, done = said[0], [item for item in said[1] if item.sort is not Sort.THINKING]
        gist = Gist(
            step.lane,
            tuple((*item.shape, item.gist) for item in asked),
            tuple((*item.shape, item.gist) for item in done),
            tuple(item.name for item in asked if item.sort is Sort.RESULT),
            tuple(item.name for item in done if item.sort is Sort.CALL),
            _words(asked),
            _words(done),
            step.site.function if step.site is not None else "",
        )
        return cls(step, side.trajectory.asked.get(step.number, Asked()), *said, gist)


def _words(items: Iterable[Item]) -> int:
    """The words of a text, as a set of bits."""
    found = (set(_WORD.findall(item.gist[:_LETTERS].lower())) for item in items)
    return reduce(or_, (1 << crc32(word.encode()) % _BITS for words in found for word in words), 0)


# Settings


class _Settings:
    """What requests set. What differs from some step on is told there, and not again."""

    def __init__(self) -> None:
        self._told: set[Difference] = set()

    def differences(self, was: _Said, now: _Said) -> Iterator[Difference]:
        for one in self._all(was, now):
            if one not in self._told:
                self._told.add(one)
                yield one

    def _all(self, was: _Said, now: _Said) -> Iterator[Difference]:
        old, new = was.step, now.step
        yield from _value(Sort.MODEL, "", old.model, new.model)
        yield from _value(Sort.MODEL, "as served", old.served or "", new.served or "", matters=False)
        who = [f"{step.provider} ({step.api})" for step in (old, new)]
        yield from _value(Sort.PROVIDER, "", *who)
        yield from _value(Sort.PARAMETER, "stream", str(old.stream).lower(), str(new.stream).lower(), matters=False)
        if was.asked is now.asked or was.asked == now.asked:
            return
        yield from _parameters(was.asked.parameters, now.asked.parameters, same_api=old.api == new.api)
        yield from _tools(was.asked.tools, now.asked.tools)


def _parameters(old: dict[str, bytes], new: dict[str, bytes], *, same_api: bool) -> Iterator[Difference]:
    for name in dict.fromkeys((*old, *new)):
        # what one API has to be told another has no word for
        if same_api or name in EVERYWHERE or (name == "max_tokens" and name in old and name in new):
            values = [side.get(name, b"").decode("utf-8", "replace") for side in (old, new)]
            yield from _value(Sort.PARAMETER, name, *values)


def _tools(old: tuple[ToolSpec, ...], new: tuple[ToolSpec, ...]) -> Iterator[Difference]:
    before, after = ({tool.name: tool for tool in tools} for tools in (old, new))
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            kind = Kind.ADDED if was is None else Kind.REMOVED
            about = [tool.description if tool is not None else None for tool in (was, now)]
            yield Difference(Sort.OFFERED, name, (Change("", about[0], about[1], kind),))
        else:
            yield from _value(Sort.OFFERED, f"{name}: description", was.description, now.description)
            if container(was.parameters) != container(now.parameters):
                yield from _value(Sort.OFFERED, f"{name}: parameters", was.parameters, now.parameters)


def _value(sort: Sort, name: str, old: str, new: str, *, matters: bool = True) -> Iterator[Difference]:
    """The difference of two values; an empty one is none."""
    if old == new:
        return
    if not old or not new:
        change = Change("", old or None, new or None, Kind.REMOVED if old else Kind.ADDED)
        yield Difference(sort, name, (change,), matters)
    elif changes := value_changes(old, new):
        yield Difference(sort, name, changes, matters)


# One step


def _step(was: _Said, now: _Said, own: Own, other: Own) -> Iterator[Difference]:
    old, new = was.step, now.step
    yield from _history(old, new)
    yield from _items(was.told, now.told)
    yield from _troubles(old, new, own, other)
    yield from _items(was.answered, now.answered)
    ends = [_ENDS.get((step.finish_reason or "").lower(), step.finish_reason or "") for step in (old, new)]
    if ends[0] != ends[1]:
        yield from _value(Sort.FINISH, "", old.finish_reason or "none", new.finish_reason or "none")
    besides = [[entry for entry in step.entries if entry.event not in step.attempts] for step in (old, new)]
    yield from _events(besides[0], besides[1], own, other)
    if old.usage != new.usage and old.usage is not None and new.usage is not None:
        used = [f"{step.usage.input:,} in, {step.usage.output:,} out" for step in (old, new) if step.usage is not None]
        yield from _value(Sort.USAGE, "", *used, matters=False)


def _history(old: Step, new: Step) -> Iterator[Difference]:
    lost = [len(step.news.lost) if step.news.rewritten else 0 for step in (old, new)]
    if lost[0] != lost[1]:
        words = [f"{count:,} earlier messages gone or changed" if count else "as it was" for count in lost]
        yield from _value(Sort.HISTORY, "", *words)


def _items(old: Sequence[Item], new: Sequence[Item]) -> Iterator[Difference]:
    """What was said otherwise, or by one side only."""
    keys = [(*item.shape, item.gist) for item in old], [(*item.shape, item.gist) for item in new]
    i = j = 0
    for i1, i2, j1, j2 in (*gaps(*keys), (len(old), len(old), len(new), len(new))):
        for was, now in zip(old[i:i1], new[j:j1], strict=True):
            if was.text != now.text and (changes := value_changes(was.text, now.text)):
                yield Difference(_sort_of_change(was.sort), was.name, changes, matters=False, note=_ONLY_OWN)
        yield from _unequal(old[i1:i2], new[j1:j2])
        i, j = i2, j2


def _unequal(old: Sequence[Item], new: Sequence[Item]) -> Iterator[Difference]:
    """Items that follow each other on either side, none of which are equal: those of one shape are edits."""
    i = j = 0
    shapes = [item.shape for item in old], [item.shape for item in new]
    for i1, i2, j1, j2 in (*gaps(*shapes), (len(old), len(old), len(new), len(new))):
        for was, now in zip(old[i:i1], new[j:j1], strict=True):
            matters = was.sort is not Sort.THINKING
            yield Difference(_sort_of_change(was.sort), was.name, value_changes(was.text, now.text), matters)
        yield from _others(old[i1:i2], new[j1:j2])
        i, j = i2, j2


def _others(old: Sequence[Item], new: Sequence[Item]) -> Iterator[Difference]:
    """Items of which the other side has none of the shape; of calls, one may stand for another."""
    calls = [item for item in old if item.sort is Sort.CALL], [item for item in new if item.sort is Sort.CALL]
    instead = list(zip(*calls, strict=False))
    for was, now in instead:
        yield Difference(Sort.CALL, was.name, (Change("", _called(was), _called(now), Kind.CHANGED),))
    swapped = [item for pair in instead for item in pair]
    for item in (item for item in old if not any(item is one for one in swapped)):
        yield Difference(item.sort, item.name, (Change("", _called(item), None, Kind.REMOVED),), _matters(item))
    for item in (item for item in new if not any(item is one for one in swapped)):
        yield Difference(item.sort, item.name, (Change("", None, _called(item), Kind.ADDED),), _matters(item))


def _matters(item: Item) -> bool:
    return item.sort is not Sort.THINKING


def _sort_of_change(sort: Sort) -> Sort:
    """What has changed where both sides have such an item."""
    return Sort.ARGUMENTS if sort is Sort.CALL else sort


def _called(item: Item) -> str:
    return f"{item.name}({item.text})" if item.sort is Sort.CALL else item.text


def _troubles(old: Step, new: Step, own: Own, other: Own) -> Iterator[Difference]:
    sides = [_failures(step) for step in (old, new)]
    keys = [[whose.without(text) for text in side] for whose, side in zip((own, other), sides, strict=True)]
    if keys[0] != keys[1]:
        yield from _value(Sort.ERROR, "", *("\n".join(side) for side in sides))
    elif len(old.attempts) != len(new.attempts):
        yield from _value(Sort.ERROR, "attempts", str(len(old.attempts)), str(len(new.attempts)), matters=False)


def _failures(step: Step) -> list[str]:
    """What went wrong in asking the model."""
    failed = [trouble for trouble in step.troubles if trouble.event in step.attempts]
    return [f"{one.status or ''} {one.type}: {one.message}".strip(" :") for one in failed]


# Besides


def _inputs(old: Sequence[Entry], new: Sequence[Entry]) -> Iterator[Difference]:
    read = ["".join(entry.value for entry in side if entry.kind == "stdin") for side in (old, new)]
    yield from _value(Sort.INPUT, "", *read)


def _events(old: Sequence[Entry], new: Sequence[Entry], own: Own, other: Own) -> Iterator[Difference]:
    """What happened across other boundaries, in its order."""
    told = [[_event(entry) for entry in side if _is_told(entry)] for side in (old, new)]
    keys = [own.without(text) for text in told[0]], [other.without(text) for text in told[1]]
    for i1, i2, j1, j2 in gaps(*keys):
        both = min(i2 - i1, j2 - j1)
        for offset in range(both):
            yield from _value(Sort.EVENT, "", told[0][i1 + offset], told[1][j1 + offset])
        for text in told[0][i1 + both : i2]:
            yield Difference(Sort.EVENT, "", (Change("", text, None, Kind.REMOVED),))
        for text in told[1][j1 + both : j2]:
            yield Difference(Sort.EVENT, "", (Change("", None, text, Kind.ADDED),))


def _is_told(entry: Entry) -> bool:
    return entry.within is None and entry.kind not in _HOUSEKEEPING and entry.kind != "stdin"


def _event(entry: Entry) -> str:
    trouble = entry.trouble
    failed = f": {trouble.type}" if trouble is not None and trouble.status is None else ""
    return f"{entry.name}{f'  {entry.status}' if entry.status is not None else ''}{failed}"


# The end


def _end(a: Side, b: Side) -> Iterator[Difference]:
    for stream in Stream:
        texts = [_written(side.recording, stream) for side in (a, b)]
        same = a.own.without(texts[0]) == b.own.without(texts[1])
        for one in _value(Sort.OUTPUT, stream.name.lower(), *texts, matters=not same):
            yield Difference(one.sort, one.name, one.changes, one.matters, _ONLY_OWN if same else "")
    yield from _value(Sort.OUTCOME, "", outcome(a.recording), outcome(b.recording))
    errors = [_error(side.recording) for side in (a, b)]
    matters = a.own.without(errors[0]) != b.own.without(errors[1])
    yield from _value(Sort.OUTCOME, "exception", *errors, matters=matters)
    results = [
        side.recording.ended.result.decode("utf-8", "replace") if side.recording.ended is not None else ""
        for side in (a, b)
    ]
    matters = a.own.without(results[0]) != b.own.without(results[1])
    yield from _value(Sort.OUTCOME, "result", *results, matters=matters)


def _written(recording: Recording, stream: Stream) -> str:
    return (
        b"".join(part.wrote.get(stream, b"") for part in every(recording)).decode("utf-8", "replace").removesuffix("\n")
    )


def _error(recording: Recording) -> str:
    error = recording.ended.error if recording.ended is not None else None
    return f"{class_of(error)}: {message_of(error)}" if error is not None else ""
