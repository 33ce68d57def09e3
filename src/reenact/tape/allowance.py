"""How much a tape may take up in memory: so much for each byte that it has on disk, and some more.

zstd makes up to 30,000 bytes of one, and msgpack of each of these an object of some hundred: 100 kB of a stranger could
fill any memory. What a recording writes stays far below; who has one that does not can say so.
"""

from __future__ import annotations

import os
from typing import Final

from reenact.errors import TapeTooLargeError

LIMIT: Final = "REENACT_TAPE_LIMIT"
"""The environment variable that says how many bytes a tape of any size may unpack to."""

BYTES, BYTES_EACH = 1 << 30, 64
VALUES, VALUES_EACH = 1 << 22, 4

# How many bytes of a msgpack value come after its first one, and those of the length that stands there.
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_EXTENSIONS = {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_CONTAINERS = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
_SKIPPED: Final = _FIXED | _EXTENSIONS | _CONTAINERS
_LENGTHS: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_LENGTHS_OF_EXTENSIONS: Final = {0xC7: 1, 0xC8: 2, 0xC9: 4}


class Allowance:
    """What is left of it to one tape, which is read piece by piece."""

    def __init__(self) -> None:
        chosen = os.environ.get(LIMIT, "")
        self._chosen = int(chosen) if chosen.isascii() and chosen.isdigit() and len(chosen) < 19 else 0
        self._bytes = max(self._chosen, BYTES)
        self._values = max(self._chosen, VALUES)

    def grow(self, on_disk: int) -> None:
        """So many bytes more are on disk."""
        self._bytes += on_disk * BYTES_EACH
        self._values += on_disk * VALUES_EACH

    @property
    def room(self) -> int:
        """How many bytes more it may unpack to."""
        return self._bytes

    def spend(self, plain: bytes) -> None:
        """It has unpacked to these, which are msgpack and about to be read.

        Raises:
            TapeTooLargeError: that is too much.
        """
        self._bytes -= len(plain)
        # to count takes time, and need not be: there are no more values than bytes
        self._values -= len(plain) if len(plain) <= self._values else values_in(plain, self._values)
        if self._bytes < 0 or self._values < 0:
            raise self.exceeded()

    def exceeded(self) -> TapeTooLargeError:
        """The error that says so."""
        return TapeTooLargeError(
            "it unpacks to far more than a recording of its size does, as if it were made to fill the memory. "
            f"If it is your own, say how many bytes it may unpack to: {LIMIT}={max(self._chosen, BYTES) * 4}"
        )


def values_in(plain: bytes, most: int) -> int:
    """How many values stand in msgpack, however they are nested; not counted further than one beyond `most`."""
    at = count = 0
    while at < len(plain) and count <= most:
        first = plain[at]
        at += 1
        count += 1
        if 0xA0 <= first < 0xC0:
            at += first & 0x1F
        elif 0xC4 <= first < 0xE0:
            length = _LENGTHS.get(first) or _LENGTHS_OF_EXTENSIONS.get(first)
            if length is None:
                at += _SKIPPED[first]
            else:
                at += length + int.from_bytes(plain[at : at + length]) + (first in _LENGTHS_OF_EXTENSIONS)
    return count
