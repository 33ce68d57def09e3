"""What a difference consists of. Values only: all of them go through `msgspec.json` and back unchanged."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Part(StrEnum):
    """Which part of the two values a change is in."""

    CALL = "call"  # not the same kind of call at all
    METHOD = "method"
    ORIGIN = "origin"  # scheme, host and port
    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"


class Kind(StrEnum):
    """What happened to the value at a pointer."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"  # the same items, words or members in another order or place
    ELIDED = "elided"  # last of a list that was cut: there are more changes than it holds


class Mark(StrEnum):
    """Which side of a text a piece belongs to."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class Piece(msgspec.Struct, frozen=True):
    """A stretch of text that both sides have, or one of them."""

    mark: Mark
    text: str


class Hunk(msgspec.Struct, frozen=True):
    """Changed words of a long text with some context on both sides.

    `at` counts the characters of the expected text before the hunk, `rest` those after it.
    """

    at: int
    rest: int
    pieces: tuple[Piece, ...]

    def text(self, side: Mark) -> str:
        """The hunk as it reads on one side: `Mark.REMOVED` for the expected one, `Mark.ADDED` for the actual one."""
        return "".join(piece.text for piece in self.pieces if piece.mark in (Mark.SAME, side))


class Change(msgspec.Struct, frozen=True):
    """One place where the two sides differ.

    `pointer` is a JSON pointer (RFC 6901) into the expected body; where something was added, its last step is the one
    of the actual body. It is "/name" for headers, query parameters and form fields, "/2" for path segments, and "" for
    the part as a whole.
    `before` and `after` are text when both sides are text, else compact JSON; long ones are cut in the middle.
    """

    pointer: str
    before: str | None
    after: str | None
    kind: Kind
    part: Part = Part.BODY
    hunks: tuple[Hunk, ...] = ()
    more: int = 0  # hunks left out
    note: str = ""  # what before and after cannot show: a line number, a change of type
