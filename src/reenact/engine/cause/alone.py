"""What one text looks like, where there is no other to compare it with: a guess, and said to be one."""

from __future__ import annotations

from typing import Final

from reenact.engine.cause.pattern import LEAKS
from reenact.engine.cause.words import quoted
from reenact.engine.divergence import Cause

_TELLING: Final = ("address", "temp-path", "uuid", "clock")


def looks_like(text: str) -> Cause | None:
    """The first thing that the text looks like and that differs from run to run."""
    for leak in LEAKS:
        match = leak.pattern.search(text) if leak.slug in _TELLING else None
        if match is not None:
            return Cause(leak.slug, f"From its look alone, {quoted(match[0])} may be a {leak.what}.", leak.advice)
    return None
