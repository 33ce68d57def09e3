"""The body of an answer as it came: in chunks, in a coding, as a stream of events. Cleaned, it is as long as before."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from reenact.tape.packed import repacked, unpacked
from reenact.tape.spelled import checked, clean_events, is_of_whole_events, spelled_in

_FIRST: Final = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[^\r\n]*)?\r\n")
_NEXT: Final = re.compile(rb"\r\n" + _FIRST.pattern)
# Of a head in small letters
_CHUNKED: Final = re.compile(rb"\"framing\":\s*\"chunked\"|transfer-encoding: *chunked")
_CODED: Final = re.compile(rb"content-encoding[\"']?\s*[,:]\s*[\"']?(?!identity)([\w, -]+)")
_SPECIAL: Final = (b"framing", b"encoding", b"stream", b"jsonl", b"ndjson", b"websocket")
_EVENTS: Final = re.compile(
    rb"text/event-stream|vnd\.amazon\.eventstream|application/(?:x-)?(?:ndjson|jsonl|jsonlines|stream\+json)"
)
_MESSAGES: Final = b"sec-websocket-accept"


class Cleaner(Protocol):
    """Who knows the secrets, see `vault.Vault`."""

    def clean(self, data: bytes) -> bytes:
        """The same without secrets, as long as it was."""

    def discover(self, data: bytes) -> None:
        """Learns what in it is one."""

    def stands_in(self, data: bytes) -> bool:
        """Whether something in it stands for a secret."""

    def spoil(self) -> None:
        """What stands for a secret in an answer is not what stands for it elsewhere."""


class Written(NamedTuple):
    """What a head says of how the body is written: `coding` is the one that it is packed in."""

    chunked: bool
    events: bool
    messages: bool
    coding: str


@functools.lru_cache(64)  # of an answer that is asked several times
def written(head: bytes) -> Written:
    """What a head says."""
    lower = head.lower()
    coded = _CODED.search(lower)
    return Written(
        chunked=_CHUNKED.search(lower) is not None,
        events=_EVENTS.search(lower) is not None,
        messages=_MESSAGES in lower,
        coding=coded[1].decode("latin-1").strip() if coded is not None else "",
    )


def is_special(head: bytes) -> bool:
    """Whether a head may say that the body is more than a text."""
    lower = head.lower()
    for word in _SPECIAL:  # noqa: SIM110  a generator costs more than what it asks, and this is asked of each answer
        if word in lower:
            return True
    return False


def is_seen_whole(head: bytes) -> bool:
    """Whether what is in an answer is seen only when all of it has come: it is packed, or spells texts over events."""
    return is_packed(head) or written(head).events


def is_packed(head: bytes) -> bool:
    """Whether what comes after it is in a coding."""
    return written(head).coding != ""


def is_of_messages(head: bytes) -> bool:
    """Whether what comes after it are the frames of a WebSocket."""
    return written(head).messages


def clean_body(body: bytes, head: bytes, vault: Cleaner) -> bytes:
    """What came of an answer, cleaned, as long as it was; `head` says how it is written."""
    chunked, events, _, coding = written(head)
    framing = [*_framing(body)] if chunked else []
    plain = body
    for start, end in reversed(framing):
        plain = plain[:start] + plain[end:]
    cleaned = _clean_coded(plain, coding, vault, events=events) if coding else _clean_plain(plain, vault, events=events)
    if cleaned == plain:
        return body if not framing else vault.clean(body)
    for start, end in framing:
        cleaned = cleaned[:start] + body[start:end] + cleaned[start:]
    return cleaned


def said(body: bytes, head: bytes) -> Iterator[bytes]:
    """What came of an answer as a reader of it has it: without its chunks, unpacked, and what its events spell."""
    chunked, events, _, coding = written(head)
    framing = [*_framing(body)] if chunked else []
    for start, end in reversed(framing):
        body = body[:start] + body[end:]
    plain = unpacked(coding, body) if coding else body
    yield plain or body
    if plain and events:
        yield from spelled_in(plain)


def ends_within(body: bytes, head: bytes) -> bool:
    """Whether what came of an answer ends within an event, whose texts nobody has seen yet."""
    chunked, events, *_ = written(head)
    if not events:
        return False
    for start, end in reversed([*_framing(body)] if chunked else []):
        body = body[:start] + body[end:]
    return not is_of_whole_events(body)


def _framing(body: bytes) -> Iterator[tuple[int, int]]:
    """Where the sizes of chunks stand, and what follows on the last (RFC 9112, 7.1)."""
    size = _FIRST.match(body) or _NEXT.search(body)  # the latter where it begins within a chunk
    while size is not None:
        start, end = size.span()
        at = end + int(size[1], 16)
        yield start, end if at > end else len(body)
        size = _NEXT.match(body, at) if at > end else None


def clean_begun(body: bytes, head: bytes, vault: Cleaner) -> bytes:
    """As `clean_body`, of some of it: of what is packed nothing can be told."""
    return body if is_packed(head) else clean_body(body, head, vault)


def _clean_coded(data: bytes, coding: str, vault: Cleaner, *, events: bool) -> bytes:
    """What is packed, looked into; packed anew to the same length where there is a secret in it."""
    plain = unpacked(coding, data)
    if plain is None:
        return vault.clean(data)
    vault.discover(plain)
    cleaned = _clean_plain(plain, vault, events=events)
    if cleaned == plain:
        return data
    packed = repacked(coding, cleaned, len(data))
    if packed is not None:
        return packed
    vault.spoil()
    return repacked(coding, _blunt(cleaned, plain), len(data)) or bytes(len(data))


def _clean_plain(data: bytes, vault: Cleaner, *, events: bool) -> bytes:
    cleaned = vault.clean(data)
    return checked(clean_events(cleaned, vault), data, vault) if events else cleaned


def _blunt(cleaned: bytes, plain: bytes) -> bytes:
    """With letters in the place of a secret that pack better than any: what is all the same is short."""
    return bytes(
        one if one == other else b"0"[0] if b"0"[0] <= one <= b"9"[0] else b"x"[0]
        for one, other in zip(cleaned, plain, strict=True)
    )
