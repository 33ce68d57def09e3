"""Texts that are on tape in several records: the chunks of an answer, what is written to stdout, what a pipe gives.

A secret that is cut by the border of two records is found where these are put together, and each keeps its length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from reenact.tape import answer
from reenact.tape.event import LAST, Again, AnyRecord, Began, Changed, Content, Kind, Left, Part, PartKind, Saw, Wrote

if TYPE_CHECKING:
    from reenact.tape.heard import Heard
    from reenact.tape.websocket import Came

Clean = Callable[[bytes], bytes]
Key = int | tuple[object, ...]

_OVER: Final = b"over"  # what is done with one names it so
_CHUNK, _HEAD = PartKind.CHUNK, PartKind.HEAD
_IN_PIECES: Final = frozenset({Kind.STDIN, Kind.PIPE, Kind.SOCKET})
_HELD: Final = 4 * 1024 * 1024  # bytes of an answer that are held until the rest of it has come


class Cleaner(answer.Cleaner, Protocol):
    """Who knows the secrets, see `vault.Vault`."""

    longest: int

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand."""

    def ends_in_secret(self, text: bytes) -> bool:
        """Whether it ends with a secret that may go on, or with the beginning of one."""


class _Held:
    """What has come of an answer in which secrets are seen only when it is whole, and what was written of that."""

    def __init__(self) -> None:
        self.came = bytearray()
        self.written = bytearray()
        self.too_long = False

    def add(self, came: bytes, written: bytes) -> None:
        """So much more, and no more than can be held."""
        self.too_long = self.too_long or len(self.came) + len(came) > _HELD
        self.came = bytearray() if self.too_long else self.came + came
        self.written = bytearray() if self.too_long else self.written + written


class Pieces(NamedTuple):
    """Where the pieces of each text stand, by what it is: of an answer the number of its event.

    `whole` are those that are all that a record holds; `cut` have where in it they begin and end. `over` is what ends.
    """

    whole: dict[Key, list[int]]
    cut: dict[Key, list[tuple[int, int, int]]]
    over: set[Key]

    @property
    def together(self) -> set[int]:
        """The records that are seen as what they are pieces of, and not as they stand."""
        found = {at for places in self.whole.values() if len(places) > 1 for at in places}
        return found.union(at for places in self.cut.values() for at, _, _ in places) if self.cut else found


class Streams:
    """What the records of one journal have begun and not ended. `over`: what has not ended goes on no more."""

    def __init__(self, *, over: bool = False) -> None:
        self._over = over
        self._named: dict[int, Key] = {}  # events whose value is a piece of something longer
        self._heads: dict[Key, bytes] = {}  # of answers that still come: what says how their bodies are written
        self._held: dict[Key, _Held] = {}
        self._before: dict[Key, bytes] = {}  # the end of each, as it was
        self._talks: dict[int, Heard | None] = {}  # of connections: what is heard over them, once something has come
        self._texts: dict[int, Key] = {}  # the latest text of each
        self._messages: dict[Key, Came] = {}
        self.torn = False  # there is a secret in what had been written before it was seen

    def cleaned(self, records: Sequence[AnyRecord], vault: Cleaner, found: Pieces | None = None) -> Sequence[AnyRecord]:
        """The records with the texts that they are the pieces of cleaned; the same ones if nothing was in these.

        `found` is what `pieces` has given for them.
        """
        changed: dict[int, AnyRecord] = {}
        found = found or self.pieces(records)
        over = found.over
        for key, places in found.whole.items():
            if len(places) == 1 and key in over and key not in self._before and key not in self._heads:
                continue  # it is cleaned as it stands
            data = _data if type(key) is not int else _data_of_part
            parts = [data(records[at]) for at in places]
            news = self._cleaned(key, parts, vault, goes_on=key not in over and not self._over)
            for at, old, new in zip(places, parts, news, strict=True) if news is not parts else ():
                if old != new:
                    changed[at] = _with(records[at], new)
        if found.cut:
            changed |= self._cleaned_cut(records, found, vault)
        for key in over:
            if key not in found.whole and key not in found.cut:
                self._end(key, vault)
            self._heads.pop(key, None)
            self._held.pop(key, None)
            self._before.pop(key, None)
            self._messages.pop(key, None)
        return [changed.get(at, record) for at, record in enumerate(records)] if changed else records

    def _cleaned_cut(self, records: Sequence[AnyRecord], found: Pieces, vault: Cleaner) -> dict[int, AnyRecord]:
        """As `cleaned`, of texts of which several may stand in one record."""
        edited: dict[int, bytearray] = {}
        for key, places in found.cut.items():
            parts = [_data(records[at])[start:end] for at, start, end in places]
            goes_on = key not in found.over and not self._over
            news = self._cleaned(key, parts, vault, goes_on=goes_on, alone=False)
            for (at, start, end), old, new in zip(places, parts, news, strict=True) if news is not parts else ():
                if old != new:
                    edited.setdefault(at, bytearray(_data(records[at])))[start:end] = new
        return {at: _with(records[at], bytes(data)) for at, data in edited.items()}

    def are_cut(self, records: Sequence[AnyRecord], vault: Cleaner) -> bool:
        """Whether one of the answers that go on with these records ends within what may be a secret.

        What is packed may always do so. Nothing of `self` changes: the records are still to come.
        """
        ahead = deepcopy(self)
        found = ahead.pieces(records)
        came: dict[Key, list[bytes]] = {}
        for key, places in found.whole.items():
            came[key] = [_data(records[at]) for at in places]
        for key, cuts in found.cut.items():
            came[key] = [_data(records[at])[start:end] for at, start, end in cuts]
        for key in (came.keys() | ahead._held.keys()) - found.over:  # noqa: SLF001  its own
            head = ahead._heads.get(key, b"")  # noqa: SLF001  as above
            held = ahead._held[key].came if key in ahead._held else ahead._before.get(key, b"")  # noqa: SLF001
            body = bytes(held) + b"".join(came.get(key, ()))
            if answer.is_packed(head) or answer.ends_within(body, head):
                return True
            if not answer.is_of_messages(head) and any(map(vault.ends_in_secret, answer.said(body, head))):
                return True
        return False

    def texts(self, records: Sequence[AnyRecord]) -> Iterator[tuple[Key, bytes, bytes]]:
        """All that they are the pieces of, each with what says how it is written, if anything does."""
        found = self.pieces(records)
        for key, places in found.whole.items():
            yield key, self._heads.get(key, b""), b"".join(_data(records[at]) for at in places)
        for key, cuts in found.cut.items():
            yield key, self._heads.get(key, b""), b"".join(_data(records[at])[start:end] for at, start, end in cuts)

    def pieces(self, records: Sequence[AnyRecord]) -> Pieces:
        """To be asked once of the next records."""
        found = Pieces({}, {}, set())
        pieces, talks = found.whole, self._talks
        for at, record in enumerate(records):
            key: Key | None
            if isinstance(record, Part):
                key, kind = record.event, record.kind
                if kind == _HEAD:
                    if answer.is_special(record.data):
                        self._heads[key] = record.data
                    continue
                if kind != _CHUNK:
                    key = self._of_end(record, found.over) if kind in LAST else None
                elif key in talks and self._of_connection(at, record, found):
                    continue
            elif isinstance(record, Wrote):
                key = "wrote", record.lane, record.stream
            elif isinstance(record, Began) and record.kind in _IN_PIECES:
                key = self._of_call(record)
            else:
                continue
            if key is not None:
                pieces.setdefault(key, []).append(at)
        return found

    def _of_connection(self, at: int, part: Part, found: Pieces) -> bool:
        """What of it came over a connection where HTTP is spoken; False where it is not."""
        from reenact.tape import heard  # noqa: PLC0415  few programs speak over plain sockets

        talk = self._talks[part.event]
        if talk is None:
            if not heard.speaks(part.data):
                del self._talks[part.event]
                return False
            talk = self._talks[part.event] = heard.Heard()
        for text, start, end, head, over in talk.came(part.data):
            key = self._texts[part.event] = (part.event, text)
            if head and key not in self._heads and answer.is_special(head):
                self._heads[key] = head
            found.cut.setdefault(key, []).append((at, start, end))
            if over:
                found.over.add(key)
        return True

    def _of_end(self, part: Part, over: set[Key]) -> Key | None:
        over.add(part.event)
        if self._talks.pop(part.event, None) is not None:
            over.add(self._texts.pop(part.event))
        return self._named.pop(part.event, None) if part.data else None

    def _of_call(self, call: Began) -> Key | None:
        if call.kind != Kind.SOCKET:
            self._named[call.event] = "read", call.lane, call.name
        elif _OVER not in call.head:  # it begins a connection
            self._talks[call.event] = None
        return ("sent", call.name, call.head) if call.body.middle and call.body.base < 0 else None

    def _cleaned(
        self, key: Key, parts: list[bytes], vault: Cleaner, *, goes_on: bool, alone: bool = True
    ) -> list[bytes]:
        """The pieces of a text. `alone`: one by itself has been looked through, and will be cleaned, as it stands."""
        before, head = self._before.get(key, b""), self._heads.get(key, b"")
        if answer.is_of_messages(head):
            return self._cleaned_messages(key, parts, vault, goes_on=goes_on)
        joined = b"".join(parts)
        if before:
            spans = vault.spans(before + joined[: vault.longest])
            self.torn = self.torn or any(start < len(before) < end for start, end in spans)
        if goes_on and vault.longest:
            self._before[key] = (before + joined)[1 - vault.longest :]
        if alone and len(parts) == 1 and not head:
            return parts
        vault.discover(joined)
        if not answer.is_seen_whole(head):
            cleaned = answer.clean_body(joined, head, vault)
        elif goes_on:
            cleaned = answer.clean_begun(joined, head, vault)
            self._held.setdefault(key, _Held()).add(joined, cleaned)
        else:
            cleaned = self._cleaned_whole(key, joined, vault)
        return parts if cleaned == joined else list(_cut(cleaned, map(len, parts)))

    def _cleaned_whole(self, key: Key, rest: bytes, vault: Cleaner) -> bytes:
        """The end of an answer, cleaned; where what was written of it is to be cleaned, too, as if it went on."""
        head, held = self._heads[key], self._held.get(key, _Held())
        cleaned = answer.clean_body(bytes(held.came) + rest, head, vault)
        if held.too_long or not cleaned.startswith(bytes(held.written)):
            self.torn = True
            return answer.clean_begun(rest, head, vault)
        return cleaned[len(held.written) :]

    def finish(self, vault: Cleaner) -> None:
        """Nothing more comes of answers that have not ended."""
        for key in (*self._held, *self._messages):
            self._end(key, vault)

    def _end(self, key: Key, vault: Cleaner) -> None:
        """Nothing more comes of a text."""
        if key in self._held:
            self._cleaned_whole(key, b"", vault)
        if key in self._messages:
            self._cleaned_messages(key, [], vault, goes_on=False)

    def _cleaned_messages(self, key: Key, parts: list[bytes], vault: Cleaner, *, goes_on: bool) -> list[bytes]:
        from reenact.tape.websocket import Came  # noqa: PLC0415  few programs have one

        came = self._messages.get(key) or self._messages.setdefault(key, Came(self._heads[key]))
        cleaned = came.cleaned(parts, vault, goes_on=goes_on)
        self.torn = self.torn or came.torn
        return cleaned


def _data(record: AnyRecord) -> bytes:
    match record:
        case Began(body=body):
            return body.middle
        case Part(data=data) | Wrote(data=data):
            return data
    raise TypeError(type(record).__name__)


_data_of_part: Final[Callable[[Any], bytes]] = attrgetter("data")


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
