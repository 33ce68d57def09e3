"""Frames of a WebSocket (RFC 6455) that a client sends: under a mask, which stands before what it covers."""

from __future__ import annotations

from typing import Protocol

_FIRST = frozenset(fin | opcode for fin in (0x00, 0x80) for opcode in (0, 1, 2, 8, 9, 10))
_MASKED = 0x80
_LONGER = {126: 2, 127: 8}


class Cleaner(Protocol):
    """Who knows what is secret."""

    def discover(self, data: bytes) -> None:
        """Learns what in it is."""

    def clean(self, data: bytes) -> bytes:
        """The same without, as long as it was."""


def cleaned(data: bytes, cleaner: Cleaner) -> bytes:
    """What is sent, cleaned under its masks, where it is nothing but whole frames that are masked; else as it is."""
    spans = _spans(data)
    if not spans:
        return data
    out = bytearray(data)
    for start, end in spans:
        mask = data[start - 4 : start]
        plain = _masked(data[start:end], mask)
        cleaner.discover(plain)
        kept = cleaner.clean(plain)
        if kept != plain:
            out[start:end] = _masked(kept, mask)
    return bytes(out)


def _spans(data: bytes) -> list[tuple[int, int]]:
    found, at = [], 0
    while at + 2 <= len(data):
        if data[at] not in _FIRST or not data[at + 1] & _MASKED:
            return []
        size = data[at + 1] & 0x7F
        more = _LONGER.get(size, 0)
        if more:
            size = int.from_bytes(data[at + 2 : at + 2 + more], "big")
        start = at + 2 + more + 4
        found.append((start, start + size))
        at = start + size
    return found if at == len(data) else []


def _masked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    pad = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")
