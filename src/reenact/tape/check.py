"""Checks a tape from end to end: its seal, the file, the chain, every record and body, and the index made of them."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec

from reenact.errors import SignatureError, TapeError, UsageError
from reenact.tape import signatures
from reenact.tape.close import being_written, close, rows_of, summary_of
from reenact.tape.event import PartKind
from reenact.tape.reader import connect, outline, seal_of
from reenact.tape.recording import RECORDING, Recording
from reenact.tape.seal import Seal
from reenact.tape.store import MISNAMED
from reenact.tape.whole import every, whole

_Found = TypeVar("_Found")
_SHOWN = 3  # places told of one sort of damage
_LATER = ("program", "tags")  # rows of `run` that older tapes do not have
_COUNTED = ("steps", "model_calls")  # rows that say what the bytes meant to the reader of that time
_BESIDE = ("-wal", "-journal")  # what SQLite would read with a file
_STRANGE = "{name} lies beside it, which is no part of a closed tape: SQLite would take it for changes of it. Delete it"


class State(StrEnum):
    """What a check found."""

    SOUND = "sound"
    CLOSED = "closed"  # it was left open by a process that is gone, and is closed now
    OPEN = "open"  # a process has it open, so it may still grow; sound so far
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Checked:
    """A tape that was checked. `recording` is what it holds, None when it cannot be read; `damage` says where."""

    path: Path
    state: State
    recording: Recording | None
    damage: tuple[str, ...] = ()

    def sealed(self) -> Seal:
        """The seal of the tape.

        Raises:
            UsageError: it has none.
        """
        if self.recording is not None and self.recording.seal is not None:
            return self.recording.seal
        if self.state is State.OPEN:
            raise UsageError(f"{self.path.stem} is still being recorded; end its program first")
        raise UsageError(f"{self.path.stem} was closed by a reenact that made no seals, and cannot be signed")


class _Identity(msgspec.Struct):
    run_id: str
    name: str
    started: int


_identity = msgspec.json.Decoder(_Identity).decode


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a tape has to be, besides sound: the one of a run, and signed with the private half of a key."""

    run: str = ""
    key: bytes = b""


def check(path: Path, close: Callable[[Path, int | None], Recording] = close, wanted: Wanted = Wanted()) -> Checked:
    """Checks one tape, and closes it when a process that is gone left it open. Never raises for what is in it."""
    if path.is_file() and not path.stat().st_size:
        return Checked(path, State.DAMAGED, None, ("it is empty: its recording ended before it began",))
    seal, damage = _found(path, lambda: (seal_of(path), []))
    recording, inside = _found(path, lambda: _read(path, seal, wanted))
    damage = list(dict.fromkeys((*damage, *inside)))
    if damage or recording is None:
        return Checked(path, State.DAMAGED, recording, tuple(damage))
    state = State.SOUND
    if recording.summary.get("status") == RECORDING:
        state = State.OPEN if being_written(path) else State.CLOSED
        recording = recording if state is State.OPEN else close(path, None)
    try:
        signatures.check(recording.seal, wanted.key)
    except SignatureError as error:
        return Checked(path, State.DAMAGED, recording, (str(error),))
    return Checked(path, state, recording)


def _found(path: Path, look: Callable[[], tuple[_Found, list[str]]]) -> tuple[_Found | None, list[str]]:
    """What a look at a tape gives, and the damage that it finds or comes upon."""
    try:
        return look()
    except (TapeError, sqlite3.Error) as error:
        return None, [str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ").removeprefix("is damaged: ")]
    except Exception as error:  # noqa: BLE001  whatever a damaged tape makes of the reader is what was asked for
        return None, [f"it cannot be read: {type(error).__name__}: {error}"]


def _read(path: Path, seal: Seal | None, wanted: Wanted) -> tuple[Recording | None, list[str]]:
    """What is on a tape, whether it is sealed rightly or not, and where that does not fit together."""
    damage = _file_damage(path, seal)
    if damage:
        return None, damage
    recording = outline(path, unsealed=True)
    recording.seal = seal
    return recording, [*_record_damage(recording, wanted.run), *_index_damage(path, recording)]


def _file_damage(path: Path, seal: Seal | None) -> list[str]:
    """What is wrong with the file, whatever it holds."""
    with closing(connect(path)) as db:
        found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_SHOWN})")]
        pages, page = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if found != ["ok"]:
        return [f"the file is not sound: {' '.join(line.split())}" for line in found]
    if seal is None:
        return []
    if seal.size != pages * page:
        return [f"it has {seal.size - pages * page:,} bytes that belong to nothing"]
    beside = (path.with_name(path.name + suffix) for suffix in _BESIDE)
    return [_STRANGE.format(name=file.name) for file in beside if file.is_file() and file.stat().st_size]


def _record_damage(recording: Recording, run: str) -> Iterator[str]:
    """What does not fit together in a journal whose chain is right."""
    yield from _identity_damage(recording, run)
    for process in every(recording):
        for digest, data in process.contents.items():
            if hashlib.sha256(data).digest() != digest:
                yield f"the content of a file, {digest.hex()[:16]}, is not the one of that digest"
    together = whole(recording)
    for event in together.events:
        try:
            together.body(event)
            msgspec.json.decode(event.head or b"[]")
            for _, part in event.parts:
                if part.kind == PartKind.HEAD:
                    msgspec.json.decode(part.data)
        except (TapeError, ValueError, RecursionError) as error:
            yield f"event {event.id}: {str(error).removeprefix(f'event {event.id}: ')}"
            return  # later bodies build on this one


def _identity_damage(recording: Recording, run: str) -> Iterator[str]:
    if not recording.pieces:
        yield "its journal is empty"
        return
    try:
        manifest = _identity(recording.manifest)
    except (ValueError, RecursionError) as error:
        yield f"the journal does not say what was run: {error}"
        return
    for key in _Identity.__struct_fields__:
        if recording.summary.get(key) != getattr(manifest, key):
            yield _differs(f"run, {key}", recording.summary.get(key), getattr(manifest, key))
    if run not in ("", manifest.run_id):
        yield MISNAMED.format(run=manifest.run_id)


def _index_damage(path: Path, recording: Recording) -> Iterator[str]:
    """Where the tables for queries say other than the journal that they were made of."""
    if recording.summary.get("status") == RECORDING:
        return
    if recording.status is None:
        yield "the end of its journal is missing"
    told, made = recording.summary, summary_of(recording)
    strange = told.keys() - made.keys() - {*_Identity.__struct_fields__, *_COUNTED}
    for key in (*made, *sorted(strange)):
        # an older tape lacks a row; one whose key was damaged lacks it and has another
        older = key in _LATER and key not in told and not strange and recording.seal is None
        if told.get(key) != made.get(key) and not older:
            yield _differs(f"run, {key}", told.get(key), made.get(key))
    expected = {int(row[0] or 0): row for row in rows_of(recording)}
    with closing(connect(path)) as db:
        found = {row[0]: row for row in db.execute("SELECT * FROM event")}
    wrong = sorted(number for number in expected.keys() | found.keys() if expected.get(number) != found.get(number))
    for number in wrong[:_SHOWN]:
        yield f"index, event {number}: its row differs from the journal"
    if len(wrong) > _SHOWN:
        yield f"index: {len(wrong) - _SHOWN:,} more rows differ from the journal"


def _differs(where: str, found: object, expected: object) -> str:
    return f"{where}: the table says {found!r}, the journal {expected!r}"
