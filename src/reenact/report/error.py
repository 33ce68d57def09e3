"""An error of ours as a person reads it: what is wrong, what to do, and where more of it stands."""

from __future__ import annotations

import textwrap
from typing import Final

from reenact.report.terminal import Paint, plain

PAGE: Final = "docs/errors.md"


def text(slug: str, message: str, *, width: int, paint: Paint, usage: str = "") -> str:
    """The error for a terminal of so many columns, ending in a line break. Names and paths are not broken."""
    head = f"error[{slug}]:"
    first, *rest = textwrap.wrap(
        f"{head} {plain(message)}",
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [paint.strong.bad(head) + first.removeprefix(head), *rest]
    lines += [f"  {usage}"] if usage else []
    return "\n".join([*lines, paint.dim(f"  see {PAGE}#{slug}"), ""])
