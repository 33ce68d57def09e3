"""Moments as people read them, and as programs do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from reenact.report.figures import counted

SECOND: Final = 1_000_000_000
_DAY: Final = 86_400
_LATEST: Final = 253_370_764_800  # the year 9999: dates end with it


def offset(ns: int) -> str:
    """When something happened, from ns since the run began."""
    seconds = ns / SECOND
    if seconds < 99.995:
        return f"+{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"+{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"+{minutes}:{rest:02}"


def local(ns: int, *, seconds: bool = True) -> str:
    """A moment, from ns since 1970, in local time."""
    return _moment(ns).astimezone().strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def iso(ns: int) -> str:
    """A moment, from ns since 1970, in UTC as ISO 8601 has it."""
    return _moment(ns).isoformat(timespec="microseconds").replace("+00:00", "Z")


def ago(ns: int, now: int) -> str:
    """How long ago a moment was; empty where the date says more."""
    seconds = (now - ns) // SECOND
    if _DAY <= seconds < 7 * _DAY:
        return f"{counted(seconds // _DAY, 'day')} ago"
    for length, unit in ((3600, "h"), (60, "min")):
        if length <= seconds < _DAY:
            return f"{seconds // length} {unit} ago"
    return "just now" if 0 <= seconds < 60 else ""


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(min(max(ns // SECOND, 0), _LATEST), UTC).replace(microsecond=ns % SECOND // 1000)
