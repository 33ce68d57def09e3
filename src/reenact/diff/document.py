"""Where two JSON values differ, by pointer. Equal subtrees are skipped at the speed of `==`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from reenact.diff.alignment import Gap, gaps, shared, shared_end
from reenact.diff.change import Change, Kind
from reenact.diff.pointer import step
from reenact.diff.text import short, text_changes

_DEPTH: Final = 100  # levels of JSON below which values are compared as a whole
_TYPES: Final = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


def json_changes(pointer: str, before: object, after: object) -> Iterator[Change]:
    """The places where the values differ as `==` sees it."""
    if before == after:
        return
    match before, after:
        case (dict(), dict()) | (list(), list()) if pointer.count("/") >= _DEPTH:
            yield _value(pointer, before, after, Kind.CHANGED)
        case dict(), dict():
            for name in dict.fromkeys((*before, *after)):
                here = pointer + step(name)
                if name not in after:
                    yield _value(here, before[name], None, Kind.REMOVED)
                elif name not in before:
                    yield _value(here, None, after[name], Kind.ADDED)
                else:
                    yield from json_changes(here, before[name], after[name])
        case list(), list():
            yield from _items(pointer, before, after)
        case str(), str():
            yield from text_changes(pointer, before, after)
        case _:
            yield _value(pointer, before, after, Kind.CHANGED)


def _items(pointer: str, before: list[object], after: list[object]) -> Iterator[Change]:
    start = shared(before, after)
    end = shared_end(before, after, start)
    # Only what is between the equal ends is worth a key of its own.
    old = [msgspec.json.encode(item) for item in before[start : len(before) - end]]
    new = [msgspec.json.encode(item) for item in after[start : len(after) - end]]
    if Counter(old) == Counter(new):
        yield _value(pointer, before, after, Kind.MOVED, "the same items in another order")
        return
    unequal = gaps(old, new)
    pairs = dict(_paired(before[start:], after[start:], unequal))
    matched = set(pairs.values())
    fresh = {j for _, _, j1, j2 in unequal for j in range(j1, j2) if j not in matched}
    added: dict[bytes, list[int]] = {}
    for j in sorted(fresh):
        added.setdefault(new[j], []).append(j)
    for i in (i for i1, i2, _, _ in unequal for i in range(i1, i2)):
        here = f"{pointer}/{start + i}"
        if i in pairs:
            yield from json_changes(here, before[start + i], after[start + pairs[i]])
        elif twins := added.get(old[i]):
            j = twins.pop(0)
            fresh.discard(j)
            note = f"now at {pointer}/{start + j}"
            yield _value(here, before[start + i], after[start + j], Kind.MOVED, note)
        else:
            yield _value(here, before[start + i], None, Kind.REMOVED)
    for j in sorted(fresh):
        yield _value(f"{pointer}/{start + j}", None, after[start + j], Kind.ADDED)


def _paired(before: list[object], after: list[object], unequal: list[Gap]) -> Iterator[tuple[int, int]]:
    """Items of the gaps that are edits of one another: by shape, and then by place."""
    for i1, i2, j1, j2 in unequal:
        old, new = ([_shape(item) for item in items] for items in (before[i1:i2], after[j1:j2]))
        i, j = i1, j1
        for a1, a2, b1, b2 in (*gaps(old, new), (len(old), len(old), len(new), len(new))):
            yield from zip(range(i, i1 + a1), range(j, j1 + b1), strict=True)
            # Not strict: what one side has more of is added or removed.
            yield from zip(range(i1 + a1, i1 + a2), range(j1 + b1, j1 + b2), strict=False)
            i, j = i1 + a2, j1 + b2


def _shape(item: object) -> tuple[str, ...]:
    """What two items have in common when one is an edit of the other: who speaks, or what they are called."""
    if isinstance(item, dict):
        marks = [item.get(name) for name in ("role", "type", "name", "id", "tool_call_id")]
        function = item.get("function")
        if isinstance(function, dict):
            marks.append(function.get("name"))
        return tuple(mark for mark in marks if isinstance(mark, str))
    return (type(item).__name__,)


def rewritten(pointer: str, before: object, after: object) -> Iterator[Change]:
    """Differences that `==` does not see: 1 against 1.0 or true, and the order of members."""
    if type(before) is not type(after):
        yield _value(pointer, before, after, Kind.CHANGED)
    elif isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            old, new = (short(", ".join(names)) for names in (before, after))
            yield Change(pointer, old, new, Kind.MOVED, note="the same members in another order")
        for name, value in before.items():
            yield from rewritten(pointer + step(name), value, after[name])
    elif isinstance(before, list) and isinstance(after, list):
        for index, (was, now) in enumerate(zip(before, after, strict=True)):
            yield from rewritten(f"{pointer}/{index}", was, now)


def _value(pointer: str, before: object, after: object, kind: Kind, note: str = "") -> Change:
    old = None if kind is Kind.ADDED else short(msgspec.json.encode(before).decode())
    new = None if kind is Kind.REMOVED else short(msgspec.json.encode(after).decode())
    types = [_TYPES.get(type(value), "null") for value in (before, after)]
    if kind is Kind.CHANGED and types[0] != types[1]:
        note = f"{types[0]} became {types[1]}"
    return Change(pointer, old, new, kind, note=note)
