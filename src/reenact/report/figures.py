"""Numbers, and paths, as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reenact.report.terminal import plain
from reenact.tape.recording import Recording

_UNITS = ("kB", "MB", "GB", "TB")


def seconds(ns: int) -> str:
    """A duration: whole milliseconds, tenths of a second, or two units."""
    if ns < 999_500_000:
        return f"{max(ns, 0) / 1e6:.0f} ms"
    if ns < 59_950_000_000:
        return f"{ns / 1e9:.1f} s"
    minutes, rest = divmod(round(ns / 1e9), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def size(count: int) -> str:
    """A number of bytes, in powers of 1000."""
    if count < 1000:
        return counted(count, "byte")
    value, step = count / 1000, 0
    while value >= 999.95 and step < len(_UNITS) - 1:
        value, step = value / 1000, step + 1
    return f"{value:.1f} {_UNITS[step]}"


def counted(number: int, noun: str) -> str:
    """`3 events`, `1 event`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {_plural(noun)}"


def tagged(tags: Mapping[str, str]) -> str:
    """Tags as one writes them on a command line."""
    return plain(" ".join(f"{key}={value}" if value else key for key, value in tags.items()))


def inside(path: str, folder: str) -> str:
    """A path, from the folder where it is inside of it."""
    return str(Path(path).relative_to(folder)) if folder and Path(path).is_relative_to(folder) else path


def lasted(recording: Recording) -> int:
    """How long the recorded program ran, in ns; until its last sign of life when it was killed."""
    if recording.ended is not None:
        return recording.ended.at
    return max((event.ended or event.at for event in recording.events), default=0)


def _plural(noun: str) -> str:
    head, of, tail = noun.partition(" of ")
    return f"{head}{'es' if head.endswith(('s', 'ch')) else 's'}{of}{tail}"
