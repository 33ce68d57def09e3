"""What is a run's own in the texts that it asks, hears and writes: its times, its ids, its addresses and folders.

No two runs have them in common, so two texts that differ in nothing else say the same. Only what the run is known to
have made is taken for its own: a date that lies elsewhere, or an id that came from outside, is what somebody said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from reenact.providers import ToolCall, ToolResult
from reenact.tape.event import DrawKind
from reenact.tape.recording import Recording
from reenact.trajectory.decision import Step

_WORD: Final = re.compile(
    r"(?P<address>\b0x[0-9a-fA-F]{6,16}\b)"
    r"|(?P<port>(?:\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)|\[::1\]):\d{2,5}\b)"
    r"|(?P<folder>(?:/private)?/(?:var/)?tmp/tmp[a-z0-9_]{8}\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z\b|[+-]\d\d:?\d\d\b)?)?)"
    r"|(?P<epoch>(?<![\w.])(?:\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19})(?![\w.]))"
    r"|(?P<id>[A-Za-z0-9_-]{6,})"
)
_UNITS: Final = {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}
_SLACK: Final = 60 * 10**9
_ZONES: Final = timedelta(hours=14)
_UUID: Final = 16
_LEAST: Final = 4  # bytes that are drawn at once, and so tell one run from another


class Own:
    """What is one run's own. `started` is ns since 1970, `lasted` ns; `cwd` is where it ran."""

    def __init__(self, ids: Iterable[str], started: int, lasted: int, cwd: str) -> None:
        self._ids = frozenset(one for one in ids if len(one) >= 6)
        self._first, self._last = started - _SLACK, started + lasted + _SLACK
        self._cwd = cwd if len(cwd) > 1 else ""

    def without(self, text: str) -> str:
        """The text with a sign in the place of each of its own."""
        if self._cwd and self._cwd in text:
            text = re.sub(rf"{re.escape(self._cwd)}(?![\w-])", "<folder>", text)
        return _WORD.sub(self._sign, text)

    def _sign(self, found: re.Match[str]) -> str:
        sort, word = found.lastgroup, found[0]
        match sort:
            case "time":
                own = self._is_now(word)
            case "epoch":
                whole = word.partition(".")[0]
                own = self._first <= int(whole) * _UNITS[len(whole)] <= self._last
            case "id":
                own = word in self._ids
            case _:
                own = True
        return f"<{sort}>" if own else word

    def _is_now(self, word: str) -> bool:
        """Whether that is while the run went on. A time without a zone may be of any."""
        try:
            moment = datetime.fromisoformat(word.replace(",", "."))
            around = timedelta(0) if moment.tzinfo is not None else _ZONES
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            first, last = (datetime.fromtimestamp(at // 10**9, UTC) for at in (self._first, self._last))
            if len(word) == len("2026-11-23"):
                return (first - around).date() <= moment.date() <= (last + around).date()
            return first - around <= moment <= last + around
        except (ValueError, OverflowError, OSError):
            return False


def own(recording: Recording, steps: Iterable[Step], started: int, lasted: int, cwd: str) -> Own:
    """What is that run's own: ids that it has drawn, or that models gave their calls."""
    return Own((*_drawn(recording), *_given(steps)), started, lasted, cwd)


def _drawn(recording: Recording) -> Iterator[str]:
    for lane in recording.lanes.values():
        for (kind, _), values in lane.draws.items():
            if kind not in (DrawKind.UUID, DrawKind.ENTROPY):
                continue
            for value in values:
                if isinstance(value, bytes) and len(value) >= _LEAST:
                    yield value.hex()
                    if len(value) == _UUID:
                        yield from uuids(value)


def uuids(value: bytes) -> Iterator[str]:
    """How one writes the UUID that 16 bytes are, and the one of version 4 that is made of them (RFC 9562, 5.4)."""
    made = bytearray(value)
    made[6], made[8] = made[6] & 0x0F | 0x40, made[8] & 0x3F | 0x80
    for each in (value, bytes(made)):
        digits = each.hex()
        yield from (digits, "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def _given(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        for message in (*step.news.messages, *filter(None, [step.answer])):
            yield from (part.id for part in message.parts if isinstance(part, ToolCall | ToolResult))
