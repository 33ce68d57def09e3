"""A divergence as a person reads it in a terminal, and as a program reads it.

No byte of the data reaches the terminal as a control character, and no credential is shown.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from typing import Final

import msgspec

from reenact.engine.diff import elide
from reenact.engine.divergence import Cause, Change, Datum, Divergence, Hunk, Kind, Mark, Part, Piece, Request, What
from reenact.engine.normalize import public

WIDTH: Final = 100
MAX_SHOWN: Final = 8  # changes told in the text; JSON has all
_HUNKS: Final = 3
_BODY: Final = 4_000  # bytes of a body in the JSON
_GUTTER: Final = 16
_INDENT: Final = "    "
_LINE: Final = WIDTH - len(_INDENT) - 2

_HEADLINES: Final = {
    What.MISMATCH: "the run asks something other than the tape holds here",
    What.EXTRA: "the run makes a call that is not on the tape",
    What.MISSING: "the run ended without a call that the tape holds",
    What.OUTPUT: "the run wrote something other than it did when recorded",
    What.EXIT: "the run ended in another way than it did when recorded",
    What.ORDER: "the run makes its calls in an order that the tape does not allow",
    What.STUCK: "every part of the run waits for another, and none can go on",
    What.SOCKET: "the run opened a connection that was not recorded",
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
    What.SOCKET: "Nothing was sent. If the library is not one that reenact records, please report it by name.",
}


def text(divergence: Divergence, *, color: bool = False) -> str:
    """The report for a terminal, at most about WIDTH columns wide, ending in a line break."""
    paint = _Paint(on=color)
    blocks = [
        _headline(divergence, paint),
        _site(divergence, paint),
        _facts(divergence, paint),
        *_differences(divergence, paint),
        _ending(divergence, paint),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def json(divergence: Divergence) -> bytes:
    """The report as one JSON object: the fields of `Divergence`, its requests as summaries with bodies cut."""
    document = msgspec.to_builtins(divergence)
    for side in ("expected", "actual"):
        document[side] = _summary(getattr(divergence, side))
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:  # a header or path that is no text
        return msgspec.json.encode(_encodable(document))


# Blocks


def _headline(divergence: Divergence, paint: _Paint) -> list[str]:
    at = f" at step {divergence.step}" if divergence.step is not None else ""
    return [paint.bold(f"Divergence{at}: ") + paint.bold(_HEADLINES[divergence.what])]


def _site(divergence: Divergence, paint: _Paint) -> list[str]:
    site = divergence.site
    if site is None:
        return []
    function = f" in {plain(site.function)}" if site.function else ""
    lines = [f"  {paint.bold(f'{plain(site.file)}:{site.line}')}{function}"]
    if site.source.strip():
        lines.append(f"      {elide(plain(site.source.strip()), WIDTH - 6)}")
    return lines


def _facts(divergence: Divergence, paint: _Paint) -> list[str]:
    facts = []
    asked = divergence.actual or divergence.expected
    if asked is not None and divergence.what not in (What.OUTPUT, What.EXIT):
        facts.append(("call", elide(_name(asked), WIDTH - _GUTTER)))
    event = f", event {divergence.event}" if divergence.event is not None else ""
    facts.append(("lane", plain(divergence.lane) + event))
    if divergence.what is What.EXTRA and divergence.expected is None:
        facts.append(("tape", "holds no further call in this lane"))
    if divergence.what is What.MISSING and divergence.actual is None:
        facts.append(("run", "ended, or left this lane, without making it"))
    lines = [line for label, value in facts for line in _labelled(label, [value], paint)]
    return lines + [line for note in divergence.notes for line in _labelled("", _wrapped(note), paint)]


def _differences(divergence: Divergence, paint: _Paint) -> Iterator[list[str]]:
    changes = divergence.changes
    if not changes:
        yield [
            _side(mark, elide(plain(_content(asked)), 2 * _LINE), paint)
            for mark, asked in ((Mark.REMOVED, divergence.expected), (Mark.ADDED, divergence.actual))
            if asked is not None and _content(asked)
        ]
        return
    listed = [change for change in changes if change.kind is not Kind.ELIDED]
    for change in listed[:MAX_SHOWN]:
        yield [_label(change, divergence, paint), *_lines(change, paint)]
    more = len(listed) - MAX_SHOWN
    if more > 0:
        least = "at least " if len(listed) < len(changes) else ""
        yield [paint.dim(f"  … and {least}{more} more; the JSON report lists them")]


def _ending(divergence: Divergence, paint: _Paint) -> list[str]:
    cause = divergence.cause or Cause("", "", _ADVICE[divergence.what])
    lines = _labelled("likely cause", _wrapped(cause.text), paint) if cause.text else []
    advice, _, entry = cause.advice.partition("\n")
    lines += _labelled("what to do", _wrapped(advice), paint)
    if entry:
        indent = " " * (_GUTTER + 2)
        lines += ["", *(indent + plain(line) for line in entry.split("\n"))]
    return lines


# Changes


def _label(change: Change, divergence: Divergence, paint: _Paint) -> str:
    part: str = change.part
    asked = divergence.actual or divergence.expected
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
    note = f"  ({': '.join(notes)})" if notes else ""
    room = WIDTH - len(part) - len(note) - 3
    return f"  {paint.bold(f'{part} {elide(plain(pointer), max(room, 20))}'.rstrip())}{paint.dim(note)}"


def _lines(change: Change, paint: _Paint) -> Iterator[str]:
    if change.hunks:
        for number, hunk in enumerate(change.hunks[:_HUNKS]):
            if number:
                yield ""
            yield from _hunk_lines(hunk, paint)
        more = len(change.hunks) - _HUNKS + change.more
        if more > 0:
            yield paint.dim(f"{_INDENT}… and {more} more {'place' if more == 1 else 'places'} in this text")
        return
    # A value that only moved is told once where the two sides are the same.
    if change.before is not None:
        yield _side(Mark.REMOVED, elide(plain(change.before), _LINE), paint)
    if change.after is not None and not (change.kind is Kind.MOVED and change.after == change.before):
        yield _side(Mark.ADDED, elide(plain(change.after), _LINE), paint)


def _hunk_lines(hunk: Hunk, paint: _Paint) -> Iterator[str]:
    pieces = _fitted(hunk)
    pointed = not paint.on and any(piece.mark is Mark.SAME for piece in pieces)
    for mark in (Mark.REMOVED, Mark.ADDED):
        shown = [piece for piece in pieces if piece.mark in (Mark.SAME, mark)]
        yield _side(mark, "".join(paint.changed(piece) for piece in shown), paint, whole=False)
        carets = "".join(("^" if piece.mark is mark else " ") * _columns(piece.text) for piece in shown).rstrip()
        if carets and pointed:
            yield f"{_INDENT}  {carets}"


def _fitted(hunk: Hunk) -> list[Piece]:
    """The pieces escaped, and cut where a line of them would be too long: context first, then changed words."""
    pieces = [Piece(piece.mark, plain(piece.text)) for piece in hunk.pieces]
    if not pieces:
        return []
    marks = (Mark.REMOVED, Mark.ADDED)
    too_long = any(sum(len(p.text) for p in pieces if p.mark in (Mark.SAME, mark)) > _LINE - 4 for mark in marks)
    last = len(pieces) - 1
    changed = max(1, *(sum(piece.mark is mark for piece in pieces) for mark in marks))
    fitted = []
    for number, piece in enumerate(pieces):
        cut = piece.text
        if piece.mark is not Mark.SAME:
            cut = elide(cut, max(30, (_LINE - 50) // changed)) if too_long else cut
        elif too_long and number == 0:
            cut = cut[-24:]
        elif too_long and number == last:
            cut = cut[:24]
        elif too_long:
            cut = elide(cut, 30)
        fitted.append(Piece(piece.mark, cut))
    first, end = fitted[0], fitted[-1]
    if first.mark is Mark.SAME and (hunk.at or len(first.text) < len(pieces[0].text)):
        fitted[0] = Piece(Mark.SAME, "…" + first.text)
    if end.mark is Mark.SAME and (hunk.rest or len(end.text) < len(pieces[-1].text)):
        fitted[-1] = Piece(Mark.SAME, end.text + "…")
    return fitted


def _side(mark: Mark, line: str, paint: _Paint, *, whole: bool = True) -> str:
    """A line of one side, wrapped and painted as a whole unless its words are painted already."""
    sign = paint.side(mark, "-" if mark is Mark.REMOVED else "+")
    if not whole:
        return f"{_INDENT}{sign} {line}"
    parts = textwrap.wrap(line, _LINE, drop_whitespace=False, break_on_hyphens=False) or [""]
    return f"{_INDENT}{sign} " + f"\n{_INDENT}  ".join(paint.side(mark, part.rstrip(" ")) for part in parts)


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


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


# Terminal


class _Paint:
    """Colours, or none."""

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def bold(self, line: str) -> str:
        """A heading."""
        return self._with("1", line)

    def dim(self, line: str) -> str:
        """A remark."""
        return self._with("2", line)

    def side(self, mark: Mark, line: str) -> str:
        """What one side alone has."""
        return self._with("31" if mark is Mark.REMOVED else "32", line)

    def changed(self, piece: Piece) -> str:
        """A piece of a line, the changed ones in the colour of their side and inverted."""
        if piece.mark is Mark.SAME:
            return piece.text
        return self._with("7;31" if piece.mark is Mark.REMOVED else "7;32", piece.text)

    def _with(self, code: str, line: str) -> str:
        return f"\x1b[{code}m{line}\x1b[0m" if self.on and line else line


_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def plain(data: str) -> str:
    """The text with everything escaped that a terminal would obey, hide or reorder."""
    if data.isprintable():
        return data
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in data)


def _escape(letter: str) -> str:
    return _NAMED.get(letter) or letter.encode("unicode_escape", errors="surrogatepass").decode()


def _columns(line: str) -> int:
    """Columns that a terminal gives to a text."""
    if line.isascii():
        return len(line)
    wide = sum(unicodedata.east_asian_width(letter) in ("W", "F") for letter in line)
    return len(line) + wide - sum(unicodedata.combining(letter) > 0 for letter in line)


def _labelled(label: str, lines: list[str], paint: _Paint) -> list[str]:
    first, *rest = lines
    return [
        f"  {paint.bold(label)}{' ' * (_GUTTER - len(label))}{first}",
        *(" " * (_GUTTER + 2) + line for line in rest),
    ]


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(plain(paragraph), WIDTH - _GUTTER - 2, break_on_hyphens=False) or [""]
