"""One line of the table: what was measured, what it is compared with, and what was wanted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import comb

_OUTSIDE = 0.05  # of all cases the median lies outside of its interval in so many


class Unit(Enum):
    """What a number counts; the value is a ladder of factors and names."""

    NS = ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
    BYTES = ((1, "B"), (1e3, "kB"), (1e6, "MB"))
    COUNT = ((1, ""),)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of ns, of bytes, or of things."""

    value: float
    unit: Unit = Unit.NS

    def __str__(self) -> str:
        steps = self.unit.value
        factor, name = next((step for step in reversed(steps) if abs(self.value) >= step[0]), steps[0])
        value = self.value / factor
        return (f"{value:.3g} {name}" if abs(value) < 999.5 else f"{value:,.0f} {name}").strip()


@dataclass(frozen=True, slots=True)
class AtMost:
    """The measured quantity may be no more than this."""

    limit: Quantity

    def __str__(self) -> str:
        return f"≤ {self.limit}"


@dataclass(frozen=True, slots=True)
class AtMostTimes:
    """The ratio may be no more than this."""

    limit: float

    def __str__(self) -> str:
        return f"≤ {self.limit:g} ×"


class Verdict(Enum):
    """Whether a target was met: by all of the interval of the median. Undetermined when by some of it."""

    MET = "met"
    MISSED = "**not met**"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Figure:
    """`ratio` relates what was measured to `reference`, both from the same run.

    `runs` are the values of the single runs, of what the target judges: ns or bytes, or ratios.
    """

    group: str
    what: str
    measured: Quantity
    reference: str
    ratio: float
    target: AtMost | AtMostTimes | None = None
    runs: tuple[float, ...] = ()

    @property
    def spread(self) -> str:
        """The interval of the median of the runs; empty where there was one."""
        if len(self.runs) < 2:
            return ""
        low, high = interval(self.runs)
        if isinstance(self.target, AtMostTimes):
            return f"{low:.2f} – {high:.2f} ×"
        return f"{Quantity(low, self.measured.unit)} – {Quantity(high, self.measured.unit)}"

    @property
    def verdict(self) -> Verdict | None:
        """None where there is no target."""
        match self.target:
            case None:
                return None
            case AtMost(limit):
                (low, high), most = interval(self.runs or (self.measured.value,)), limit.value
            case AtMostTimes(limit):
                (low, high), most = interval(self.runs or (self.ratio,)), limit
        if high <= most:
            return Verdict.MET
        return Verdict.MISSED if low > most else Verdict.UNDETERMINED


def interval(runs: Sequence[float]) -> tuple[float, float]:
    """Where the median of what the runs are a sample of lies, in 95 of 100 cases: the smallest and the largest of few.

    The narrowest one that is as far from both ends of their order, without any assumption on how they spread
    (Conover, Practical Nonparametric Statistics, 3.2). Six runs are the fewest that have one.
    """
    ordered, left = sorted(runs), 0
    while 2 * sum(comb(len(ordered), below) for below in range(left + 2)) <= _OUTSIDE * 2 ** len(ordered):
        left += 1
    return ordered[left], ordered[len(ordered) - 1 - left]


def compared(group: str, what: str, measured: Quantity, reference: Quantity, name: str) -> Figure:
    """A figure whose ratio is measured / reference."""
    return Figure(group, what, measured, f"{name} {reference}", measured.value / reference.value)
