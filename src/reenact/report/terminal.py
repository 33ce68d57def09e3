"""Text for a terminal: what is safe to print there, how wide it is, and colours.

What stands on a tape comes from strangers: no byte of it may reach the terminal as a control character.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TextIO

WIDTH: Final = 100  # columns where there is no terminal
GUTTER: Final = 16  # of labels beside a text
_NARROWEST, _WIDEST = 60, 140
_WIDE: Final = ("W", "F")
_HUES: Final = ("36", "35", "34", "96", "95", "94")  # without red, yellow and green
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Of letters that Unicode calls printable nobody sees fillers, joiners and selectors, and marks that are piled on one
# letter run over the lines above and below.
_MARKS: Final = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_ODD: Final = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
    rf"|(?<={_MARKS}{{4}}){_MARKS}"
)


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
    return escaped(data, _escape)


def escaped(data: str, escape: Callable[[str], str]) -> str:
    """As `plain`, with escapes of another sort for such letters."""
    if not data.isascii():
        data = _ODD.sub(lambda found: escape(found[0]), data)
    if data.isprintable():
        return data
    return "".join(letter if letter.isprintable() else escape(letter) for letter in data)


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
    return text if columns(text) <= width else f"{_begin(text, width - 1)}…"


def _begin(text: str, width: int) -> str:
    """As much of a plain text as fits into a width."""
    if text.isascii():
        return text[: max(width, 0)]
    left = width
    for at, letter in enumerate(text):
        left -= columns(letter)
        if left < 0:
            return text[:at]
    return text


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
    *whole, last = found[:rows]
    kept = last
    if columns(last) + len(_more(missing)) > width:
        kept = _begin(last, width - len(_more(missing + len(last))))
    return [*whole, kept.rstrip() + _more(missing + len(last) - len(kept))]


def _more(missing: int) -> str:
    return f" … {missing:,} more characters"


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
            piece = _begin(left, width) or left[0]
            found.append(piece)
            left = left[len(piece) :]
        found.append(left)
    return found or [""]
