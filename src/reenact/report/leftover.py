"""What a crash has left beside tapes, one line for each."""

from __future__ import annotations

from reenact.launch.leftovers import Leftover
from reenact.report import document
from reenact.report.terminal import plain


def text(left: Leftover) -> str:
    """What it is, and what has become of it."""
    why = f" ({left.why})" if left.why else ""
    return f"{_state(left):<5}    {plain(left.path.name)}: {left.what}{plain(why)}"


def json(left: Leftover) -> bytes:
    """The same as one JSON object; its `state` is "swept" or "kept"."""
    told = {"path": str(left.path), "state": _state(left), "what": left.what, "why": left.why}
    return document.encode(told)


def _state(left: Leftover) -> str:
    return "swept" if left.swept else "kept"
