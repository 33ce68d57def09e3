"""Bytes that are put together of pieces of others, and have them in common with these."""

from __future__ import annotations

from collections.abc import Iterator

_MOST = 128  # pieces


class Spliced:
    """Some bytes. They are copied when there are too many pieces."""

    __slots__ = ("_pieces", "_size")

    def __init__(self, pieces: list[bytes | memoryview]) -> None:
        self._size = sum(map(len, pieces))
        self._pieces = [b"".join(pieces)] if len(pieces) > _MOST else pieces

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)  # which copies nothing where it is one piece, and bytes

    def around(self, prefix: int, middle: bytes, suffix: int) -> Spliced:
        """The first and the last of these, so many of each, with others between them."""
        return Spliced([*self._cut(0, prefix), middle, *self._cut(self._size - suffix, self._size)])

    def _cut(self, start: int, stop: int) -> Iterator[bytes | memoryview]:
        at = 0
        for piece in self._pieces:
            first, last = max(start - at, 0), min(stop - at, len(piece))
            if last - first == len(piece):
                yield piece
            elif first < last:
                yield memoryview(piece)[first:last]
            at += len(piece)
