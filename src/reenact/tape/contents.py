"""What is redacted because the user asks for it: matches of patterns, and data of persons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reenact.errors import UsageError


class Contents:
    """Finds it. `patterns` are regular expressions for text; a match of one with a group is what the group matched."""

    def __init__(self, patterns: Sequence[str] = (), *, pii: bool = False) -> None:
        self.patterns = list(patterns)
        self.pii = pii
        self._compiled = [_compiled(pattern) for pattern in patterns]
        if pii:
            from reenact.tape import persons  # noqa: PLC0415  an extra

            self._persons = persons.found

    def __call__(self, data: bytes) -> Iterator[bytes]:
        """What in it is to be redacted."""
        for pattern in self._compiled:
            for match in pattern.finditer(data):
                found = match[match.lastindex or 0]
                if found and len(found) > 1:
                    yield found
        if self.pii:
            yield from self._persons(data)


def _compiled(pattern: str) -> re.Pattern[bytes]:
    try:
        made = re.compile(pattern.encode(), re.MULTILINE)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no regular expression: {error}") from error
    if made.match(b"") is not None:
        raise UsageError(f"{pattern!r} matches nothing at all, and so everywhere: it cannot say what to redact")
    return made
