"""One line of the table: what was measured, what it is compared with, and what was wanted of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
    """Whether a target was met; undetermined when some runs met it and others did not."""

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
        """The smallest and the largest of the runs; empty where there was one."""
        if len(self.runs) < 2:
            return ""
        low, high = min(self.runs), max(self.runs)
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
                judged, most = self.runs or (self.measured.value,), limit.value
            case AtMostTimes(limit):
                judged, most = self.runs or (self.ratio,), limit
        if max(judged) <= most:
            return Verdict.MET
        return Verdict.MISSED if min(judged) > most else Verdict.UNDETERMINED


def compared(group: str, what: str, measured: Quantity, reference: Quantity, name: str) -> Figure:
    """A figure whose ratio is measured / reference."""
    return Figure(group, what, measured, f"{name} {reference}", measured.value / reference.value)
