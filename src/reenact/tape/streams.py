"""Texts that are on tape in several records: the chunks of an answer, what is written to stdout, what a pipe gives.

A secret that is cut by the border of two records is found where these are put together, and each keeps its length.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from reenact.tape.event import LAST, Again, AnyRecord, Began, Changed, Content, Kind, Left, Part, PartKind, Saw, Wrote

Clean = Callable[[bytes], bytes]
Key = int | tuple[object, ...]

_CHUNK, _HEAD = PartKind.CHUNK, PartKind.HEAD
_IN_PIECES: Final = frozenset({Kind.STDIN, Kind.PIPE, Kind.SOCKET})
_FRAMING: Final = re.compile(rb"(?:\A|\r\n)[0-9a-fA-F]{1,8}(?:;[^\r\n]*)?\r\n")
_ENCODED: Final = re.compile(rb"content-encoding[\"']?\s*[,:]\s*[\"']?(gzip|x-gzip)", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\"framing\":\s*\"chunked\"|transfer-encoding: *chunked", re.IGNORECASE)
_MOST: Final = 64 * 1024 * 1024  # bytes that a compressed answer may unpack to and be looked into
_GZIP: Final = b"\x1f\x8b\x08"


class Cleaner(Protocol):
    """Who knows the secrets, see `vault.Vault`."""

    longest: int

    def clean(self, data: bytes) -> bytes:
        """The same without secrets, as long as it was."""

    def discover(self, data: bytes) -> None:
        """Learns what in it is one."""

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand."""


class Streams:
    """What the records of one journal have begun and not ended."""

    def __init__(self) -> None:
        self._named: dict[int, Key] = {}  # events whose value is a piece of something longer
        self._heads: dict[Key, bytes] = {}  # of answers that still come: what says how their bodies are written
        self._before: dict[Key, bytes] = {}  # the end of each, as it was
        self.torn = False  # a secret began in a record that had been written

    def cleaned(self, records: Sequence[AnyRecord], vault: Cleaner) -> Sequence[AnyRecord]:
        """The records with the texts that they are the pieces of cleaned; the same ones if nothing was in these."""
        changed: dict[int, AnyRecord] = {}
        pieces, over = self._pieces(records)
        for key, places in pieces.items():
            if len(places) == 1 and key in over and key not in self._before and key not in self._heads:
                continue  # it is cleaned as it stands
            parts = [_data(records[at]) for at in places]
            news = self._cleaned(key, parts, vault, goes_on=key not in over)
            for at, old, new in zip(places, parts, news, strict=True):
                if old != new:
                    changed[at] = _with(records[at], new)
        for key in over:
            self._heads.pop(key, None)
            self._before.pop(key, None)
        return [changed.get(at, record) for at, record in enumerate(records)] if changed else records

    def _pieces(self, records: Sequence[AnyRecord]) -> tuple[dict[Key, list[int]], set[Key]]:
        """Where the pieces of each text stand, by what it is: of an answer the number of its event; and what ends."""
        pieces: dict[Key, list[int]] = {}
        over: set[Key] = set()
        for at, record in enumerate(records):
            sort, key = type(record), None
            if sort is Part:
                key = self._of_part(record, over)  # type: ignore[arg-type]  # that is what it is
            elif sort is Wrote:
                key = "wrote", record.lane, record.stream  # type: ignore[union-attr]
            elif sort is Began and record.kind in _IN_PIECES:  # type: ignore[union-attr, operator]
                key = self._of_call(record)  # type: ignore[arg-type]
            if key is not None:
                pieces.setdefault(key, []).append(at)
        return pieces, over

    def _of_part(self, part: Part, over: set[Key]) -> Key | None:
        if part.kind == _CHUNK:
            return part.event
        if part.kind == _HEAD:
            if b"framing" in part.data or b"ncoding" in part.data:
                self._heads[part.event] = part.data
        elif part.kind in LAST:
            over.add(part.event)
            return self._named.pop(part.event, None) if part.data else None
        return None

    def _of_call(self, call: Began) -> Key | None:
        if call.kind != Kind.SOCKET:
            self._named[call.event] = "read", call.lane, call.name
        return ("sent", call.name, call.head) if call.body.middle and call.body.base < 0 else None

    def _cleaned(self, key: Key, parts: list[bytes], vault: Cleaner, *, goes_on: bool) -> list[bytes]:
        joined = b"".join(parts)
        before, head = self._before.get(key, b""), self._heads.get(key, b"")
        if before:
            spans = vault.spans(before + joined[: vault.longest])
            self.torn = self.torn or any(start < len(before) < end for start, end in spans)
            self.torn = self.torn or _ENCODED.search(head) is not None  # what it unpacks to is seen when it is whole
        if goes_on and vault.longest:
            self._before[key] = (before + joined)[1 - vault.longest :]
        if len(parts) == 1 and not head:
            return parts
        vault.discover(joined)
        cleaned = clean_body(joined, head, vault)
        return parts if cleaned == joined else list(_cut(cleaned, map(len, parts)))


def clean_body(body: bytes, head: bytes, vault: Cleaner) -> bytes:
    """What came of an answer, cleaned, as long as it was; `head` says how it is written."""
    framing = [match.span() for match in _FRAMING.finditer(body)] if _CHUNKED.search(head) else []
    plain = body
    for start, end in reversed(framing):
        plain = plain[:start] + plain[end:]
    cleaned = _clean_packed(plain, vault) if _ENCODED.search(head) else vault.clean(plain)
    if cleaned == plain:
        return body if not framing else vault.clean(body)
    for start, end in framing:
        cleaned = cleaned[:start] + body[start:end] + cleaned[start:]
    return cleaned


def _clean_packed(packed: bytes, vault: Cleaner) -> bytes:
    """What gzip has packed, looked into; packed anew to the same length where there is a secret in it."""
    if not packed.startswith(_GZIP):
        return packed
    try:
        unpacker = zlib.decompressobj(31)
        plain = unpacker.decompress(packed, _MOST)
    except zlib.error:
        return packed
    vault.discover(plain)
    cleaned = vault.clean(plain)
    if cleaned == plain or not unpacker.eof:
        return packed
    return repacked(cleaned, len(packed)) or packed


def repacked(plain: bytes, size: int) -> bytes | None:
    """A gzip member (RFC 1952) of exactly that size; None where it cannot be had. What is over is a file's name."""
    for memory in (9, 8):
        packer = zlib.compressobj(9, zlib.DEFLATED, -15, memory)
        deflated = packer.compress(plain) + packer.flush()
        over = size - len(deflated) - 18
        if over >= 0:
            flags, name = (b"\x08", b"x" * (over - 1) + b"\0") if over else (b"\0", b"")
            check = zlib.crc32(plain).to_bytes(4, "little") + (len(plain) & 0xFFFFFFFF).to_bytes(4, "little")
            return _GZIP + flags + bytes(4) + b"\x02\xff" + name + deflated + check
    return None


def _data(record: AnyRecord) -> bytes:
    match record:
        case Began(body=body):
            return body.middle
        case Part(data=data) | Wrote(data=data):
            return data
    raise TypeError(type(record).__name__)


def _with(record: AnyRecord, data: bytes) -> AnyRecord:
    if isinstance(record, Began):
        return msgspec.structs.replace(record, body=msgspec.structs.replace(record.body, middle=data))
    return msgspec.structs.replace(record, data=data)


def _cut(data: bytes, sizes: Iterable[int]) -> Iterable[bytes]:
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size


# One record


def texts(records: Iterable[object]) -> Iterator[bytes]:
    """All texts that stand in records."""
    for value in records:
        match value:
            case bytes():
                yield value
            case str():
                yield value.encode("utf-8", "surrogatepass")
            case list() | tuple():
                yield from texts(value)
            case dict():
                yield from texts(value.values())
            case msgspec.Struct():
                yield from texts(getattr(value, name) for name in value.__struct_fields__)


def rewritten(record: AnyRecord, clean: Clean, digests: dict[bytes, bytes]) -> AnyRecord:
    """A record with every text in it cleaned. `digests` are those of contents that have changed by it."""
    fields: dict[str, object] = {}
    for name in record.__struct_fields__:
        old = getattr(record, name)
        new = _rewritten(old, clean)
        if new is not old:
            fields[name] = new
    match record:
        case Content(digest=digest, data=data) if "data" in fields:
            made = hashlib.sha256(clean(data)).digest()
            digests[digest] = fields["digest"] = made
        case Saw(digest=digest) | Left(digest=digest) if digest in digests:
            fields["digest"] = digests[digest]
        case Changed(found=found) | Again(found=found) if found.digest in digests:
            fields["found"] = rewritten(found, clean, digests)
    return msgspec.structs.replace(record, **fields) if fields else record


def _rewritten(value: object, clean: Clean) -> object:
    match value:
        case bytes():
            return clean(value)
        case str():
            data = value.encode("utf-8", "surrogatepass")
            cleaned = clean(data)
            return value if cleaned == data else cleaned.decode("utf-8", "surrogatepass")
        case list():
            items = [_rewritten(item, clean) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        case tuple():
            parts = tuple(_rewritten(item, clean) for item in value)
            return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
        case dict():
            pairs = {_rewritten(key, clean): _rewritten(item, clean) for key, item in value.items()}
            return value if pairs == value else pairs
        case msgspec.Struct():
            news = {name: _rewritten(getattr(value, name), clean) for name in value.__struct_fields__}
            changed = {name: new for name, new in news.items() if new is not getattr(value, name)}
            return msgspec.structs.replace(value, **changed) if changed else value
    return value
