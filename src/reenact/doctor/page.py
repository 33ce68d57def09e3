"""A diagnosis as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reenact.doctor.finding import Diagnosis, Finding, Severity
from reenact.report.figures import counted, inside
from reenact.report.terminal import GUTTER, Paint, clip, labelled, plain, wrapped

_SOUND: Final = "SOUND"
_VERDICTS: Final = {Severity.BREAKS: "WOULD BREAK", Severity.MAY: "MAY BREAK", Severity.NOTE: _SOUND}
_WORDS: Final = {
    Severity.BREAKS: "would break a replay",
    Severity.MAY: "may break one",
    Severity.NOTE: "worth knowing",
}


def text(diagnosis: Diagnosis, *, cwd: str, width: int, paint: Paint) -> Iterator[str]:
    """The findings one by one, then what was looked at."""
    yield from _headline(diagnosis, width, paint)
    for finding in diagnosis.findings:
        yield ""
        yield from _finding(finding, cwd, width, paint)
    yield ""
    for label, items in (("looked at", diagnosis.looked_at), ("not looked at", diagnosis.not_looked_at)):
        rows = [row for item in items for row in wrapped(item, width - GUTTER - 2)]
        yield from labelled(label, rows, GUTTER, paint.bold)


def _headline(diagnosis: Diagnosis, width: int, paint: Paint) -> list[str]:
    counts = [(severity, sum(one.severity is severity for one in diagnosis.findings)) for severity in Severity]
    told = [f"{counted(count, 'finding')} {_WORDS[severity]}" for severity, count in counts if count]
    word = next((_VERDICTS[severity] for severity, count in counts if count), _SOUND)
    line = f"{word}  {plain(diagnosis.subject)}: {', '.join(told) or 'nothing found that would break a replay'}"
    first, *rest = wrapped(line, width)
    strong = paint.strong
    painted = strong.bad(word) if diagnosis.breaks else strong.good(word) if word == _SOUND else strong.warn(word)
    return [painted + first.removeprefix(word), *(f"  {row}" for row in rest)]


def _finding(finding: Finding, cwd: str, width: int, paint: Paint) -> Iterator[str]:
    mark = finding.severity.value
    colored = {Severity.BREAKS: paint.bad, Severity.MAY: paint.warn, Severity.NOTE: paint.dim}[finding.severity]
    rows = wrapped(finding.what, width - GUTTER - 2)
    yield from labelled(mark, rows, GUTTER, colored)
    where = finding.where
    if where is not None:
        function = f" in {plain(where.function)}" if where.function else ""
        at = f"{plain(inside(where.file, cwd))}:{where.line}{function}"
        source = [clip(plain(where.source.strip()), width - GUTTER - 2)] if where.source.strip() else []
        yield from labelled("where", [at, *source], GUTTER, paint.bold)
    elif finding.place:
        yield from labelled("where", wrapped(finding.place, width - GUTTER - 2), GUTTER, paint.bold)
    told = (("seen", finding.seen), ("why", finding.why), ("what to do", finding.do))
    for label, paragraph in told:
        rows = [row for line in paragraph.split("\n") for row in wrapped(line, width - GUTTER - 2)]
        yield from labelled(label, rows, GUTTER, paint.bold)
