"""The hash seed of a process: by it sets of texts have their order."""

from __future__ import annotations

from reenact import _real

NAME = "PYTHONHASHSEED"
_LARGEST = 4_294_967_295


def chosen(given: str | None) -> str:
    """The one that its user has chosen, or any."""
    if given is not None and given.isdigit():
        return given
    return str(int.from_bytes(_real.urandom(4), "big") % _LARGEST)
