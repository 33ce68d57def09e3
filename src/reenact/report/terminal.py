"""Text for a terminal: what is safe to print there, how wide it is, and colours.

What stands on a tape comes from strangers: no byte of it may reach the terminal as a control character.
"""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TextIO

WIDTH: Final = 100  # columns where there is no terminal
_NARROWEST, _WIDEST = 60, 140
_WIDE: Final = ("W", "F")
_HUES: Final = ("36", "35", "34", "96", "95", "94")  # without red, yellow and green
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def width_of(stream: TextIO) -> int:
    """Columns to fill on a stream: those of the terminal within reason, 100 elsewhere."""
    if not stream.isatty():
        return WIDTH
    return min(max(shutil.get_terminal_size((WIDTH, 24)).columns, _NARROWEST), _WIDEST)


def encodable(text: str, stream: TextIO) -> str:
    """The text with escapes for what the stream's encoding does not have."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class Paint:
    """Colours, or none."""

    def __init__(self, *, on: bool = False, emphasis: str = "") -> None:
        self.on = on
        self._emphasis = emphasis

    @property
    def strong(self) -> Paint:
        """The same colours in bold."""
        return Paint(on=self.on, emphasis="1;")

    @property
    def inverted(self) -> Paint:
        """The same colours as the ground that the text stands on."""
        return Paint(on=self.on, emphasis="7;")

    def bold(self, text: str) -> str:
        """A heading."""
        return self._with("1", text)

    def dim(self, text: str) -> str:
        """A remark."""
        return self._with("2", text)

    def good(self, text: str) -> str:
        """Something that went as it should."""
        return self._with("32", text)

    def bad(self, text: str) -> str:
        """Something that went wrong."""
        return self._with("31", text)

    def warn(self, text: str) -> str:
        """Something to look at."""
        return self._with("33", text)

    def name(self, text: str) -> str:
        """A name that one looks for."""
        return self._with("36", text)

    def hue(self, number: int, text: str) -> str:
        """One of several things that are told apart by their colours, none of which means anything."""
        return self._with(_HUES[number % len(_HUES)], text)

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{self._emphasis}{code}m{text}\x1b[0m" if self.on and text else text


def plain(data: str) -> str:
    """The text with everything escaped that a terminal would obey, hide or reorder."""
    if data.isprintable():
        return data
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in data)


def _escape(letter: str) -> str:
    return _NAMED.get(letter) or letter.encode("unicode_escape", errors="surrogatepass").decode()


def lines(text: str) -> list[str]:
    """The text line by line, each as `plain` has it; tabs become spaces."""
    return [plain(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def columns(text: str) -> int:
    """Columns that a terminal gives to a plain text."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in _WIDE for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def clip(text: str, width: int) -> str:
    """A plain text cut to a width, with an ellipsis where something is missing."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[: max(0, min(len(text) - 1, width - 1))]
    return f"{text}…"


def padded(text: str, width: int) -> str:
    """A plain text with spaces up to a width."""
    return text + " " * (width - columns(text))


def wrapped(paragraph: str, width: int) -> list[str]:
    """A paragraph as lines; a word that is too long for one goes on in the next."""
    return textwrap.wrap(plain(paragraph), width, break_on_hyphens=False) or [""]


def labelled(label: str, rows: Sequence[str], gutter: int, style: Callable[[str], str] = str) -> Iterator[str]:
    """Rows with a label before the first, indented by two columns and the gutter; plain texts except in style."""
    for number, row in enumerate(rows):
        yield f"  {style(label) if number == 0 else ''}{' ' * (gutter - len(label) * (number == 0))}{row}"


def preview(text: str, width: int, rows: int = 2) -> list[str]:
    """The beginning of a text in at most so many rows, white space made one, with a word on how much is missing."""
    room = width * rows
    begin = plain(" ".join(text[: room * 2].split()))
    rest = len(text) - room * 2
    if rest <= 0 and columns(begin) <= width:
        return [begin]
    found = _rows(begin, width)
    if rest <= 0 and len(found) <= rows:
        return found
    missing = max(rest, 0) + sum(map(len, found[rows:]))
    mark = f" … {missing:,} more characters"
    *whole, last = found[:rows]
    kept = clip(last, width - len(mark)).removesuffix("…") if columns(last) + len(mark) > width else last
    mark = f" … {missing + len(last) - len(kept):,} more characters"
    return [*whole, kept.rstrip() + mark]


def _rows(text: str, width: int) -> list[str]:
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    found: list[str] = []
    for word in text.split(" "):
        if found and columns(found[-1]) + columns(word) < width:
            found[-1] += f" {word}"
            continue
        left = word
        while columns(left) > width:
            piece = clip(left, width + 1).removesuffix("…")
            found.append(piece)
            left = left[len(piece) :]
        found.append(left)
    return found or [""]
