"""What was tried, and what came of it: what each of the long trials gives, and how it is told."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from reenact import _real


@dataclass(frozen=True, slots=True)
class Tally:
    """So many were `tried`, and `count` of them came to what `word` says; `wrong` tells what is not as it should be."""

    what: str
    tried: int
    count: int
    word: str
    wrong: Sequence[str] = ()
    told: str = ""
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """The count, and what else there is to tell."""
        return f"{self.count:,} {self.word}" + (f"; {self.told}" if self.told else "")

    def __str__(self) -> str:
        verdict = "" if not self.wrong else "   NOT AS IT SHOULD BE"
        return f"{self.what}: {self.tried:,} tried, {self.outcome} ({self.seconds:.1f} s){verdict}"


def timed(tallies: Iterable[Tally], out: TextIO = sys.stdout) -> Iterator[Tally]:
    """Each with the time that it took, told as soon as it is known."""
    began = _real.monotonic_ns()
    for tally in tallies:
        now = _real.monotonic_ns()
        told = replace(tally, seconds=(now - began) / 1e9)
        out.write("".join(f"{line}\n" for line in (str(told), *map("  {}".format, told.wrong))))
        out.flush()
        yield told
        began = _real.monotonic_ns()


def ended(tallies: Iterable[Tally]) -> int:
    """Tells each; the exit status of a command that does nothing else."""
    return int(any([tally.wrong for tally in timed(tallies)]))  # noqa: C419  all of them, not up to the first
