"""The marks that a replay should make again. They are matched as draws are, so that one more shifts no other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from reenact.tape.event import Mark, MarkKind
from reenact.tape.labels import Scalar
from reenact.tape.recording import Recording

Key = tuple[str, MarkKind, str]
"""Lane, kind and call site."""


class Expected:
    """The marks of a tape that are still to come. `drifts` is how those that came differ, with how often.

    What differs at one place is told once, as it was when it was first seen there. `fits` compares two values.
    """

    def __init__(self, tape: Recording, fits: Callable[[Scalar, Scalar], bool]) -> None:
        self._fits = fits
        self._coming: dict[Key, deque[Mark]] = {}
        self._told: dict[tuple[MarkKind, str, str], str] = {}
        self._whole = tape.closed_by_itself
        self.drifts: dict[str, int] = {}
        for path, lane in tape.lanes.items():
            for mark, place in lane.marks if not lane.beside else ():
                self._coming.setdefault((path, MarkKind(mark.kind), place), deque()).append(mark)

    def meet(self, key: Key, name: str, attributes: Mapping[str, Scalar]) -> None:
        """The run makes this mark."""
        coming = self._coming.get(key)
        what = _what(key[1], name, attributes)
        if not coming:
            if self._whole:
                self._drift(key, "more", f"{what} once more")
            return
        mark = coming.popleft()
        if not self._fits(mark.name, name):
            self._drift(key, "name", f"{what} in place of {_what(key[1], mark.name, mark.attributes)}")
        elif mark.attributes != attributes and (other := self._other(mark.attributes, attributes)):
            self._drift(key, "attributes", f"{what} with another {', '.join(other)}")

    def _other(self, one: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> list[str]:
        """The names of what differs."""
        both = one.keys() & other.keys()
        return sorted((one.keys() ^ other.keys()) | {name for name in both if not self._fits(one[name], other[name])})

    def end(self) -> dict[str, int]:
        """The run is over. All drifts, those for want of a mark among them."""
        for key, coming in self._coming.items():
            for mark in coming:
                self._drift(key, "less", f"{_what(key[1], mark.name, mark.attributes)} not again")
        self._coming.clear()
        return self.drifts

    def _drift(self, key: Key, sort: str, told: str) -> None:
        _, kind, place = key
        told = self._told.setdefault((kind, place, sort), f"{told} at {place}" if place else told)
        self.drifts[told] = self.drifts.get(told, 0) + 1


def _what(kind: MarkKind, name: str, attributes: Mapping[str, Scalar]) -> str:
    return f"marked {kind.name.lower()} {name or ', '.join(attributes)!r}"
