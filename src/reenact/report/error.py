"""An error of ours as a person reads it: what is wrong, what to do, and where more of it stands."""

from __future__ import annotations

import textwrap

from reenact.errors import PAGE
from reenact.report.terminal import Paint, plain


def text(slug: str, message: str, *, width: int | None, paint: Paint, usage: str = "") -> str:
    """The error, ending in a line break. At a terminal of so many columns it is wrapped; names and paths stay whole."""
    head = f"error[{slug}]:"
    whole = f"{head} {plain(message)}"
    wrapper = textwrap.TextWrapper(
        width or len(whole), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    first, *rest = wrapper.wrap(whole)
    lines = [paint.strong.bad(head) + first.removeprefix(head), *rest]
    lines += [f"  {usage}"] if usage else []
    return "\n".join([*lines, paint.dim(f"  see {PAGE}#{slug}"), ""])
