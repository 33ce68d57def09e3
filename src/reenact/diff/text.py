"""Where two texts differ, by words, with some context; what comes out is bounded, however long they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from reenact.diff.alignment import Gap, gaps, shared, shared_end
from reenact.diff.change import Change, Hunk, Kind, Mark, Part, Piece

MAX_HUNKS: Final = 8
CONTEXT: Final = 40  # characters shown on each side of a changed word

_SHORT: Final = 400  # characters kept of before and after
_PIECE: Final = 200  # characters kept of one stretch of changed words
_RANGES: Final = 4  # changed stretches in one hunk
_FEW_WORDS: Final = 20  # that are always compared one by one
_LONG: Final = 20_000  # characters from which a text is aligned by clauses before it is by words

# Dates, identifiers, paths and addresses are one word; scripts without spaces go by character.
_NO_SPACES: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORDS: Final = re.compile(rf"\s+|[^\W{_NO_SPACES}]+(?:[-.:/@+]+[^\W{_NO_SPACES}]+)*|.", re.DOTALL)
_CLAUSES: Final = re.compile(r"[^\n.;,{}\u3001\u3002\uff0c]*[\n.;,{}\u3001\u3002\uff0c]|[^\n.;,{}\u3001\u3002\uff0c]+")


def text_changes(
    pointer: str, before: str | None, after: str | None, part: Part = Part.BODY, note: str = ""
) -> Iterator[Change]:
    """The change from one text to another, if there is one; None where there was none."""
    if before is None or after is None:
        kind = Kind.ADDED if before is None else Kind.REMOVED
        old, new = (None if side is None else short(side) for side in (before, after))
        yield Change(pointer, old, new, kind, part, note=note)
    elif before != after and _is_another(before, after):
        yield Change(pointer, short(before), short(after), Kind.CHANGED, part, note=note)
    elif before != after:
        hunks, more, moved = _hunks(before, after)
        if moved:
            note = note or "the same words in another order"
        kind = Kind.MOVED if moved else Kind.CHANGED
        yield Change(pointer, short(before), short(after), kind, part, hunks, more, note)


def _is_another(before: str, after: str) -> bool:
    """Whether the two have next to nothing in common: to mark words says nothing then, and aligning them takes long."""
    old, new = (Counter(re.findall(r"\w+", side[:_LONG])) for side in (before, after))
    fewer = min(old.total(), new.total())
    return fewer > _FEW_WORDS and (old & new).total() * 5 < fewer


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
    start = shared(before, after)
    space = max(before.rfind(" ", max(0, start - 200), start), before.rfind("\n", max(0, start - 200), start))
    start = space + 1 if space >= 0 else 0 if start <= 200 else start
    end = shared_end(before, after, start)
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
                start = shared(old[a1:a2], new[b1:b2])
                end = shared_end(old[a1:a2], new[b1:b2], start)
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


def short(text: str) -> str:
    """The text as far as a change shows it."""
    return elide(text, _SHORT)


def elide(text: str, limit: int) -> str:
    """The text, cut in the middle when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    mark = f" … {len(text) - limit:,} characters … "
    kept = max(0, limit - len(mark))
    return text[: kept - kept // 2] + mark + text[len(text) - kept // 2 :]
