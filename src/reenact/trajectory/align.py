"""Which steps of two runs are the same step of the work, though some were put in, left out, or went otherwise.

Steps that are equal are found first, lane by lane, since a lane has the same path in every run of a program; then equal
ones of other lanes; and between those, the steps that are most alike, in their order (Needleman and Wunsch, 1970).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reenact.diff.alignment import gaps

_CELLS: Final = 250_000  # pairs of steps that are compared one by one
_ALIKE: Final = 0.4  # from here on two steps are taken for the same one

Couple = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Gist:
    """What a step is known by. `asked` and `done` are equal where the step asks, or decides, the same.

    `told` and `tools` name what the model was told and what it called; `words` of either are sets of bits.
    """

    lane: str
    asked: object
    done: object
    told: tuple[str, ...]
    tools: tuple[str, ...]
    asked_words: int
    done_words: int
    place: str

    @property
    def key(self) -> object:
        """Equal where the two are the same step."""
        return self.asked, self.done


def likeness(one: Gist, other: Gist) -> float:
    """How alike two steps are, from 0 to 1."""
    asked = done = 1.0
    if one.asked != other.asked:
        same = 0.4 if one.told == other.told and one.told else 0.0
        asked = same + (0.9 - same) * _overlap(one.asked_words, other.asked_words)
    if one.done != other.done:
        same = 0.6 if one.tools == other.tools and one.tools else 0.0
        done = same + (0.9 - same) * _overlap(one.done_words, other.done_words)
    return 0.45 * asked + 0.45 * done + 0.1 * (one.place == other.place)


def _overlap(one: int, other: int) -> float:
    union = (one | other).bit_count()
    return (one & other).bit_count() / union if union else 1.0


def aligned(old: Sequence[Gist], new: Sequence[Gist]) -> list[tuple[int | None, int | None]]:
    """Pairs of places in the two, in their order; None for a step that the other side has not."""
    pairs = dict(_paired(old, new))
    return list(_in_order(pairs, len(old), len(new)))


def _paired(old: Sequence[Gist], new: Sequence[Gist]) -> Iterator[Couple]:
    lanes = [_by_lane(side) for side in (old, new)]
    found = [
        (lanes[0][lane][i], lanes[1][lane][j])
        for lane in lanes[0]
        if lane in lanes[1]
        for i, j in _equal([old[at].key for at in lanes[0][lane]], [new[at].key for at in lanes[1][lane]])
    ]
    yield from found
    left = _left(found, old, new)
    elsewhere = list(_equal_elsewhere(old, new, *left))
    yield from elsewhere
    found += elsewhere
    for lane in lanes[0]:
        if lane in lanes[1]:
            known = dict(found)
            alike = list(_between(old, new, lanes[0][lane], lanes[1][lane], known))
            yield from alike
            found += alike
    left = _left(found, old, new)
    apart = [[at for at in side if own[at].lane not in other] for side, own, other in
             ((left[0], old, lanes[1]), (left[1], new, lanes[0]))]  # fmt: skip
    yield from _alike(old, new, *apart)


def _by_lane(side: Sequence[Gist]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at, gist in enumerate(side):
        found[gist.lane].append(at)
    return found


def _left(found: Sequence[Couple], old: Sequence[Gist], new: Sequence[Gist]) -> tuple[list[int], list[int]]:
    paired = {i for i, _ in found}, {j for _, j in found}
    return [i for i in range(len(old)) if i not in paired[0]], [j for j in range(len(new)) if j not in paired[1]]


def _equal(old: Sequence[object], new: Sequence[object]) -> Iterator[Couple]:
    i = j = 0
    for i1, i2, j1, j2 in (*gaps(old, new), (len(old), len(old), len(new), len(new))):
        yield from zip(range(i, i1), range(j, j1), strict=True)
        i, j = i2, j2


def _equal_elsewhere(
    old: Sequence[Gist], new: Sequence[Gist], left: Sequence[int], right: Sequence[int]
) -> Iterator[Couple]:
    """Steps that are the same, done by another lane."""
    waiting: defaultdict[object, list[int]] = defaultdict(list)
    for j in reversed(right):
        waiting[new[j].key].append(j)
    for i in left:
        twins = waiting[old[i].key]
        if twins and new[twins[-1]].lane != old[i].lane:
            yield i, twins.pop()


def _between(
    old: Sequence[Gist], new: Sequence[Gist], left: Sequence[int], right: Sequence[int], known: dict[int, int]
) -> Iterator[Couple]:
    """Steps of one lane that are alike, between those that are paired already."""
    places = {j: at for at, j in enumerate(right)}
    taken = set(known.values())
    i = j = 0
    for at in (*range(len(left)), len(left)):
        end = at == len(left)
        if not end and (left[at] not in known or known[left[at]] not in places):
            continue
        upto = len(right) if end else places[known[left[at]]]
        hole = [one for one in left[i:at] if one not in known], [one for one in right[j:upto] if one not in taken]
        if len(hole[0]) == len(hole[1]) == 1:
            yield hole[0][0], hole[1][0]  # what stands between the same is the same step
        else:
            yield from _alike(old, new, *hole)
        i, j = at + 1, upto + 1


def _alike(old: Sequence[Gist], new: Sequence[Gist], left: Sequence[int], right: Sequence[int]) -> Iterator[Couple]:
    if not left or not right:
        return
    if len(left) * len(right) <= _CELLS:
        yield from _best(old, new, left, right)
        return
    anchors = list(_equal([old[i].done for i in left], [new[j].done for j in right]))
    if not anchors:  # nothing in common: halves are compared with halves
        anchors = []
        i, j = len(left) // 2, len(right) // 2
        yield from _alike(old, new, left[:i], right[:j])
        yield from _alike(old, new, left[i:], right[j:])
        return
    i = j = 0
    for ai, aj in anchors:
        yield left[ai], right[aj]
        yield from _alike(old, new, left[i:ai], right[j:aj])
        i, j = ai + 1, aj + 1
    yield from _alike(old, new, left[i:], right[j:])


def _best(old: Sequence[Gist], new: Sequence[Gist], left: Sequence[int], right: Sequence[int]) -> Iterator[Couple]:
    """The couples in order that are most alike, taken together."""
    columns = [new[j] for j in right]
    gains = [[likeness(old[i], other) - _ALIKE for other in columns] for i in left]
    below = [0.0] * (len(right) + 1)
    table = [below]
    for row in reversed(gains):
        here = [0.0] * (len(right) + 1)
        for j in range(len(right) - 1, -1, -1):
            with_it = row[j] + below[j + 1]
            skip = max(below[j], here[j + 1])
            here[j] = with_it if row[j] > 0 and with_it >= skip else skip
        table.append(here)
        below = here
    table.reverse()
    i = j = 0
    while i < len(left) and j < len(right):
        if gains[i][j] > 0 and table[i][j] == gains[i][j] + table[i + 1][j + 1]:
            yield left[i], right[j]
            i, j = i + 1, j + 1
        elif table[i][j] == table[i + 1][j]:
            i += 1
        else:
            j += 1


def _in_order(pairs: dict[int, int], old: int, new: int) -> Iterator[tuple[int | None, int | None]]:
    """As the first side has them; what only the second has stands where that has it."""
    taken = set(pairs.values())
    fresh = 0
    for i in range(old):
        j = pairs.get(i)
        if j is not None:
            while fresh < j:
                if fresh not in taken:
                    yield None, fresh
                fresh += 1
        yield i, j
    yield from ((None, j) for j in range(fresh, new) if j not in taken)
