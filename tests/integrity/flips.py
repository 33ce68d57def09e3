"""Bits of a tape turned over, one at a time, and files cut off: is each found?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reenact.errors import TapeError
from reenact.tape.check import State, check
from reenact.tape.reader import read
from reenact.tape.recording import Recording

Finds = Callable[[Path], bool]


@dataclass
class Count:
    """How many were tried, and which of them nobody noticed."""

    tried: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def found(self) -> int:
        return self.tried - len(self.missed)

    def tell(self, what: str, *, found: bool) -> None:
        self.tried += 1
        if not found:
            self.missed.append(what)


def refused(path: Path) -> bool:
    """Whether nobody reads that: what `verify`, `replay` and `show` do first."""
    try:
        read(path)
    except TapeError:
        return True
    return False


def damaged(path: Path) -> bool:
    """Whether `fsck` says so."""
    return check(path, _never).state is State.DAMAGED


def _never(path: Path, _status: int | None) -> Recording:
    raise AssertionError(f"{path} was taken for one that is not closed")


def flipped(path: Path, bits: Iterable[int], finds: Finds) -> Count:
    """Turns each of these bits, asks, and turns it back."""
    count = Count()
    with path.open("r+b", buffering=0) as file:

        def put(at: int, byte: int) -> None:
            file.seek(at)
            file.write(bytes([byte]))

        for bit in bits:
            file.seek(bit // 8)
            byte = file.read(1)[0]
            put(bit // 8, byte ^ 1 << bit % 8)
            try:
                count.tell(f"bit {bit % 8} of byte {bit // 8}", found=finds(path))
            finally:
                put(bit // 8, byte)
    return count


def cut(path: Path, sizes: Iterable[int], finds: Finds) -> Count:
    """Cuts the file off after so many bytes, asks, and makes it whole again."""
    count, whole = Count(), path.read_bytes()
    for size in sizes:
        path.write_bytes(whole[:size])
        count.tell(f"cut off after {size} bytes", found=finds(path))
    path.write_bytes(whole)
    return count
