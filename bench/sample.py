"""Numbers that stand for many."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent of all are no greater than (nearest rank)."""
    return sorted(values)[max(0, ceil(len(values) * percent / 100) - 1)]
