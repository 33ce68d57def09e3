"""A change as a terminal shows it: what was there and what is, with the words that differ marked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from reenact.diff.change import Change, Hunk, Kind, Mark, Piece
from reenact.diff.text import elide
from reenact.report.terminal import Paint, clip, columns, plain

_HUNKS: Final = 3


class Changes:
    """How changes are shown in lines of so many columns, `room` of which are for what is shown."""

    def __init__(self, width: int, paint: Paint, indent: int = 4) -> None:
        self._paint = paint
        self._indent = " " * indent
        self.room = width - indent - 2

    def lines(self, change: Change) -> Iterator[str]:
        """What it was, and what it became."""
        if change.hunks:
            for number, hunk in enumerate(change.hunks[:_HUNKS]):
                if number:
                    yield ""
                yield from self._hunk(hunk)
            more = len(change.hunks) - _HUNKS + change.more
            if more > 0:
                places = "place" if more == 1 else "places"
                yield self._paint.dim(f"{self._indent}… and {more} more {places} in this text")
            return
        # A value that only moved is told once where the two sides are the same.
        if change.before is not None:
            yield self.side(Mark.REMOVED, elide(plain(change.before), self.room))
        if change.after is not None and not (change.kind is Kind.MOVED and change.after == change.before):
            yield self.side(Mark.ADDED, elide(plain(change.after), self.room))

    def _hunk(self, hunk: Hunk) -> Iterator[str]:
        pieces = _fitted(hunk, self.room)
        pointed = not self._paint.on and any(piece.mark is Mark.SAME for piece in pieces)
        for mark in (Mark.REMOVED, Mark.ADDED):
            shown = [piece for piece in pieces if piece.mark in (Mark.SAME, mark)]
            yield f"{self._indent}{self._sign(mark)} " + "".join(map(self._word, shown))
            carets = "".join(("^" if piece.mark is mark else " ") * columns(piece.text) for piece in shown).rstrip()
            if carets and pointed:
                yield f"{self._indent}  {carets}"

    def _word(self, piece: Piece) -> str:
        if piece.mark is Mark.SAME:
            return piece.text
        return _painted(self._paint.inverted, piece.mark, piece.text)

    def side(self, mark: Mark, line: str) -> str:
        """A plain text of one side, wrapped."""
        parts = textwrap.wrap(line, self.room, drop_whitespace=False, break_on_hyphens=False) or [""]
        rows = (_painted(self._paint, mark, part.rstrip(" ")) for part in parts)
        return f"{self._indent}{self._sign(mark)} " + f"\n{self._indent}  ".join(rows)

    def _sign(self, mark: Mark) -> str:
        return _painted(self._paint, mark, "-" if mark is Mark.REMOVED else "+")


def _painted(paint: Paint, mark: Mark, text: str) -> str:
    return paint.bad(text) if mark is Mark.REMOVED else paint.good(text)


def _fitted(hunk: Hunk, room: int) -> list[Piece]:
    """The pieces escaped, and cut where a line of them would be too long: context first, then changed words."""
    pieces = [Piece(piece.mark, plain(piece.text)) for piece in hunk.pieces]
    if not pieces:
        return []
    marks = (Mark.REMOVED, Mark.ADDED)
    too_long = any(sum(len(p.text) for p in pieces if p.mark in (Mark.SAME, mark)) > room - 4 for mark in marks)
    last = len(pieces) - 1
    changed = max(1, *(sum(piece.mark is mark for piece in pieces) for mark in marks))
    fitted = []
    for number, piece in enumerate(pieces):
        cut = piece.text
        if piece.mark is not Mark.SAME:
            cut = elide(cut, max(30, (room - 50) // changed)) if too_long else cut
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
    return _cut(fitted, room)


def _cut(pieces: list[Piece], room: int) -> list[Piece]:
    """The pieces as far as there is room for them on the side that is longer."""
    used = dict.fromkeys((Mark.REMOVED, Mark.ADDED), 0)
    kept: list[Piece] = []
    for piece in pieces:
        sides = [mark for mark in used if piece.mark in (Mark.SAME, mark)]
        left = room - max(used[mark] for mark in sides)
        if columns(piece.text) > left:
            return [*kept, Piece(piece.mark, clip(piece.text, left))] if left > 0 else kept
        kept.append(piece)
        for mark in sides:
            used[mark] += columns(piece.text)
    return kept
