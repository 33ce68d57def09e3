"""Where two lists of names with values differ: query parameters, form fields, headers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import parse_qsl

from reenact.diff.change import Change, Kind, Part
from reenact.diff.pointer import step
from reenact.diff.text import short, text_changes
from reenact.engine.normalize import name_is_secret

HIDDEN: Final = "(hidden)"


def query_changes(before: str, after: str, part: Part) -> Iterator[Change]:
    """Query parameters or form fields; what is there several times counts several times."""
    old, new = parse_qsl(before, keep_blank_values=True), parse_qsl(after, keep_blank_values=True)
    if old == new:
        safe = part is Part.BODY or not any(name_is_secret(name) for name, _ in old)
        sides = (short(before), short(after)) if safe else (HIDDEN, HIDDEN)
        yield Change("", *sides, Kind.CHANGED, part, note="the same values, written differently")
    elif Counter(old) == Counter(new):
        names = [short(", ".join(name for name, _ in pairs)) for pairs in (old, new)]
        yield Change("", names[0], names[1], Kind.MOVED, part, note="the same parameters in another order")
    else:
        yield from _named(old, new, part)


def header_changes(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> Iterator[Change]:
    """The headers that differ; names whatever their case."""
    if before == after:
        return
    old, new = ([(name.lower(), value) for name, value in headers] for headers in (before, after))
    names = [short(", ".join(name for name, _ in headers)) for headers in (before, after)]
    if old == new:
        yield Change("", names[0], names[1], Kind.CHANGED, Part.HEADER, note="upper and lower case of names")
    elif Counter(old) == Counter(new):
        yield Change("", names[0], names[1], Kind.MOVED, Part.HEADER, note="the same headers in another order")
    else:
        yield from _named(old, new, Part.HEADER)


def _named(before: list[tuple[str, str]], after: list[tuple[str, str]], part: Part) -> Iterator[Change]:
    old, new = _grouped(before), _grouped(after)
    found = False
    for name in dict.fromkeys((*old, *new)):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        found = True
        if part is not Part.BODY and name_is_secret(name):
            kind = Kind.ADDED if was is None else Kind.REMOVED if now is None else Kind.CHANGED
            yield Change(step(name), was and HIDDEN, now and HIDDEN, kind, part)
        else:
            yield from text_changes(step(name), was, now, part)
    if not found:
        names = [short(", ".join(name for name, _ in pairs)) for pairs in (before, after)]
        yield Change("", names[0], names[1], Kind.MOVED, part, note="the same names and values in another order")


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return {name: ", ".join(several) for name, several in values.items()}
