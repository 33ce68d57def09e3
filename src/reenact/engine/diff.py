"""Where two requests differ: by JSON pointer where the body is JSON, by words, lines or bytes where it is not.

Equal subtrees are skipped at the speed of `==`, and what comes out is bounded, however large or hostile the bodies.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from reenact.engine.divergence import Change, Datum, Hunk, Kind, Mark, Part, Piece, Request
from reenact.engine.normalize import name_is_secret, public

MAX_CHANGES: Final = 64
MAX_HUNKS: Final = 8
CONTEXT: Final = 40  # characters shown on each side of a changed word
HIDDEN: Final = "(hidden)"

_VALUE: Final = 400  # characters kept of before and after
_PIECE: Final = 200  # characters kept of one stretch of changed words
_RANGES: Final = 4  # changed stretches in one hunk
_DEPTH: Final = 100  # levels of JSON below which values are compared as a whole
_LONG: Final = 20_000  # characters from which a text is aligned by clauses before it is by words
_FEW: Final = 20_000  # pairs that difflib aligns at once; beyond, items that are unique serve as anchors
_MANY: Final = 100_000  # pairs up to which difflib may try where there is no anchor

# Dates, identifiers, paths and addresses are one word; scripts without spaces go by character.
_NO_SPACES: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORDS: Final = re.compile(rf"\s+|[^\W{_NO_SPACES}]+(?:[-.:/@+]+[^\W{_NO_SPACES}]+)*|.", re.DOTALL)
_CLAUSES: Final = re.compile(r"[^\n.;,{}\u3001\u3002\uff0c]*[\n.;,{}\u3001\u3002\uff0c]|[^\n.;,{}\u3001\u3002\uff0c]+")
_BOUNDARY: Final = re.compile(r'boundary="?([^";,\s]{1,70})"?', re.IGNORECASE)
_PART_NAME: Final = re.compile(rb'[;\s]name="([^"]{0,200})"', re.IGNORECASE)

Gap = tuple[int, int, int, int]


def compare(expected: Request | Datum, actual: Request | Datum) -> tuple[Change, ...]:
    """Every place where the two differ, in the order of reading; empty only when they are equal.

    Nothing is normalized here: give it what `canonical` returned. At most MAX_CHANGES + 1 changes, the last of them of
    kind ELIDED when there are more. Credentials among headers and query parameters are named and not shown.
    """
    changes = _changes(expected, actual)
    found = tuple(islice(changes, MAX_CHANGES))
    if next(changes, None) is not None:
        return (*found, Change("", None, None, Kind.ELIDED, note="more changes are not listed"))
    return found


def _changes(expected: Request | Datum, actual: Request | Datum) -> Iterator[Change]:
    match expected, actual:
        case Request(), Request():
            if expected.method != actual.method:
                yield Change("", expected.method, actual.method, Kind.CHANGED, Part.METHOD)
            if expected.url != actual.url:
                unread = Change("", HIDDEN, HIDDEN, Kind.CHANGED, Part.ORIGIN, note="the same URL, written differently")
                yield from _at_least(_url(expected.url, actual.url), unread)
            yield from _headers(expected.headers, actual.headers)
            kinds = (_header(expected, "content-type"), _header(actual, "content-type"))
            yield from _body("", expected.body, actual.body, kinds)
        case Datum(), Datum() if expected.kind == actual.kind:
            if expected.name != actual.name:
                yield from _text("", expected.name, actual.name, Part.CALL)
            yield from _body("", expected.data, actual.data, ("", ""))
        case _:
            yield Change("", _call(expected), _call(actual), Kind.CHANGED, Part.CALL)


def _call(asked: Request | Datum) -> str:
    if isinstance(asked, Request):
        return f"{asked.method} {public(asked).url.partition('?')[0]}"
    return f"{asked.kind} {asked.name}"


# URL and headers


def _url(before: str, after: str) -> Iterator[Change]:
    try:
        old, new = urlsplit(before), urlsplit(after)
    except ValueError:
        yield Change("", HIDDEN, HIDDEN, Kind.CHANGED, Part.ORIGIN, note="a URL that cannot be read")
        return
    origins = [f"{url.scheme}://{url.netloc.rpartition('@')[2]}" for url in (old, new)]
    if origins[0] != origins[1]:
        yield from _text("", origins[0], origins[1], Part.ORIGIN)
    elif old.netloc != new.netloc:
        yield Change("", HIDDEN, HIDDEN, Kind.CHANGED, Part.ORIGIN, note="user name or password in the URL")
    if old.path != new.path:
        yield from _path(old.path, new.path)
    if old.query != new.query:
        yield from _pairs(old.query, new.query, Part.QUERY)
    if old.fragment != new.fragment:
        yield from _text("", f"#{old.fragment}", f"#{new.fragment}", Part.PATH)


def _path(before: str, after: str) -> Iterator[Change]:
    old, new = before.split("/"), after.split("/")
    if len(old) != len(new):
        yield from _text("", before, after, Part.PATH)
        return
    for number, (was, now) in enumerate(zip(old, new, strict=True)):
        if was != now:
            was_text, now_text = unquote(was), unquote(now)
            if was_text == now_text:
                was_text, now_text = was, now
            yield from _text(f"/{number}", was_text, now_text, Part.PATH)


def _pairs(before: str, after: str, part: Part) -> Iterator[Change]:
    """Query parameters or form fields; what is there several times counts several times."""
    old, new = parse_qsl(before, keep_blank_values=True), parse_qsl(after, keep_blank_values=True)
    if old == new:
        safe = part is Part.BODY or not any(name_is_secret(name) for name, _ in old)
        sides = (elide(before, _VALUE), elide(after, _VALUE)) if safe else (HIDDEN, HIDDEN)
        yield Change("", *sides, Kind.CHANGED, part, note="the same values, written differently")
    elif Counter(old) == Counter(new):
        names = [elide(", ".join(name for name, _ in pairs), _VALUE) for pairs in (old, new)]
        yield Change("", names[0], names[1], Kind.MOVED, part, note="the same parameters in another order")
    else:
        yield from _named(old, new, part)


def _headers(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> Iterator[Change]:
    if before == after:
        return
    old, new = ([(name.lower(), value) for name, value in headers] for headers in (before, after))
    names = [elide(", ".join(name for name, _ in headers), _VALUE) for headers in (before, after)]
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
            yield Change(_step(name), was and HIDDEN, now and HIDDEN, kind, part)
        else:
            yield from _text(_step(name), was, now, part)
    if not found:
        names = [elide(", ".join(name for name, _ in pairs), _VALUE) for pairs in (before, after)]
        yield Change("", names[0], names[1], Kind.MOVED, part, note="the same names and values in another order")


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return {name: ", ".join(several) for name, several in values.items()}


def _header(request: Request, wanted: str) -> str:
    return next((value for name, value in request.headers if name.lower() == wanted), "")


# Bodies


def _body(pointer: str, before: bytes, after: bytes, content_types: tuple[str, str]) -> Iterator[Change]:
    if before == after:
        return
    at = _shared(before, after)
    was, now = (side[max(0, at - CONTEXT) : at + CONTEXT].decode(errors="replace") for side in (before, after))
    unread = Change(pointer, was, now, Kind.CHANGED, note=f"the same, written differently from byte {at:,} on")
    try:
        old, new = msgspec.json.decode(before), msgspec.json.decode(after)
        changes = tuple(islice(_json(pointer, old, new), MAX_CHANGES + 1))
        # `==` calls 1, 1.0 and true the same, and objects whatever the order of their members: look closer.
        yield from changes or _at_least(_written(pointer, old, new), unread)
    except (ValueError, RecursionError):
        yield from _at_least(_unstructured(pointer, before, after, content_types), unread)


def _at_least(changes: Iterator[Change], otherwise: Change) -> Iterator[Change]:
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
        yield from _pairs(old, new, Part.BODY)
    elif not old or not new:
        yield from _text(pointer, old or None, new or None)
    else:
        yield from _lines(pointer, old.split("\n"), new.split("\n"))


def _parts(body: bytes, boundary: str) -> dict[str, bytes]:
    """Name to content (headers and all) of a multipart body; a second part of the same name is "name/1"."""
    found: dict[str, bytes] = {}
    for chunk in body.split(b"--" + boundary.encode())[1:]:
        if chunk.startswith(b"--"):
            break
        name = _PART_NAME.search(chunk.partition(b"\r\n\r\n")[0])
        key = base = _step(name[1].decode(errors="replace")) if name else "/"
        number = 0
        while key in found:
            number += 1
            key = f"{base}/{number}"
        found[key] = chunk
    return found


def _multipart(pointer: str, before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[Change]:
    if list(before) != list(after) and before.keys() == after.keys():
        names = [elide(", ".join(parts), _VALUE) for parts in (before, after)]
        yield Change(pointer, names[0], names[1], Kind.MOVED, note="the same parts in another order")
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            old, new = (elide(parts[name].decode(errors="replace"), _VALUE) if name in parts else None
                        for parts in (before, after))  # fmt: skip
            yield Change(pointer + name, old, new, Kind.ADDED if old is None else Kind.REMOVED)
            continue
        (old_head, _, old_body), (new_head, _, new_body) = (
            parts[name].partition(b"\r\n\r\n") for parts in (before, after)
        )
        yield from _body(pointer + name, old_head, new_head, ("", ""))
        yield from _body(pointer + name, old_body, new_body, ("", ""))


def _lines(pointer: str, before: list[str], after: list[str]) -> Iterator[Change]:
    if len(before) > 1 and Counter(before) == Counter(after):
        old, new = (elide("\n".join(lines), _VALUE) for lines in (before, after))
        yield Change(pointer, old, new, Kind.MOVED, note="the same lines in another order")
        return
    single = len(before) == len(after) == 1
    for i1, i2, j1, j2 in gaps(before, after):
        shared = min(i2 - i1, j2 - j1)
        for offset in range(shared):
            note = "" if single else f"line {i1 + offset + 1}"
            yield from _text(pointer, before[i1 + offset], after[j1 + offset], Part.BODY, note)
        for number in range(i1 + shared, i2):
            yield Change(pointer, elide(before[number], _VALUE), None, Kind.REMOVED, note=f"line {number + 1}")
        for number in range(j1 + shared, j2):
            yield Change(pointer, None, elide(after[number], _VALUE), Kind.ADDED, note=f"line {number + 1}")


def _binary(pointer: str, before: bytes, after: bytes) -> Change:
    at = _shared(before, after)
    old, new = (side[at : at + 8].hex(" ") for side in (before, after))
    start = max(0, at - 8)
    lead = before[start:at].hex(" ") + " " * (start < at)
    pieces = [Piece(Mark.SAME, lead), Piece(Mark.REMOVED, old), Piece(Mark.ADDED, new)]
    hunk = Hunk(start, max(0, len(before) - at - 8), tuple(piece for piece in pieces if piece.text))
    note = f"binary, first difference at byte {at:,} (0x{at:x}); {len(before):,} and {len(after):,} bytes"
    return Change(pointer, old, new, Kind.CHANGED, hunks=(hunk,), note=note)


# JSON


def _json(pointer: str, before: object, after: object) -> Iterator[Change]:
    if before == after:
        return
    match before, after:
        case (dict(), dict()) | (list(), list()) if pointer.count("/") >= _DEPTH:
            yield _value(pointer, before, after, Kind.CHANGED)
        case dict(), dict():
            for name in dict.fromkeys((*before, *after)):
                here = pointer + _step(name)
                if name not in after:
                    yield _value(here, before[name], None, Kind.REMOVED)
                elif name not in before:
                    yield _value(here, None, after[name], Kind.ADDED)
                else:
                    yield from _json(here, before[name], after[name])
        case list(), list():
            yield from _items(pointer, before, after)
        case str(), str():
            yield from _text(pointer, before, after)
        case _:
            yield _value(pointer, before, after, Kind.CHANGED)


def _items(pointer: str, before: list[object], after: list[object]) -> Iterator[Change]:
    start = _shared(before, after)
    end = _shared_end(before, after, start)
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
            yield from _json(here, before[start + i], after[start + pairs[i]])
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


def _written(pointer: str, before: object, after: object) -> Iterator[Change]:
    """Differences that `==` does not see: 1 against 1.0 or true, and the order of members."""
    if type(before) is not type(after):
        yield _value(pointer, before, after, Kind.CHANGED)
    elif isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            old, new = (elide(", ".join(names), _VALUE) for names in (before, after))
            yield Change(pointer, old, new, Kind.MOVED, note="the same members in another order")
        for name, value in before.items():
            yield from _written(pointer + _step(name), value, after[name])
    elif isinstance(before, list) and isinstance(after, list):
        for index, (was, now) in enumerate(zip(before, after, strict=True)):
            yield from _written(f"{pointer}/{index}", was, now)


_TYPES: Final = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


def _value(pointer: str, before: object, after: object, kind: Kind, note: str = "") -> Change:
    old = None if kind is Kind.ADDED else elide(msgspec.json.encode(before).decode(), _VALUE)
    new = None if kind is Kind.REMOVED else elide(msgspec.json.encode(after).decode(), _VALUE)
    types = [_TYPES.get(type(value), "null") for value in (before, after)]
    if kind is Kind.CHANGED and types[0] != types[1]:
        note = f"{types[0]} became {types[1]}"
    return Change(pointer, old, new, kind, note=note)


def _step(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


# Text


def _text(
    pointer: str, before: str | None, after: str | None, part: Part = Part.BODY, note: str = ""
) -> Iterator[Change]:
    if before is None or after is None:
        kind = Kind.ADDED if before is None else Kind.REMOVED
        old, new = (None if side is None else elide(side, _VALUE) for side in (before, after))
        yield Change(pointer, old, new, kind, part, note=note)
    elif before != after:
        hunks, more, moved = _hunks(before, after)
        if moved:
            note = note or "the same words in another order"
        kind = Kind.MOVED if moved else Kind.CHANGED
        yield Change(pointer, elide(before, _VALUE), elide(after, _VALUE), kind, part, hunks, more, note)


def _hunks(before: str, after: str) -> tuple[tuple[Hunk, ...], int, bool]:
    """The changed words, how many hunks of them were left out, and whether the words are only in another order."""
    start, end = _edges(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    moved = len(old) + len(new) <= 2 * _LONG and _same_words(old, new)
    ranges = [(start + x1, start + x2, start + y1, start + y2) for x1, x2, y1, y2 in _ranges(old, new)]
    groups: list[list[Gap]] = []
    for gap in _joined(before, after, ranges):
        if groups and gap[0] - groups[-1][-1][1] <= CONTEXT and len(groups[-1]) < _RANGES:
            groups[-1].append(gap)
        else:
            groups.append([gap])
    return tuple(_hunk(before, after, group) for group in groups[:MAX_HUNKS]), max(0, len(groups) - MAX_HUNKS), moved


def _edges(before: str, after: str) -> tuple[int, int]:
    """Lengths of the equal start and end, cut back to white space so that no word is cut (if one is near)."""
    start = _shared(before, after)
    space = max(before.rfind(" ", max(0, start - 200), start), before.rfind("\n", max(0, start - 200), start))
    start = space + 1 if space >= 0 else 0 if start <= 200 else start
    end = _shared_end(before, after, start)
    tail = before[len(before) - end :][:200]
    spaces = [at for at in (tail.find(" "), tail.find("\n")) if at >= 0]
    end -= min(spaces) if spaces else len(tail)
    return start, end


def _same_words(before: str, after: str) -> bool:
    old, new = re.findall(r"\w+", before), re.findall(r"\w+", after)
    return len(old) > 1 and old != new and Counter(old) == Counter(new)


def _ranges(before: str, after: str) -> Iterator[Gap]:
    """Character ranges that differ: of long texts clauses are aligned first, and words within the first of them."""
    long = max(len(before), len(after)) > _LONG
    clauses = _aligned(_CLAUSES, before, after) if long else [(0, len(before), 0, len(after))]
    budget = 10 * _LONG
    for x1, x2, y1, y2 in clauses:
        budget -= max(x2 - x1, y2 - y1)
        if budget < 0:
            yield x1, x2, y1, y2
            continue
        old, new = before[x1:x2], after[y1:y2]
        for a1, a2, b1, b2 in _aligned(_WORDS, old, new):
            start = end = 0
            if min(a2 - a1, b2 - b1) > _PIECE // 2:  # words too long to show whole: their ends, where equal, go
                start = _shared(old[a1:a2], new[b1:b2])
                end = _shared_end(old[a1:a2], new[b1:b2], start)
            yield x1 + a1 + start, x1 + a2 - end, y1 + b1 + start, y1 + b2 - end


def _aligned(tokens: re.Pattern[str], before: str, after: str) -> list[Gap]:
    """Character ranges of the tokens that differ."""
    old, new = tokens.findall(before), tokens.findall(after)
    old_at, new_at = ([0, *accumulate(map(len, side))] for side in (old, new))
    return [(old_at[i1], old_at[i2], new_at[j1], new_at[j2]) for i1, i2, j1, j2 in gaps(old, new)]


def _joined(before: str, after: str, ranges: list[Gap]) -> list[Gap]:
    """The ranges, with those made one that only a few characters of space or punctuation part."""
    joined: list[Gap] = []
    for gap in ranges:
        if joined:
            x1, x2, y1, y2 = joined[-1]
            between = before[x2 : gap[0]]
            if len(between) <= 3 and not re.search(r"\w", between) and after[y2 : gap[2]] == between:
                joined[-1] = (x1, gap[1], y1, gap[3])
                continue
        joined.append(gap)
    return joined


def _hunk(before: str, after: str, group: list[Gap]) -> Hunk:
    first, last = group[0], group[-1]
    start = max(0, first[0] - CONTEXT)
    stop = min(len(before), last[1] + CONTEXT)
    pieces = []
    at = start
    for x1, x2, y1, y2 in group:
        pieces.append(Piece(Mark.SAME, before[at:x1]))
        pieces.append(Piece(Mark.REMOVED, elide(before[x1:x2], _PIECE)))
        pieces.append(Piece(Mark.ADDED, elide(after[y1:y2], _PIECE)))
        at = x2
    pieces.append(Piece(Mark.SAME, before[at:stop]))
    return Hunk(start, len(before) - stop, tuple(piece for piece in pieces if piece.text))


def elide(text: str, limit: int) -> str:
    """The text, cut in the middle when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    mark = f" … {len(text) - limit:,} characters … "
    kept = max(0, limit - len(mark))
    return text[: kept - kept // 2] + mark + text[len(text) - kept // 2 :]


# Alignment


def gaps(before: Sequence[Hashable], after: Sequence[Hashable], depth: int = 0) -> list[Gap]:
    """The stretches (i1, i2, j1, j2) where two sequences differ, in order; what lies between them is equal.

    Ends in near linear time: large stretches are aligned at the items that are unique in both, and else not at all.
    """
    start = _shared(before, after)
    end = _shared_end(before, after, start)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old and not new:
        return []
    size = len(old) * len(new)
    found: list[Gap] = []
    in_place = _in_place(old, new) if size > _FEW else []
    anchors = _anchors(old, new) if size > _FEW and not in_place and depth < 8 else []
    if in_place:
        found = in_place
    elif anchors:
        i = j = 0
        for ai, aj in (*anchors, (len(old), len(new))):
            found += ((i + i1, i + i2, j + j1, j + j2) for i1, i2, j1, j2 in gaps(old[i:ai], new[j:aj], depth + 1))
            i, j = ai + 1, aj + 1
    elif 0 < size <= _MANY:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        found = [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    else:
        found = [(0, len(old), 0, len(new))]
    return [(start + i1, start + i2, start + j1, start + j2) for i1, i2, j1, j2 in found]


def _in_place(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Gap]:
    """The gaps of two sequences that agree at three places of four, one by one; none for others."""
    if len(before) != len(after):
        return []
    odd = [index for index, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    if len(odd) > len(before) // 4:
        return []
    found: list[Gap] = []
    for index in odd:
        start = found.pop()[0] if found and found[-1][1] == index else index
        found.append((start, index + 1, start, index + 1))
    return found


def _anchors(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Items that occur once on each side, in an order that both sides have (patience diff)."""
    old, new = Counter(before), Counter(after)
    where = {item: j for j, item in enumerate(after) if new[item] == 1}
    pairs = [(i, where[item]) for i, item in enumerate(before) if old[item] == 1 and item in where]
    ends: list[int] = []  # smallest last j of a chain, by its length
    tops: list[int] = []  # which pair that is
    links: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        links.append(tops[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        tops[length : length + 1] = [number]
    chain = []
    number = tops[-1] if tops else -1
    while number >= 0:
        chain.append(pairs[number])
        number = links[number]
    return chain[::-1]


def _shared(before: Sequence[object], after: Sequence[object]) -> int:
    """Length of the equal start. Halving compares slices in C, where a loop would take a second for 2 MB."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shared_end(before: Sequence[object], after: Sequence[object], start: int) -> int:
    """Length of the equal end, without what `start` has already."""
    old, new = len(before), len(after)
    low, high = 0, min(old, new) - start
    while low < high:
        middle = (low + high + 1) // 2
        if before[old - middle : old - low] == after[new - middle : new - low]:
            low = middle
        else:
            high = middle - 1
    return low
