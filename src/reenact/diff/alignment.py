"""Where two sequences differ: the stretches between what is equal, in near linear time."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final

_FEW: Final = 20_000  # pairs that difflib aligns at once; beyond, items that are unique serve as anchors
_MANY: Final = 100_000  # pairs up to which difflib may try where there is no anchor

Gap = tuple[int, int, int, int]


def gaps(before: Sequence[Hashable], after: Sequence[Hashable], depth: int = 0) -> list[Gap]:
    """The stretches (i1, i2, j1, j2) where two sequences differ, in order; what lies between them is equal.

    Ends in near linear time: large stretches are aligned at the items that are unique in both, and else not at all.
    """
    start = shared(before, after)
    end = shared_end(before, after, start)
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


def shared(before: Sequence[object], after: Sequence[object]) -> int:
    """Length of the equal start. Halving compares slices in C, where a loop would take a second for 2 MB."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def shared_end(before: Sequence[object], after: Sequence[object], start: int) -> int:
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
