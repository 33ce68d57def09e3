"""One step in full: all that was new in its request, the whole answer, what the tools gave back, and its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from reenact.providers import Message, Part, Text, Thinking, ToolCall, ToolResult
from reenact.report import moment
from reenact.report.changes import Changes
from reenact.report.figures import counted, seconds, size
from reenact.report.marks import facts
from reenact.report.run import Run, named, tokens, where
from reenact.report.speech import in_full, said
from reenact.report.terminal import Paint, clip, columns, lines, padded, plain
from reenact.report.timeline import FORMAT, GIVEN, refused
from reenact.trajectory import Entry, Mark, Step

_LABEL: Final = 10


class Given(msgspec.Struct, frozen=True):
    """What a tool gave back, and the step whose request told it."""

    result: ToolResult
    step: int


class StepDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact show RUN --step N --json`: the run, the step, and what its tool calls gave back.

    `marks` are those that it is in, the outermost first.
    """

    timeline: int = FORMAT
    run: Run
    step: Step
    given: tuple[Given, ...]
    marks: tuple[Mark, ...] = ()


def given(step: Step, steps: Sequence[Step]) -> tuple[Given, ...]:
    """What the tools that a step asked for gave back, as later steps told the model."""
    wanted = {call.id for call in step.calls if call.id}
    found: dict[str, Given] = {}
    for later in steps[step.number :]:
        for part in (part for message in later.news.messages for part in message.parts):
            if isinstance(part, ToolResult) and part.id in wanted:
                found.setdefault(part.id, Given(part, later.number))
    return tuple(found.values())


def text(document: StepDocument, *, width: int, paint: Paint) -> Iterator[str]:
    """The step for a terminal, line by line; what was said is not cut."""
    step, run = document.step, document.run
    yield _heading(step, run, paint)
    for label, value in (*facts(document.marks), *_facts(step, run)):
        if value:
            yield f"  {paint.dim(label.ljust(_LABEL))}{clip(value, width - _LABEL - 2)}"
    yield from ("", _title(step, paint))
    for message in step.news.messages:
        yield from _message(message, paint)
    if step.news.lost:
        yield from ("", paint.bold("Gone from the history, or changed"))
        for message in step.news.lost:
            yield from _message(message, paint)
    yield from _sent(step, width, paint)
    yield from ("", paint.bold("Answer") if step.answer is not None else paint.bad("No answer"))
    results = {one.result.id: one for one in document.given}
    for part in step.answer.parts if step.answer is not None else ():
        yield from _part("assistant", part, paint)
        if isinstance(part, ToolCall) and part.id in results:
            yield from _given(results[part.id], paint)
    yield from ("", paint.bold("Events"), *_events(step.entries, width, paint))
    number = step.attempts[-1]
    yield from ("", paint.dim(f"reenact show {plain(run.id)} --event {number}  shows event {number} byte for byte"))


def _heading(step: Step, run: Run, paint: Paint) -> str:
    took = f"took {seconds(step.answered - step.began)}" if step.answered is not None else "no answer"
    return f"{paint.bold(f'Step {step.number} of {plain(run.id)}')}  {moment.offset(step.began)}, {took}"


def _facts(step: Step, run: Run) -> Iterator[tuple[str, str]]:
    served = f", served by {step.served}" if step.served and step.served != step.model else ""
    yield "model", plain(f"{step.model} of {step.provider} ({step.api}){served}")
    function = plain(step.site.function.partition(":")[2]) if step.site is not None else ""
    yield "line", f"{where(step.site, run.cwd)} in {function}" if function else where(step.site, run.cwd)
    names = named(run)
    yield "lane", plain(f"{step.lane} ({names[step.lane]})" if step.lane in names else step.lane)
    yield "tokens", tokens(step.usage)
    yield "given", next((GIVEN.get(one.given, "") for one in step.entries if one.event == step.attempts[-1]), "")
    yield "finish", plain(step.finish_reason or "")
    offered = ", ".join(map(plain, step.tools))
    yield "offered", f"{counted(len(step.tools), 'tool')}: {offered}" if offered else ""


def _sent(step: Step, width: int, paint: Paint) -> Iterator[str]:
    """What a branch sent in the place of the last request."""
    for entry in step.entries:
        if entry.event == step.attempts[-1] and entry.sent_as is not None:
            yield from ("", paint.bold("Sent in its place"), f"  {plain(entry.sent_as.name)}")
            shown = Changes(width, paint)
            for change in entry.sent_as.changes:
                note = paint.dim(f"  ({plain(change.note)})") if change.note else ""
                yield from (f"  {paint.name(plain(change.pointer) or 'the body')}{note}", *shown.lines(change))


def _title(step: Step, paint: Paint) -> str:
    kept = step.news.kept
    if step.begins and not kept:
        return paint.bold("Request")
    earlier = (
        f"after {counted(kept, 'message')} that the model was sent before" if kept else "the rest is kept elsewhere"
    )
    return paint.bold("New in the request") + paint.dim(f", {earlier}")


def _message(message: Message, paint: Paint) -> Iterator[str]:
    if not message.parts:
        yield f"  {paint.name(plain(message.role))}  (empty)"
    for part in message.parts:
        yield from _part(message.role, part, paint)


def _part(role: str, part: Part, paint: Paint) -> Iterator[str]:
    match part:
        case Thinking(""):
            return
        case Text():
            label = plain(role)
        case ToolCall(made, name, _, hosted):
            label = f"{'the provider calls' if hosted else 'calls'} {plain(name)}  {paint.dim(plain(made))}".rstrip()
        case ToolResult(made, name, _, is_error):
            label = f"tool {plain(name or '')}{' failed' if is_error else ''}  {paint.dim(plain(made))}".rstrip()
        case _:
            label = plain(next(said([Message(role, (part,))])).label)
    bad = isinstance(part, ToolResult) and part.is_error
    yield f"  {paint.bad(label) if bad else paint.name(label)}"
    for line in lines(in_full(part)):
        yield f"    {paint.bad(line) if bad else line}" if line else ""


def _given(one: Given, paint: Paint) -> Iterator[str]:
    word = "failed" if one.result.is_error else "gave"
    yield f"    {paint.dim(f'{word}, as step {one.step} tells the model:')}"
    for line in lines(in_full(one.result)):
        yield f"      {paint.bad(line) if one.result.is_error else line}" if line else ""


class _Row(NamedTuple):
    event: str
    at: str
    took: str
    status: str
    sent: str
    received: str
    name: str


_TITLES: Final = _Row("event", "at", "took", "status", "sent", "received", "")


def _events(entries: Sequence[Entry], width: int, paint: Paint) -> Iterator[str]:
    rows = [_TITLES, *map(_row, entries)]
    widths = [max(columns(row[at]) for row in rows) for at in range(len(_TITLES) - 1)]
    for number, row in enumerate(rows):
        cells = [padded(row[at], widths[at]) for at in range(len(widths))]
        line = f"  {'  '.join(cells)}  "
        line = f"{line}{_tail(row.name, width - len(line))}".rstrip()
        yield paint.dim(line) if number == 0 else line
        trouble = entries[number - 1].trouble if number else None
        if trouble is not None and (trouble.message or not refused(trouble)):
            words = ": ".join(filter(None, (trouble.type, trouble.message)))
            yield from (f"    {paint.bad(f'! {line}')}" for line in lines(words))


def _tail(name: str, room: int) -> str:
    """The name of an event; of a long URL the end, which tells more than its host."""
    if columns(name) <= room:
        return name
    method, space, url = name.partition(" ")
    return f"{method} …{url[-max(room - len(method) - 2, 1) :]}" if space else clip(name, room)


def _row(entry: Entry) -> _Row:
    return _Row(
        str(entry.event),
        moment.offset(entry.began),
        seconds(entry.ended - entry.began) if entry.ended is not None else "",
        str(entry.status) if entry.status is not None else "",
        size(entry.sent) if entry.sent else "",
        size(entry.received) if entry.received else "",
        plain(entry.name),
    )
