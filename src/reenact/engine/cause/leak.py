"""What leaked into a change past the seams: changed words that look like a clock, an address, a random id."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from reenact.diff.change import Change, Kind, Mark
from reenact.engine.cause.pattern import LEAKS, Leak
from reenact.engine.cause.remedy import normalizer
from reenact.engine.cause.scene import Scene
from reenact.engine.cause.words import place_of, quoted
from reenact.engine.divergence import Cause


def leaked(change: Change, scene: Scene) -> tuple[list[Cause], list[tuple[str, str]]]:
    """The leaks among the changed words, and the changed words that are none."""
    if change.kind is Kind.MOVED:
        return [_unordered(change)], []
    found: dict[str, Cause] = {}
    rest = []
    for place in _places(change):
        match = next(filter(None, (_pair(leak, place) for leak in LEAKS)), None)
        if match is None:
            rest.append(place.words)
        else:
            leak, old, new = match
            found.setdefault(leak.slug, _leak_cause(leak, change, (old, new), scene))
    if rest and _shuffled(rest):
        found["unordered"] = _unordered(change)
        rest = []
    return list(found.values()), rest


def _unordered(change: Change) -> Cause:
    advice = (
        "Sort them before they are sent: sets, os.listdir, glob and as_completed promise no order. "
        "sorted(names) is enough."
    )
    return Cause("unordered", f"{place_of(change)} holds the same things in another order.", advice)


@dataclass(frozen=True, slots=True)
class _Place:
    """Changed words in the text around them, on each side with where they start and end."""

    before: str
    after: str
    old: tuple[int, int]
    new: tuple[int, int]

    @property
    def words(self) -> tuple[str, str]:
        return self.before[slice(*self.old)], self.after[slice(*self.new)]


def _places(change: Change) -> Iterator[_Place]:
    """Each stretch of changed words of the hunks; the whole value where there are none."""
    if not change.hunks:
        before, after = change.before or "", change.after or ""
        yield _Place(before, after, (0, len(before)), (0, len(after)))
    for hunk in change.hunks:
        before, after = hunk.text(Mark.REMOVED), hunk.text(Mark.ADDED)
        old = new = old_start = new_start = 0
        for piece in hunk.pieces:
            if piece.mark is Mark.SAME and (old, new) != (old_start, new_start):
                yield _Place(before, after, (old_start, old), (new_start, new))
            old += len(piece.text) * (piece.mark is not Mark.ADDED)
            new += len(piece.text) * (piece.mark is not Mark.REMOVED)
            if piece.mark is Mark.SAME:
                old_start, new_start = old, new
        if (old, new) != (old_start, new_start):
            yield _Place(before, after, (old_start, old), (new_start, new))


def _pair(leak: Leak, place: _Place) -> tuple[Leak, str, str] | None:
    """What of this kind the changed words are, or are part of, on either side."""
    old = _overlapping(leak.pattern, place.before, place.old)
    new = _overlapping(leak.pattern, place.after, place.new)
    if old and new and old != new and leak.agree(old, new):
        return leak, old, new
    return None


def _overlapping(pattern: re.Pattern[str], text: str, place: tuple[int, int]) -> str:
    start, end = place
    return next((m[0] for m in pattern.finditer(text) if m.start() < end and m.end() > start), "")


def _shuffled(places: list[tuple[str, str]]) -> bool:
    """Whether the changed words of all places together are the same on both sides, and not all where they were."""
    old, new = (re.findall(r"\w+", " ".join(words)) for words in zip(*places, strict=True))
    apart = any(not was or not now for was, now in places)
    return bool(old) and Counter(old) == Counter(new) and (old != new or apart)


def _leak_cause(leak: Leak, change: Change, pair: tuple[str, str], scene: Scene) -> Cause:
    what = leak.what
    if leak.slug == "address":
        text = change.before if not change.hunks else change.hunks[0].text(Mark.REMOVED)
        owner = re.search(r"<([\w.]+)[^<>]{0,80}? at " + re.escape(pair[0]), text or "")
        what += f" (of a {owner[1].rpartition('.')[2]})" if owner else ""
    elif leak.slug == "uuid" and pair[0][14] == pair[1][14]:
        what += f" of version {pair[0][14]}" + (", made from the clock" if pair[0][14] in "167" else "")
    article = "" if leak.slug == "address" and not what.startswith("memory") else "a "
    text = f"{place_of(change)} holds {article}{what}: {quoted(pair[0])} on tape, {quoted(pair[1])} now."
    entry = normalizer(leak, change, pair, scene)
    advice = f"{leak.advice} Or add a normalizer to pyproject.toml:\n{entry}" if entry else leak.advice
    return Cause(leak.slug, text, advice)
