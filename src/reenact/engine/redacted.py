"""Comparing with a tape from which secrets were taken: where it holds what stands for one, the run may have the secret.

Mostly it does not: a replay gives the program what stands for its secrets. But one that stands in the program's own
source, or that it makes itself, is there again. It is compared by its length and place, and is then the same wherever
it comes again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from reenact.engine.divergence import Request


class Redactions:
    """What stands for secrets on one tape. `bind` is told which secret that is, once the run has shown it."""

    def __init__(self, placeholders: Collection[bytes], bind: Callable[[bytes, bytes], None]) -> None:
        ordered = sorted(placeholders, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None
        self._longest = len(ordered[0]) if ordered else 0
        self._bind = bind
        self._bound: dict[bytes, bytes] = {}

    def fits(self, expected: bytes, actual: bytes) -> bool:
        """Whether they are equal but for secrets."""
        if expected == actual:
            return True
        return len(expected) == len(actual) and self._fits(expected, actual, 0)

    def continues(self, expected: bytes | bytearray, start: int, actual: bytes) -> bool:
        """Whether `actual` is what `expected` holds from `start` on, but for secrets, which may begin before that."""
        if self._pattern is None or start + len(actual) > len(expected):
            return False
        first = max(0, start - self._longest)
        around = bytes(expected[first : start + len(actual) + self._longest])
        return self._fits(around, actual, start - first)

    def _fits(self, expected: bytes, actual: bytes, start: int) -> bool:
        if self._pattern is None:
            return False
        found: dict[bytes, bytes] = {}
        at = start
        for match in self._pattern.finditer(expected):
            begin, end = max(match.start(), start), min(match.end(), start + len(actual))
            if begin >= end:
                continue
            if expected[at:begin] != actual[at - start : begin - start]:
                return False
            secret, whole = actual[begin - start : end - start], (begin, end) == match.span()
            known = self._bound.get(match[0], found.get(match[0]))
            if whole and known is not None and secret not in (known, match[0]):
                return False
            if whole and secret != match[0]:
                found[match[0]] = secret
            at = end
        if expected[at : start + len(actual)] != actual[at - start :]:
            return False
        for stands, secret in found.items():
            if stands not in self._bound:
                self._bound[stands] = secret
                self._bind(secret, stands)
        return True

    def fit(self, expected: Request, actual: Request) -> bool:
        """As `fits`, of requests."""
        return (
            self._pattern is not None
            and expected.method == actual.method
            and [name for name, _ in expected.headers] == [name for name, _ in actual.headers]
            and all(
                self.fits(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
                for one, other in zip(_texts(expected), _texts(actual), strict=True)
            )
            and self.fits(expected.body, actual.body)
        )


def _texts(request: Request) -> list[str]:
    return [request.url, *(value for _, value in request.headers)]
