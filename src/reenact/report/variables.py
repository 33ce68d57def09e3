"""What variables hold, for a terminal: a line or a few parts of each, or all of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from reenact.probe.state import Variable
from reenact.report.figures import counted
from reenact.report.terminal import Paint, clip, columns, lines, padded, plain

_NAME: Final = 24  # columns that names are lined up to
_PARTS: Final = 6  # of one variable
_LAST: Final = 4  # of a list, the last: agents append


class Variables:
    """How they are written: in lines of so many columns; `whole`: with all that is inside."""

    def __init__(self, width: int, paint: Paint, *, whole: bool = False) -> None:
        self._width = width
        self._paint = paint
        self._whole = whole

    def rows(self, variables: Sequence[Variable]) -> Iterator[str]:
        """Each in a line, or with a few of its parts below."""
        gutter = _gutter(variables)
        if not variables:
            yield self._paint.dim("    no variables")
        for one in variables:
            yield from self._row(one, gutter)

    def all_of(self, variable: Variable) -> Iterator[str]:
        """One value, with nothing left out that is known of it."""
        yield f"{self._paint.name(plain(variable.name))}  {self._paint.dim(plain(variable.type))}"
        if isinstance(variable.value, str):
            yield from (f"  {line}" for line in lines(variable.value))
        elif variable.value is not msgspec.UNSET:
            told = msgspec.json.format(msgspec.json.encode(variable.value), indent=2).decode()
            yield from (f"  {line}" for line in lines(told))
        else:
            yield f"  {plain(variable.text)}"
            yield from self._below(variable, "    ")

    def _row(self, variable: Variable, gutter: int) -> Iterator[str]:
        name = padded(plain(variable.name), gutter)
        head, room = f"    {self._paint.name(name)}  ", self._width - 6 - columns(name)
        parts = _parts(variable)
        if variable.same_as and not self._whole:
            yield head + self._paint.dim(f"the same object as {plain(variable.same_as)}")
        elif not parts or (not self._whole and columns(_text(variable)) <= room and not _text(variable).endswith("…")):
            yield head + (_text(variable) if self._whole else clip(_text(variable), room))
        else:
            yield head + self._paint.dim(_size(variable))
            yield from self._below(variable, "      ") if self._whole else self._some(variable, parts)

    def _some(self, variable: Variable, parts: Sequence[Variable]) -> Iterator[str]:
        """A few of the parts: of a list the last, if they are known, else the first."""
        last = parts[0].name == "[0]" and len(parts) == _count(variable)
        few = parts[-_LAST:] if last else parts[:_PARTS]
        before = len(parts) - len(few) if last else 0
        if before:
            yield self._paint.dim(f"      … {before:,} before")
        gutter = _gutter(few)
        for part in few:
            name = padded(clip(plain(part.name), _NAME), gutter)
            yield f"      {name}  {clip(_text(part), self._width - 8 - gutter)}"
        yield from self._more(_count(variable) - before - len(few), "      ")

    def _below(self, variable: Variable, indent: str) -> Iterator[str]:
        """All of the parts, and what is inside of them."""
        parts = _parts(variable)
        for part in parts:
            yield f"{indent}{self._paint.name(plain(part.name))}  {_size(part) if _parts(part) else _text(part)}"
            yield from self._below(part, f"{indent}  ")
        if parts:
            yield from self._more(_count(variable) - len(parts), indent)

    def _more(self, count: int, indent: str) -> Iterator[str]:
        if count > 0:
            yield self._paint.dim(f"{indent}… {count:,} more")


def _parts(variable: Variable) -> Sequence[Variable]:
    """What is inside; of what is plain JSON, too."""
    value = variable.value
    if isinstance(value, dict):
        return [_part(f"[{name!r}]", held) for name, held in value.items()]
    if isinstance(value, list):
        return [_part(f"[{at}]", held) for at, held in enumerate(value)]
    return variable.inside


def _part(name: str, value: Any) -> Variable:
    return Variable(name=name, type=type(value).__name__, text=repr(value), value=value)


def _count(variable: Variable) -> int:
    value = variable.value
    return len(value) if isinstance(value, dict | list) else variable.count


def _text(variable: Variable) -> str:
    return plain(repr(variable.value) if isinstance(variable.value, str) else variable.text)


def _size(variable: Variable) -> str:
    return f"{plain(variable.type)}, {counted(_count(variable), 'item')}"


def _gutter(variables: Sequence[Variable]) -> int:
    return min(max((columns(plain(one.name)) for one in variables), default=0), _NAME)
