"""Checks a tape from end to end: the file, the chain, every record, every body, and the index made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from reenact.errors import TapeError
from reenact.tape import schema
from reenact.tape.close import being_written, close, rows_of, summary_of
from reenact.tape.event import PartKind
from reenact.tape.reader import RECORDING, Recording, read
from reenact.tape.whole import whole

_SHOWN = 3  # places told of one sort of damage
_LATER = ("program", "tags")  # rows of `run` that older tapes do not have
_COUNTED = ("steps", "model_calls")  # rows that say what the bytes meant to the reader of that time


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


class _Identity(msgspec.Struct):
    run_id: str
    name: str
    started: int


_identity = msgspec.json.Decoder(_Identity).decode


def check(path: Path, close: Callable[[Path, int | None], Recording] = close) -> Checked:
    """Checks one tape, and closes it when a process that is gone left it open. Never raises for what is in it."""
    recording: Recording | None = None
    try:
        damage = _file_damage(path)
        if not damage:
            recording = read(path)
            damage = [*_record_damage(recording), *_index_damage(path, recording)]
    except (TapeError, sqlite3.Error) as error:
        damage = [str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")]
    except Exception as error:  # noqa: BLE001  whatever a damaged tape makes of the reader is what was asked for
        damage = [f"it cannot be read: {type(error).__name__}: {error}"]
    if damage:
        return Checked(path, State.DAMAGED, recording, tuple(damage))
    assert recording is not None  # noqa: S101  without damage it was read
    if recording.summary.get("status") != RECORDING:
        return Checked(path, State.SOUND, recording)
    if being_written(path):
        return Checked(path, State.OPEN, recording)
    return Checked(path, State.CLOSED, close(path, None))


def _file_damage(path: Path) -> list[str]:
    """What SQLite finds wrong with its file."""
    if path.is_file() and not path.stat().st_size:
        return ["it is empty: its recording ended before it began"]
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=30)) as db:
        found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_SHOWN})")]
        (version,) = db.execute("PRAGMA user_version").fetchone()
        tables = _tables(db)
    if found != ["ok"]:
        return [f"the file is not sound: {' '.join(line.split())}" for line in found]
    if version > schema.FORMAT:
        return []  # the reader says it better
    if version != schema.FORMAT:
        return [f"it says that its format is {version}, which never was"]
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema.SCHEMA)
        return [] if tables == _tables(db) else ["its tables are not those of a tape"]


def _tables(db: sqlite3.Connection) -> set[tuple[str, bytes]]:
    return set(db.execute("SELECT name, CAST(sql AS BLOB) FROM sqlite_master WHERE sql IS NOT NULL"))


def _record_damage(recording: Recording) -> Iterator[str]:
    """What does not fit together in a journal whose chain is right."""
    yield from _identity_damage(recording)
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


def _identity_damage(recording: Recording) -> Iterator[str]:
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


def _index_damage(path: Path, recording: Recording) -> Iterator[str]:
    """Where the tables for queries say other than the journal that they were made of."""
    if recording.summary.get("status") == RECORDING:
        return
    if recording.status is None:
        yield "the end of its journal is missing"
    told, made = recording.summary, summary_of(recording)
    strange = told.keys() - made.keys() - {*_Identity.__struct_fields__, *_COUNTED}
    for key, value in made.items():
        # an older tape lacks a row; one whose key was damaged lacks it and has another
        if told.get(key) != value and not (key in _LATER and key not in told and not strange):
            yield _differs(f"run, {key}", told.get(key), value)
    expected = {int(row[0] or 0): row for row in rows_of(recording)}
    with closing(sqlite3.connect(path, timeout=30)) as db:
        found = {row[0]: row for row in db.execute("SELECT * FROM event")}
    wrong = sorted(number for number in expected.keys() | found.keys() if expected.get(number) != found.get(number))
    for number in wrong[:_SHOWN]:
        yield f"index, event {number}: its row differs from the journal"
    if len(wrong) > _SHOWN:
        yield f"index: {len(wrong) - _SHOWN:,} more rows differ from the journal"


def _differs(where: str, found: object, expected: object) -> str:
    return f"{where}: the table says {found!r}, the journal {expected!r}"
