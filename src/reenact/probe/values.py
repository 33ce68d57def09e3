"""A value as a debugger shows it: a line of text, and a way to what is inside, a page at a time.

Nothing of the agent's own is called for it, and nothing of it is kept alive by it once the program goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from reenact.engine.digest import base_of
from reenact.engine.glimpse import Bounds, full_name, glimpse
from reenact.engine.inside import Section, Sort, sections

LINE: Final = Bounds(letters=160, items=8, depth=3, hides=False)
"""What a line shows. A replay knows stand-ins for credentials only, so there is nothing to hide."""
_KEY: Final = Bounds(letters=80, items=3, depth=2, hides=False)
_TEXTS: Final = (str, bytes, bytearray)


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value. `name` says how it is had from what it is in: `total`, `[3]`, `['role']`; `{0}` in a set.

    `ref` opens what is inside (0: nothing is), of which there are `count`; for a text that the line does not hold
    whole, these are its letters.
    """

    name: str
    text: str
    type: str
    ref: int = 0
    count: int = 0


class Gone(LookupError):  # noqa: N818  said of what a reference meant
    """The program has gone on since the reference was given."""


class Handles:
    """What references mean while the program stands still."""

    def __init__(self) -> None:
        self._held: dict[int, Any] = {}
        self._last = 0

    def show(self, name: str, value: Any) -> Shown:
        """The value in a line, with a reference to what is inside."""
        text, count = glimpse(value, LINE), count_of(value)
        opens = count and is_cut(value, text)
        return Shown(name, text, full_name(type(value)), self.hold(value) if opens else 0, count if opens else 0)

    def hold(self, value: Any) -> int:
        """A reference to a value, or to a frame: inside of that are its variables."""
        self._last += 1
        self._held[self._last] = value
        return self._last

    def held(self, ref: int) -> Any:
        """What a reference means.

        Raises:
            Gone: nothing any more.
        """
        try:
            return self._held[ref]
        except KeyError:
            raise Gone(ref) from None

    def page(self, ref: int, start: int = 0, count: int = 100) -> list[Shown]:
        """So many of what is inside, from there on; of a text nothing, see `letters`.

        Raises:
            Gone: as `held`.
        """
        return [self.show(name, value) for name, value in parts_of(self.held(ref), start, count)]

    def letters(self, ref: int, start: int, count: int) -> str:
        """So much of a text; bytes as Latin-1.

        Raises:
            Gone: as `held`.
        """
        value = self.held(ref)
        piece = base_of(type(value), *_TEXTS).__getitem__(value, slice(start, start + count))
        return piece if isinstance(piece, str) else piece.decode("latin-1")

    def clear(self) -> None:
        """The program goes on: nothing is held any more, and no reference means something else later."""
        self._held.clear()


def is_cut(value: Any, line: str) -> bool:
    """Whether there may be more to it than the line says: of a text, when it is a long one."""
    return not issubclass(type(value), _TEXTS) or len(line) >= LINE.letters


def count_of(value: Any) -> int:
    """How many parts are inside; of a text, letters."""
    kind = type(value)
    if issubclass(kind, _TEXTS):
        return int(base_of(kind, *_TEXTS).__len__(value))
    return sum(section.size for section in sections(value))


def parts_of(value: Any, start: int = 0, count: int | None = None) -> Iterator[tuple[str, Any]]:
    """What is inside, by name, from there on."""
    found = sections(value)
    left = sum(section.size for section in found) if count is None else count
    for section in found:
        taken = max(min(section.size - start, left), 0)
        for name, held in section.page(start, taken) if taken else ():
            yield name_in(section, name), held
        start, left = max(start - section.size, 0), left - taken


def name_in(section: Section, name: Any) -> str:
    """How a part is had."""
    match section.sort:
        case Sort.ATTRIBUTES:
            return encodable(str(name))
        case Sort.MEMBERS:
            return f"{{{name}}}"
        case Sort.ITEMS if isinstance(name, tuple):
            return str(list(name))
        case Sort.ITEMS:
            return f"[{name}]"
        case Sort.KEYS:
            return f"[{glimpse(name, _KEY)}]"


def path(above: str, name: str) -> str:
    """The name of a part as seen from where `above` is known: `messages[3].content`."""
    return f"{above}{name}" if name.startswith(("[", "{")) or not above else f"{above}.{name}"


def encodable(text: str) -> str:
    """A text that can be sent: halves of surrogate pairs are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
