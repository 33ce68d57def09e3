"""Bodies as differences to earlier bodies.

An agent sends its whole history at every step. What is new in a body is found by comparing it in place with the
bodies sent before it (memcmp, no copies), so that storing costs as much as the news, not as the history.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from reenact.errors import TapeCorruptError
from reenact.tape.event import Delta
from reenact.tape.spliced import Spliced

MAX_BASES = 16
MAX_BASE_BYTES = 64 * 1024 * 1024
MIN_SHARED = 64
_AT_ONCE = 4096  # bytes of which the first that differs is found by arithmetic, in one step


class Secrets(Protocol):
    """Who knows where in a text secrets stand, see `vault.Vault`. `longest` is the length of the longest of them."""

    longest: int

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where they begin and end."""

    def holds(self, data: bytes) -> bool:
        """Whether there is one in it."""


class Bodies:
    """The recent bodies of one tape, by event. Writer and reader each hold one and forget in the same order.

    A writer lets go of a body before that when the next one of its lane has nearly all of it: it would hardly choose it
    again, and memory that is used anew at once is quick. Its place stays, empty, so that the order stays the same.
    """

    def __init__(self) -> None:
        self._bases: OrderedDict[int, bytes | Spliced] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._tails: dict[int, int] = {}
        self._bytes = 0

    def shrink(self, event: int, body: bytes, near: int, secrets: Secrets | None = None) -> Delta:
        """The body as a delta to a similar recent one; `near` is the event to try first (-1: none).

        What is taken over ends at none of the `secrets`: on tape something else stands in their place, as a whole.
        """
        body = bytes(body)  # of a subclass, whose methods need not be these
        best, prefix = -1, MIN_SHARED - 1
        for candidate in self._candidates(near):
            shared = _shared_prefix(self._base(candidate), body, prefix, self._tails.get(candidate, 0))
            if shared > prefix:
                best, prefix = candidate, shared
                if shared * 4 > len(body) * 3:
                    break
        delta = Delta(-1, 0, 0, body)
        if best >= 0:
            base = self._base(best)
            suffix = _shared_suffix(base, body, prefix, self._tails.get(best, 0))
            if secrets is not None and secrets.longest:
                prefix, suffix = _around_secrets(base, body, prefix, suffix, secrets)
            delta = Delta(best, prefix, suffix, body[prefix : len(body) - suffix])
            self._tails[event] = suffix
            if best == near and (prefix + suffix) * 8 > len(base) * 7:
                self._bases[best] = b""
        self._remember(event, body)
        return delta

    def restore(self, event: int, delta: Delta) -> bytes:
        """The body that a delta stands for. For the rest, as `splice`."""
        return bytes(self.splice(event, delta))

    def splice(self, event: int, delta: Delta) -> Spliced:
        """The same, and it has in common with the one that it builds on what is as it was there.

        Raises:
            TapeCorruptError: the delta points outside the body that it builds on.
        """
        body = Spliced([delta.middle])
        if delta.base >= 0:
            base = self._bases.get(delta.base)
            if base is None or min(delta.prefix, delta.suffix) < 0 or delta.prefix + delta.suffix > len(base):
                raise TapeCorruptError(f"event {event}: its body builds on bytes that are not on the tape")
            base = base if isinstance(base, Spliced) else Spliced([base])
            body = base.around(delta.prefix, delta.middle, delta.suffix)
        self._remember(event, body)
        return body

    def _base(self, event: int) -> bytes:
        base = self._bases[event] = bytes(self._bases[event])
        return base

    def _candidates(self, near: int) -> Iterator[int]:
        if near in self._bases:
            yield near
        for event in reversed(self._bases):
            if event != near:
                yield event

    def _remember(self, event: int, body: bytes | Spliced) -> None:
        if len(body) < MIN_SHARED:
            return
        self._bases[event] = body
        self._sizes[event] = len(body)
        self._bytes += len(body)
        while len(self._bases) > MAX_BASES or (self._bytes > MAX_BASE_BYTES and len(self._bases) > 1):
            forgotten, _ = self._bases.popitem(last=False)
            self._bytes -= self._sizes.pop(forgotten)
            self._tails.pop(forgotten, None)


def _shared_prefix(old: bytes, new: bytes, at_least: int, tail: int) -> int:
    """Length of the common prefix; 0 when it is not longer than `at_least`.

    Looks from the far end first: a growing history differs from its predecessor close to the predecessor's end, and
    most often just before the `tail` that the predecessor had in common with its own.
    """
    limit = min(len(old), len(new))
    view = memoryview(old)
    if limit <= at_least or not new.startswith(view[: max(at_least + 1, min(limit, MIN_SHARED))]):
        return 0
    high, low, back = limit, at_least, tail
    while high - back > at_least:
        if new.startswith(view[: limit - back]):
            low = limit - back
            break
        high = limit - back
        back = max(back * 16, 64)
    while high - low > _AT_ONCE:
        middle = (low + high + 1) // 2
        if new[low:middle] == old[low:middle]:
            low = middle
        else:
            high = middle - 1
    differing = int.from_bytes(old[low:high]) ^ int.from_bytes(new[low:high])
    return high - (differing.bit_length() + 7) // 8


def _shared_suffix(old: bytes, new: bytes, prefix: int, tail: int) -> int:
    """Length of the common suffix beyond the common prefix; most often it is as long as the predecessor's `tail`."""
    limit = min(len(old), len(new)) - prefix
    low, high = 0, min(limit, tail + MIN_SHARED)
    while old[len(old) - high :] == new[len(new) - high :]:
        low = high
        if high == limit:
            return low
        high = min(limit, high * 4)
    while high - low > _AT_ONCE:
        middle = (low + high + 1) // 2
        if old[len(old) - middle :] == new[len(new) - middle :]:
            low = middle
        else:
            high = middle - 1
    differing = int.from_bytes(old[len(old) - high : len(old) - low]) ^ int.from_bytes(
        new[len(new) - high : len(new) - low]
    )
    return low + ((differing & -differing).bit_length() - 1) // 8 if differing else high


def _edges(old: bytes, new: bytes, prefix: int, suffix: int, reach: int) -> Iterator[bytes]:
    """What stands where the new body takes over from the old one, and where it ends to: of both."""
    for text in (old, new):
        yield text[max(0, prefix - reach) : prefix + reach]
        yield text[max(0, len(text) - suffix - reach) : len(text) - suffix + reach]


def _around_secrets(old: bytes, new: bytes, prefix: int, suffix: int, secrets: Secrets) -> tuple[int, int]:
    """Prefix and suffix, shortened where one of them would end within a secret of the old body or of the new one."""
    reach = secrets.longest
    if not secrets.holds(b"\0".join(_edges(old, new, prefix, suffix, reach))):
        return prefix, suffix
    while True:
        before = prefix, suffix
        for text in (old, new):
            first = max(0, prefix - reach)
            for start, end in secrets.spans(text[first : prefix + reach]):
                if start < prefix - first < end:
                    prefix = first + start
            first = max(0, len(text) - suffix - reach)
            cut = len(text) - suffix - first
            for start, end in secrets.spans(text[first : len(text) - suffix + reach]):
                if start < cut < end:
                    suffix = max(0, len(text) - first - end)
        if (prefix, suffix) == before:
            return before
