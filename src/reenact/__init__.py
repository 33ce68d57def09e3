"""reenact: record an agent run once, replay it bit-exact and offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reenact.api import record, tool
    from reenact.marks import agent, current_run, session, step, tag

__version__ = "0.1.0"
__all__ = ["__version__", "agent", "current_run", "record", "session", "step", "tag", "tool"]

_HOMES = {
    **dict.fromkeys(("record", "tool"), "reenact.api"),
    **dict.fromkeys(("agent", "current_run", "session", "step", "tag"), "reenact.marks"),
}


def __getattr__(name: str) -> Any:
    """Loads a name's home when it is first asked for, so that `import reenact` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'reenact' has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found
