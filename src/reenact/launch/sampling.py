"""Whether a run is recorded at all: reenact may be turned off, and a run may be left out of a sample.

Light, since what is not recorded should cost next to nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reenact import _real
from reenact.errors import UsageError

if TYPE_CHECKING:
    from reenact.launch.settings import Settings

ENABLED, SAMPLE = "REENACT_ENABLED", "REENACT_SAMPLE"
_OFF = ("false", "0", "off", "no")
_SALT = b"reenact sample\0"
_BYTES = 8


def is_off(environment: Mapping[str, str] = os.environ, what: str = ENABLED) -> bool:
    """Whether the environment turns reenact off: REENACT_ENABLED=false. Or another variable, `what` it stands for."""
    return environment.get(what, "").lower() in _OFF


def rate_of(given: object, whose: str = "sample") -> float:
    """The share of runs to record, from 0 to 1.

    Raises:
        UsageError: it is none. `whose` names where it was given.
    """
    try:
        rate = float(given) if isinstance(given, int | float | str) else math.nan
    except (ValueError, OverflowError):
        rate = math.nan
    if not 0 <= rate <= 1:
        raise UsageError(f"{whose} is the share of runs to record, a number from 0 to 1, and not {given!r}")
    return rate


def rate_around(settings: Settings | None = None) -> float:
    """The share that the environment asks for, else the project; else all.

    Raises:
        UsageError: what is asked for is no such share.
    """
    given = os.environ.get(SAMPLE, "")
    if given:
        return rate_of(given, SAMPLE)
    if settings is None:
        from reenact.launch.settings import Settings  # noqa: PLC0415  not where the environment says it

        settings = Settings.near(Path.cwd())
    return settings.sample


def is_sampled(rate: float, session: str = "") -> bool:
    """Whether a run is among that share. All runs of a session are, or none, so that a conversation is whole.

    The program's own random numbers are not touched.
    """
    if not 0 < rate < 1:
        return rate > 0
    if session:
        import hashlib  # noqa: PLC0415  as above

        place = hashlib.sha256(_SALT + session.encode("utf-8", "surrogatepass")).digest()[:_BYTES]
    else:
        place = _real.urandom(_BYTES)
    return int.from_bytes(place, "big") < math.ldexp(rate, 8 * _BYTES)
