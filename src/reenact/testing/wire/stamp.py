"""Ids and times of an answer: realistic to look at, and the same for the same seed and index."""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass
from email.utils import formatdate

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_EPOCH = 1_760_000_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """The identity of the answer to the `index`-th request of a server with this seed."""

    seed: int
    index: int

    @property
    def created(self) -> int:
        """When it was made, in whole seconds: one second after the answer before."""
        return _EPOCH + self.index

    @property
    def date(self) -> str:
        """The same as a Date header."""
        return formatdate(self.created, usegmt=True)

    def _number(self, prefix: str, slot: int) -> int:
        material = f"{self.seed}/{self.index}/{prefix}/{slot}".encode()
        return int.from_bytes(hashlib.sha512(material).digest(), "big")

    def base62(self, prefix: str, length: int, slot: int = 0) -> str:
        """The prefix and so many letters and digits (at most 80); `slot` tells several apart."""
        number = self._number(prefix, slot)
        letters: list[str] = []
        for _ in range(length):
            number, rest = divmod(number, 62)
            letters.append(_BASE62[rest])
        return prefix + "".join(letters)

    def hex(self, prefix: str, length: int, slot: int = 0) -> str:
        """The prefix and so many hexadecimal digits (at most 128)."""
        return prefix + f"{self._number(prefix, slot):0128x}"[:length]

    def uuid(self, slot: int = 0) -> str:
        """In the form of a UUID of version 4."""
        h = self.hex("", 30, slot)
        return f"{h[:8]}-{h[8:12]}-4{h[12:15]}-a{h[15:18]}-{h[18:30]}"
