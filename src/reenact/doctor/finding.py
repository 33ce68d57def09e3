"""What a doctor says: findings, each with how it was seen, so that nobody takes a guess for a fact."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from reenact.engine.divergence import Site

FORMAT: Final = 1


class Severity(StrEnum):
    """How bad it is, the worst first."""

    BREAKS = "breaks"  # a replay fails, or the tape does not hold what it needs
    MAY = "may"  # a replay may fail, today or another time
    NOTE = "note"  # worth knowing


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing. `what` it is, `where`, how it was `seen`, `why` it matters, what to `do`.

    `where` is a line of the program's own, or None where only `place` is known: a file, a call, a library.
    """

    severity: Severity
    slug: str
    what: str
    where: Site | None = None
    place: str = ""
    seen: str
    why: str
    do: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one question. `looked_at` is what was looked at, `not_looked_at` what could not be and why."""

    doctor: int = FORMAT
    subject: str
    findings: list[Finding]
    looked_at: list[str]
    not_looked_at: list[str] = []

    @property
    def breaks(self) -> bool:
        """Whether a finding would break a replay."""
        return any(finding.severity is Severity.BREAKS for finding in self.findings)


def ranked(findings: list[Finding]) -> list[Finding]:
    """The worst first, else in the order given; none twice."""
    order = list(Severity)
    unique: dict[object, Finding] = {}
    for finding in findings:
        unique.setdefault((finding.slug, finding.what, finding.where, finding.place), finding)
    return sorted(unique.values(), key=lambda one: order.index(one.severity))
