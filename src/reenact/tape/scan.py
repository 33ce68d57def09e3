"""Looks through a store for what looks like a secret, in every byte of it: tapes unpacked, and all that is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from reenact.tape import answer, known, nature
from reenact.tape import event as ev
from reenact.tape.allowance import Allowance
from reenact.tape.contents import Contents
from reenact.tape.inside import inside
from reenact.tape.journal import assembled, unfold
from reenact.tape.reader import index, read, records
from reenact.tape.recording import Recording
from reenact.tape.streams import Key, Streams, texts
from reenact.tape.websocket import said_in

_SHOWN = 4


class Finding(msgspec.Struct, frozen=True):
    """Something that looks like a secret. `what` says as what, `where` in which record or file; `shown` its begin."""

    run: str
    what: str
    where: str
    shown: str
    size: int


class Found(msgspec.Struct, frozen=True):
    """The same with its value, for who takes it out."""

    what: str
    where: str
    value: bytes


def scan(path: Path, contents: Contents | None = None) -> list[Finding]:
    """What looks like a secret on a tape, each value once.

    Raises:
        TapeError: it cannot be read.
    """
    return [Finding(path.stem, one.what, one.where, shown(one.value), len(one.value)) for one in find(path, contents)]


def find(path: Path, contents: Contents | None = None) -> list[Found]:
    """As `scan`, with the values."""
    recording = read(path)
    with index(path) as db:
        rows = [f"{key}={value}".encode() for key, value in db.execute("SELECT key, value FROM run")]
    placed = [*_placed(recording, [*assembled(records(path))]), *(("the table run", text) for text in rows)]
    stands = recording.placeholders
    return [*_once(_seen(placed, contents), stands)]


def shown(value: bytes) -> str:
    """So much of a value that its owner knows which one it is, and nobody else what."""
    text = value.decode("utf-8", "replace")
    begin = text[: min(_SHOWN, len(text) // 4)]
    return f"{begin}… ({len(text)} characters)"


def _once(found: Iterable[Found], stands: set[bytes]) -> Iterator[Found]:
    seen: set[bytes] = set()
    for one in found:
        if one.value not in seen and not any(each in one.value or one.value in each for each in stands):
            seen.add(one.value)
            yield one


def _seen(placed: Iterable[tuple[str, bytes]], contents: Contents | None) -> Iterator[Found]:
    looks: list[Callable[[bytes], Iterable[tuple[str, bytes]]]] = [
        known.found,
        lambda text: (("beside a secret name", value) for value in nature.of_text(text)),
    ]
    if contents is not None:
        looks.append(lambda text: (("as asked for", value) for value in contents(text)))
    for where, text in placed:
        for look in looks:
            for what, value in look(text):
                yield Found(what, where, value)


def _placed(recording: Recording, journal: Iterable[ev.AnyRecord]) -> Iterator[tuple[str, bytes]]:
    """Every text of a journal, with where it stands; what stands in pieces, put together, and what is inside of it."""
    own: list[ev.AnyRecord] = []
    for record in journal:
        match record:
            case ev.Redacted():
                continue
            case ev.Kin():
                name = f"process {record.name}"
                for where, text in _placed(recording, assembled(unfold(record, Allowance()))):
                    yield f"{name}, {where}", text
                continue
        own.append(record)
        is_piece = isinstance(record, ev.Part | ev.Wrote)  # what is inside of it is seen where it is whole
        for text in texts([record]):
            yield from [(_where(record), text)] if is_piece else _with_inside(_where(record), text)
    for key, head, data in Streams(over=True).texts(own):
        for text in _read(data, head):
            yield from _with_inside(_name(key), text)
    for stream, written in recording.wrote.items():
        yield ("stdout" if stream == ev.Stream.STDOUT else "stderr"), bytes(written)


def _read(data: bytes, head: bytes) -> Iterator[bytes]:
    """A text as it stands there, and as who reads it has it."""
    yield data
    if answer.is_of_messages(head):
        yield from said_in(data)
    elif head:
        yield from answer.said(data, head)


def _with_inside(where: str, text: bytes) -> Iterator[tuple[str, bytes]]:
    yield where, text
    for form, plain in inside(text):
        yield f"{where}, in {form}", plain


def _name(key: Key) -> str:
    match key:
        case int(event):
            return f"the answer of event {event}"
        case (int(event), *_):
            return f"what came over the connection of event {event}"
        case ("sent", *_):
            return "what was sent over a connection"
    return "what was read or written"


def _where(record: ev.AnyRecord) -> str:
    match record:
        case ev.Start():
            return "the manifest"
        case ev.Began(event=event):
            return f"event {event}"
        case ev.Part(event=event):
            return f"the answer of event {event}"
        case ev.Wrote(stream=stream):
            return "stdout" if stream == ev.Stream.STDOUT else "stderr"
        case ev.Content():
            return "a file"
        case _:
            return type(record).__name__.lower()


def files(store: Path) -> Iterator[tuple[Path, str]]:
    """Files of a store that others than their owner may read, with their modes."""
    for path in sorted(store.rglob("*")):
        mode = path.lstat().st_mode & 0o777
        if path.is_file() and mode & 0o077:
            yield path, oct(mode)
