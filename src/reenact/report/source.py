"""Lines of a program's source, with a sign at the one where it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from reenact.report.terminal import Paint, clip, plain


def source(
    lines: Sequence[str], first: int, here: int, *, width: int, paint: Paint, stops: Collection[int] = ()
) -> Iterator[str]:
    """The lines, of which the first has that number. `→` is at the line `here`, `●` at those that are stopped at."""
    gutter = len(str(first + len(lines) - 1))
    for number, line in enumerate(lines, first):
        row = clip(f"{number:>{gutter}} │ {plain(line.expandtabs(4))}", width - 4)
        sign = paint.bad("●") if number in stops else " "
        yield f"{sign} {paint.warn('→')} {row}" if number == here else f"{sign}   {paint.dim(row)}"
