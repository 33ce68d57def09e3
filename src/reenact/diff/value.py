"""Where two texts differ that may be JSON."""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from reenact.diff.change import Change, Kind
from reenact.diff.document import json_changes
from reenact.diff.text import text_changes

_MOST: Final = 32


def value_changes(before: str, after: str) -> tuple[Change, ...]:
    """The places where two texts differ: by JSON pointer where both are objects or arrays, else by words.

    None where they are equal, or the same JSON written differently. At most 33, the last of kind ELIDED if there are
    more.
    """
    old, new = container(before), container(after)
    both = old is not None and new is not None
    changes = json_changes("", old, new) if both else text_changes("", before, after)
    found = tuple(islice(changes, _MOST))
    if next(changes, None) is not None:
        return (*found, Change("", None, None, Kind.ELIDED, note="more changes are not listed"))
    return found


def container(text: str) -> object:
    """The JSON object or array that a text is; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: object = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value
