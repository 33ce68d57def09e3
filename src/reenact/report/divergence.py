"""A divergence as a person reads it in a terminal, and as a program reads it.

No byte of the data reaches the terminal as a control character, and no credential is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from reenact.diff.change import Change, Kind, Mark, Part
from reenact.diff.text import elide
from reenact.engine.divergence import Datum, Divergence, Request, What
from reenact.engine.normalize import public
from reenact.report import document
from reenact.report.changes import Changes
from reenact.report.figures import inside
from reenact.report.marks import agents, steps
from reenact.report.terminal import GUTTER, WIDTH, Paint, clip, labelled, plain, wrapped

MAX_SHOWN: Final = 8  # changes told in the text; JSON has all
_MAIN: Final = "0"  # the lane that every run has
_BODY: Final = 4_000  # bytes of a body in the JSON
_ANOTHER_CALL: Final = (Part.METHOD, Part.CALL)

_HEADLINES: Final = {
    What.MISMATCH: "the run asks something else than when recorded",
    What.EXTRA: "the run makes a call that is not on the tape",
    What.MISSING: "the run ended without a call that the tape holds",
    What.OUTPUT: "the run wrote something else than when recorded",
    What.EXIT: "the run ended in another way than when recorded",
    What.ORDER: "the run makes its calls in an order that the tape does not allow",
    What.STUCK: "every part of the run waits for another, and none can go on",
    What.SOCKET: "the run opened a connection that was not recorded",
    What.LOCAL: "a variable holds something else than when recorded",
    What.FILE: "the run left another file behind than when recorded",
}
_RECORD: Final = "If the program was changed on purpose, record the run again."
_ADVICE: Final = {
    What.MISMATCH: "Look at what the source line sends, and at what it is made from. " + _RECORD,
    What.EXTRA: "Look at why the run goes on here: a condition, a loop, a retry. " + _RECORD,
    What.MISSING: "Look at why the run stops early: an exception, a condition, a shorter loop. " + _RECORD,
    What.OUTPUT: "Look at what the line prints: a time, an address, an unordered set. " + _RECORD,
    What.EXIT: "Look at the last lines that the program wrote before it ended. " + _RECORD,
    What.ORDER: "Look at which tasks or threads were started in another order. " + _RECORD,
    What.STUCK: "Look at what each lane waits for, above: one of them was never started or ended early. " + _RECORD,
    What.FILE: "Look at what is written to it: a time, an address, an unordered set. " + _RECORD,
    What.LOCAL: "Look at where the variable got its value: C code that reads the clock or chance, an address, an "
    "unordered set, another process. What the program asks next may be made from it.",
    What.SOCKET: "Nothing was sent. If the library is not one that reenact records, please report it by name.",
}


def text(
    divergence: Divergence,
    *,
    width: int = WIDTH,
    paint: Paint | None = None,
    cwd: str = "",
    headed: bool = True,
    advised: bool = True,
) -> str:
    """The report for a terminal of so many columns, ending in a line break.

    It has a headline if it is `headed`, and says what to do about it if it is `advised`.

    Files inside `cwd` are told by their path from there.
    """
    page = _Page(divergence, width, paint or Paint())
    blocks = [
        page.headline() if headed else [],
        page.site(cwd),
        page.facts(),
        *page.differences(),
        page.ending() if advised else [],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def headline(divergence: Divergence) -> str:
    """What happened, in a line."""
    return _HEADLINES[divergence.what]


def advice(divergence: Divergence) -> str:
    """What to do about it."""
    return divergence.cause.advice if divergence.cause is not None else _ADVICE[divergence.what]


def json(divergence: Divergence) -> bytes:
    """The report as one JSON object."""
    return document.encode(fields(divergence))


def fields(divergence: Divergence) -> dict[str, object]:
    """What is in the JSON: the fields of `Divergence`, its requests as summaries with bodies cut."""
    found: dict[str, object] = msgspec.to_builtins(divergence)
    for side in ("expected", "actual"):
        found[side] = _summary(getattr(divergence, side))
    return found


class _Page:
    """What the blocks of one report have in common."""

    def __init__(self, divergence: Divergence, width: int, paint: Paint) -> None:
        self._divergence = divergence
        self._width = width
        self._paint = paint
        self._changes = Changes(width, self._paint)
        self._listed = [change for change in divergence.changes if change.kind is not Kind.ELIDED]
        self._another_call = any(change.part in _ANOTHER_CALL for change in self._listed)

    def headline(self) -> list[str]:
        step = self._divergence.step
        at = f" at step {step}" if step is not None else ""
        return [
            self._paint.bold(line) for line in wrapped(f"Divergence{at}: {headline(self._divergence)}", self._width)
        ]

    def site(self, cwd: str) -> list[str]:
        site = self._divergence.site
        if site is None:
            return []
        function = f" in {plain(site.function)}" if site.function else ""
        found = [f"  {self._paint.bold(f'{plain(inside(site.file, cwd))}:{site.line}')}{function}"]
        if site.source.strip():
            found.append(f"      {clip(plain(site.source.strip()), self._width - 6)}")
        return found

    def facts(self) -> list[str]:
        divergence = self._divergence
        asked = divergence.actual or divergence.expected
        found = []
        event = f"(event {divergence.event})" if divergence.event is not None else ""
        if divergence.what is What.LOCAL and isinstance(asked, Datum):
            found += self._labelled("variable", f"{asked.name}  {event and f'(before {event[1:-1]})'}".rstrip())
        elif divergence.what not in (What.OUTPUT, What.EXIT):  # there, it stands with what differs
            told = (_name(asked) if asked is not None else "", "" if self._another_call else event)
            found += self._labelled("call", *filter(None, ["  ".join(filter(None, told))]))
        if self._another_call and divergence.expected is not None:
            found += self._labelled("on tape", f"{_name(divergence.expected)}  {event}".rstrip())
        for label, names in (("agent", agents(divergence.marks)), ("doing", steps(divergence.marks))):
            found += self._labelled(label, names) if names else []
        if divergence.lane != _MAIN:
            found += self._labelled(
                "lane", divergence.lane + (divergence.process and f" (process {divergence.process})")
            )
        if divergence.what is What.EXTRA and divergence.expected is None:
            found += self._labelled("tape", "holds no further call in this lane")
        if divergence.what is What.MISSING and divergence.actual is None:
            found += self._labelled("run", "ended, or left this lane, without making it")
        return found + self._labelled("note" if len(divergence.notes) == 1 else "notes", *divergence.notes)

    def differences(self) -> Iterator[list[str]]:
        divergence, listed = self._divergence, self._listed
        if self._another_call:
            return  # what else differs between two calls that have nothing to do with each other says nothing
        if not divergence.changes:
            yield [
                self._changes.side(mark, elide(plain(_content(asked)), 2 * self._changes.room))
                for mark, asked in ((Mark.REMOVED, divergence.expected), (Mark.ADDED, divergence.actual))
                if asked is not None and _content(asked)
            ]
            return
        for change in listed[:MAX_SHOWN]:
            yield [self._place(change), *self._changes.lines(change)]
        more = len(listed) - MAX_SHOWN
        if more > 0:
            least = "at least " if len(listed) < len(divergence.changes) else ""
            yield [self._paint.dim(f"  … and {least}{more} more; the JSON report lists them")]

    def ending(self) -> list[str]:
        cause = self._divergence.cause
        found = self._labelled("likely cause", cause.text) if cause is not None else []
        told, _, entry = advice(self._divergence).partition("\n")
        found += self._labelled("what to do", told)
        if entry:
            indent = " " * (GUTTER + 2)
            found += ["", *(indent + plain(line) for line in entry.split("\n"))]
        return found

    def _labelled(self, label: str, *paragraphs: str) -> list[str]:
        rows = [row for paragraph in paragraphs for row in wrapped(paragraph, self._width - GUTTER - 2)]
        return list(labelled(label, rows, GUTTER, self._paint.bold))

    # Changes

    def _place(self, change: Change) -> str:
        """Where the change is, and what sort of change."""
        part: str = change.part
        asked = self._divergence.actual or self._divergence.expected
        if change.part is Part.BODY and isinstance(asked, Datum):
            part = plain(asked.kind)
        elif change.part is Part.ORIGIN:
            part = "host"
        pointer = change.pointer
        if change.part in (Part.HEADER, Part.QUERY):
            pointer = pointer.removeprefix("/").replace("~1", "/").replace("~0", "~")
        elif change.part is Part.PATH and pointer:
            pointer = f"segment {pointer.removeprefix('/')}"
        notes = [] if change.kind is Kind.CHANGED else [change.kind.value]
        if change.note:
            notes.append(plain(change.note))
        note = clip(f"  ({': '.join(notes)})", self._width - len(part) - (24 if pointer else 2)) if notes else ""
        room = self._width - len(part) - len(note) - 3
        return f"  {self._paint.bold(f'{part} {elide(plain(pointer), max(room, 20))}'.rstrip())}{self._paint.dim(note)}"


# What was asked


def _name(asked: Request | Datum) -> str:
    if isinstance(asked, Request):
        shown = public(asked)
        return plain(f"{shown.method} {shown.url}")
    return plain(asked.kind if asked.name in ("", asked.kind) else f"{asked.kind} {asked.name}")


def _content(asked: Request | Datum) -> str:
    body = asked.body if isinstance(asked, Request) else asked.data
    try:
        return body.decode().rstrip("\n")
    except UnicodeDecodeError:
        return f"{len(body):,} bytes: {body[:24].hex(' ')}" + (" …" if len(body) > 24 else "")


def _summary(asked: Request | Datum | None) -> dict[str, object] | None:
    if asked is None:
        return None
    if isinstance(asked, Request):
        shown = public(asked)
        fields: dict[str, object] = {"type": "request", "method": shown.method, "url": shown.url}
        fields["headers"] = shown.headers
        body = asked.body
    else:
        fields = {"type": "datum", "kind": asked.kind, "name": asked.name}
        body = asked.data
    fields["bytes"] = len(body)
    try:
        fields["text"] = elide(body.decode(), _BODY)
    except UnicodeDecodeError:
        fields["base64"] = body[:_BODY]
    return fields
