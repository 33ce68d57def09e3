"""Where two bodies differ: as JSON, as a form or parts of one, by lines, or by bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from reenact.diff.alignment import gaps, shared
from reenact.diff.change import Change, Hunk, Kind, Mark, Part, Piece
from reenact.diff.document import json_changes, rewritten
from reenact.diff.pointer import step
from reenact.diff.text import CONTEXT, short, text_changes
from reenact.engine.diff.pairs import query_changes

MAX_CHANGES: Final = 64

_BOUNDARY: Final = re.compile(r'boundary="?([^";,\s]{1,70})"?', re.IGNORECASE)
_PART_NAME: Final = re.compile(rb'[;\s]name="([^"]{0,200})"', re.IGNORECASE)


def body_changes(pointer: str, before: bytes, after: bytes, content_types: tuple[str, str]) -> Iterator[Change]:
    """The places where two bodies differ; at least one, unless they are equal."""
    if before == after:
        return
    at = shared(before, after)
    was, now = (side[max(0, at - CONTEXT) : at + CONTEXT].decode(errors="replace") for side in (before, after))
    unread = Change(pointer, was, now, Kind.CHANGED, note=f"the same, written differently from byte {at:,} on")
    try:
        old, new = msgspec.json.decode(before), msgspec.json.decode(after)
        changes = tuple(islice(json_changes(pointer, old, new), MAX_CHANGES + 1))
        # `==` calls 1, 1.0 and true the same, and objects whatever the order of their members: look closer.
        yield from changes or at_least(rewritten(pointer, old, new), unread)
    except (ValueError, RecursionError):
        yield from at_least(_unstructured(pointer, before, after, content_types), unread)


def at_least(changes: Iterator[Change], otherwise: Change) -> Iterator[Change]:
    """The changes, or where there are none this one."""
    first = next(changes, None)
    yield otherwise if first is None else first
    yield from changes


def _unstructured(pointer: str, before: bytes, after: bytes, content_types: tuple[str, str]) -> Iterator[Change]:
    boundaries = [_BOUNDARY.search(kind) if "multipart/" in kind else None for kind in content_types]
    if boundaries[0] and boundaries[1]:
        parts = _parts(before, boundaries[0][1]), _parts(after, boundaries[1][1])
        if parts[0] and parts[0] == parts[1]:
            old, new = boundaries[0][1], boundaries[1][1]
            yield Change(pointer, old, new, Kind.CHANGED, note="the same parts between other boundaries")
            return
        if parts[0] and parts[1]:
            yield from _multipart(pointer, *parts)
            return
    try:
        old, new = before.decode(), after.decode()
    except UnicodeDecodeError:
        yield _binary(pointer, before, after)
        return
    if all("x-www-form-urlencoded" in kind for kind in content_types):
        yield from query_changes(old, new, Part.BODY)
    elif not old or not new:
        yield from text_changes(pointer, old or None, new or None)
    else:
        yield from _lines(pointer, old.split("\n"), new.split("\n"))


def _parts(body: bytes, boundary: str) -> dict[str, bytes]:
    """Name to content (headers and all) of a multipart body; a second part of the same name is "name/1"."""
    found: dict[str, bytes] = {}
    for chunk in body.split(b"--" + boundary.encode())[1:]:
        if chunk.startswith(b"--"):
            break
        name = _PART_NAME.search(chunk.partition(b"\r\n\r\n")[0])
        key = base = step(name[1].decode(errors="replace")) if name else "/"
        number = 0
        while key in found:
            number += 1
            key = f"{base}/{number}"
        found[key] = chunk
    return found


def _multipart(pointer: str, before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[Change]:
    if list(before) != list(after) and before.keys() == after.keys():
        names = [short(", ".join(parts)) for parts in (before, after)]
        yield Change(pointer, names[0], names[1], Kind.MOVED, note="the same parts in another order")
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            old, new = (short(parts[name].decode(errors="replace")) if name in parts else None
                        for parts in (before, after))  # fmt: skip
            yield Change(pointer + name, old, new, Kind.ADDED if old is None else Kind.REMOVED)
            continue
        (old_head, _, old_body), (new_head, _, new_body) = (
            parts[name].partition(b"\r\n\r\n") for parts in (before, after)
        )
        yield from body_changes(pointer + name, old_head, new_head, ("", ""))
        yield from body_changes(pointer + name, old_body, new_body, ("", ""))


def _lines(pointer: str, before: list[str], after: list[str]) -> Iterator[Change]:
    if len(before) > 1 and Counter(before) == Counter(after):
        old, new = (short("\n".join(lines)) for lines in (before, after))
        yield Change(pointer, old, new, Kind.MOVED, note="the same lines in another order")
        return
    single = len(before) == len(after) == 1
    for i1, i2, j1, j2 in gaps(before, after):
        both = min(i2 - i1, j2 - j1)
        for offset in range(both):
            note = "" if single else f"line {i1 + offset + 1}"
            yield from text_changes(pointer, before[i1 + offset], after[j1 + offset], Part.BODY, note)
        for number in range(i1 + both, i2):
            yield Change(pointer, short(before[number]), None, Kind.REMOVED, note=f"line {number + 1}")
        for number in range(j1 + both, j2):
            yield Change(pointer, None, short(after[number]), Kind.ADDED, note=f"line {number + 1}")


def _binary(pointer: str, before: bytes, after: bytes) -> Change:
    at = shared(before, after)
    old, new = (side[at : at + 8].hex(" ") for side in (before, after))
    start = max(0, at - 8)
    lead = before[start:at].hex(" ") + " " * (start < at)
    pieces = [Piece(Mark.SAME, lead), Piece(Mark.REMOVED, old), Piece(Mark.ADDED, new)]
    hunk = Hunk(start, max(0, len(before) - at - 8), tuple(piece for piece in pieces if piece.text))
    note = f"binary, first difference at byte {at:,} (0x{at:x}); {len(before):,} and {len(after):,} bytes"
    return Change(pointer, old, new, Kind.CHANGED, hunks=(hunk,), note=note)
