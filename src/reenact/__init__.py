"""reenact: record an agent run once, replay it bit-exact and offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reenact.api import record, tool

__version__ = "0.1.0"
__all__ = ["__version__", "record", "tool"]

_HOMES = {"record": "reenact.api", "tool": "reenact.api"}


def __getattr__(name: str) -> Any:
    """Loads a name's home when it is first asked for, so that `import reenact` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'reenact' has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return getattr(importlib.import_module(_HOMES[name]), name)
