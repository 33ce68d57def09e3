"""Forgeries of a tape: what somebody might do to one that should say something else."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from unittest import mock

import msgspec
from msgspec.structs import replace

from reenact.tape import event as ev
from reenact.tape import journal, seal
from reenact.tape.close import close
from reenact.tape.event import AnyRecord
from reenact.tape.journal import ClosePacker, Piece
from reenact.tape.writer import TapeWriter
from tests.tape import test_journal
from tests.tape.records import LOOSE, STRICT, overwrite, pieces_of, put, sealed_again
from tests.tape.records import journal as records_of
from tests.trajectory.made import Made, calls, gave, says, user

RUN = "desk-7f3a"
OTHER_RUN = "desk-0b1c"
FILE = b"limit: 100"


class Care(Enum):
    """What a forger makes right again."""

    NONE = "nothing made right"
    SEAL = "the seal made right"
    CHAIN = "chain and seal made right"
    ALL = "all made right"


@dataclass(frozen=True)
class Forgery:
    """`forge` changes the tape at the first path; another one of the same agent is at the second."""

    name: str
    care: Care
    forge: Callable[[Path, Path], object]

    def __str__(self) -> str:
        return f"{self.name}, {self.care.value}"


def original(folder: Path, run: str = RUN) -> Path:
    """A closed tape of an agent that asks a model, looks something up, reads a file and prints; of several pieces."""
    made = Made(folder / f"{run}.tape")
    messages = [user("May the customer have a refund?")]
    made.ask(messages, calls(c1={"order": 5512}))
    made.http("GET https://shop.example/orders/5512", 200, b'{"paid": 120}')
    made.http("GET https://shop.example/orders/5513", 200, b'{"paid": 999}')
    made.ask([*messages, calls(c1={"order": 5512}), gave("c1", "paid 120 " * 900)], says("No, it was too late."))
    made._writer.add(ev.Content(hashlib.sha256(FILE).digest(), FILE))
    made._writer.add(ev.Saw("/work/limits", ev.Sight.FILE, 0o644, len(FILE), 5, hashlib.sha256(FILE).digest()))
    made._writer.add(ev.Draws(0, [(ev.DrawKind.TIME, made.line(7), [1.5, 2.5])]))
    made._writer.add(ev.Wrote(0, ev.Stream.STDOUT, b"no refund\n"))
    with mock.patch.object(journal, "_STRETCH_BYTES", 300):
        made.done()
    return made.path


# By SQL

SQL: dict[str, Sequence[str]] = {
    "the status of an answer": ["UPDATE event SET status = 500 WHERE id = 1"],
    "the name of a request": ["UPDATE event SET name = 'GET https://other.example/' WHERE id = 1"],
    "the place of a request, NULL": ["UPDATE event SET site = NULL WHERE id = 1"],
    "the time of an answer, NULL": ["UPDATE event SET ended = NULL WHERE id = 1"],
    "a number as a text": ["UPDATE event SET sent = CAST('x' || sent AS BLOB) WHERE id = 1"],
    "an event's row removed": ["DELETE FROM event WHERE id = 2"],
    "an event's row added": ["INSERT INTO event SELECT 99, lane, kind, name, site, 1, 2, 3, 4, 5 FROM event LIMIT 1"],
    "two events' rows exchanged": [
        "UPDATE event SET id = -1 WHERE id = 1",
        "UPDATE event SET id = 1 WHERE id = 2",
        "UPDATE event SET id = 2 WHERE id = -1",
    ],
    "all events' rows removed": ["DELETE FROM event"],
    "the run's id": ["UPDATE run SET value = 'desk-ffff' WHERE key = 'run_id'"],
    "the run's name": ["UPDATE run SET value = 'counter' WHERE key = 'name'"],
    "when it began": ["UPDATE run SET value = value + 1 WHERE key = 'started'"],
    "its status": ["UPDATE run SET value = 'failed' WHERE key = 'status'"],
    "its status, NULL": ["UPDATE run SET value = NULL WHERE key = 'status'"],
    "its status as bytes": ["UPDATE run SET value = CAST(value AS BLOB) WHERE key = 'status'"],
    "its exit status": ["UPDATE run SET value = 1 WHERE key = 'exit_status'"],
    "how many events there are": ["UPDATE run SET value = 3 WHERE key = 'events'"],
    "how long it took": ["UPDATE run SET value = value - 1 WHERE key = 'duration'"],
    "what was run": ["UPDATE run SET value = 'other.py' WHERE key = 'program'"],
    "what was run, removed": ["DELETE FROM run WHERE key = 'program'"],
    "a tag": ["INSERT INTO run VALUES ('tags', '{\"approved\": \"yes\"}')"],
    "a row that nobody knows": ["INSERT INTO run VALUES ('note', 'all is well')"],
    "data of a piece blanked": ["UPDATE piece SET data = zeroblob(length(data)) WHERE id = 2"],
    "data of a piece empty": ["UPDATE piece SET data = x'' WHERE id = 2"],
    "data of a piece, NULL": [*LOOSE, "UPDATE piece SET data = NULL WHERE id = 2", *STRICT],
    "data of a piece as text": ["UPDATE piece SET data = CAST(data AS TEXT) WHERE id = 2"],
    "a digest blanked": ["UPDATE piece SET chain = zeroblob(32) WHERE id = 2"],
    "the last digest blanked": ["UPDATE piece SET chain = zeroblob(32) WHERE id = (SELECT max(id) FROM piece)"],
    "all digests blanked": ["UPDATE piece SET chain = zeroblob(32)"],
    "all digests empty": ["UPDATE piece SET chain = x''"],
    "all digests, NULL": [*LOOSE, "UPDATE piece SET chain = NULL", *STRICT],
    "a digest as text": ["UPDATE piece SET chain = hex(chain) WHERE id = 2"],
    "the segment of a piece": ["UPDATE piece SET segment = segment + 1 WHERE id = 2"],
    "the segment of a piece, NULL": [*LOOSE, "UPDATE piece SET segment = NULL WHERE id = 2", *STRICT],
    "all pieces removed": ["DELETE FROM piece"],
    "the last piece removed": ["DELETE FROM piece WHERE id = (SELECT max(id) FROM piece)"],
    "all pieces after the second removed": ["DELETE FROM piece WHERE id > 2"],
    "a trigger": ["CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM event; END"],
    "a table": ["CREATE TABLE more (x)"],
    "an index": ["CREATE INDEX i ON event (name)"],
    "a view": ["CREATE VIEW v AS SELECT 1"],
    "a view in the place of the journal": [
        "ALTER TABLE piece RENAME TO old",
        "CREATE VIEW piece AS SELECT id, segment, data, chain FROM old",
    ],
    "a view without an end": [
        "DROP TABLE event",
        "CREATE VIEW event AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n",
    ],
    "a column more": ["ALTER TABLE run ADD COLUMN more"],
    "a column of another name": ["ALTER TABLE event RENAME COLUMN sent TO posted"],
    "statistics": ["ANALYZE"],
    "a table removed": ["DROP TABLE event"],
    "no format": ["PRAGMA user_version = 0"],
    "a format that is to come": ["PRAGMA user_version = 99"],
    "another application": ["PRAGMA application_id = 1"],
}

# Of the file's own make: what it says is the same, so that a seal that is made right is right
PRAGMAS: dict[str, Sequence[str]] = {
    "larger pages": ["PRAGMA page_size = 8192", "VACUUM"],
    "smaller pages": ["PRAGMA page_size = 512", "VACUUM"],
    "pages that can be freed": ["PRAGMA auto_vacuum = FULL", "VACUUM"],
    "a write-ahead log": ["PRAGMA journal_mode = WAL"],
    "the format before seals": ["PRAGMA user_version = 1"],
    "a row written again": [
        "UPDATE run SET value = 'other' WHERE key = 'name'",
        "UPDATE run SET value = 'desk' WHERE key = 'name'",
    ],
    "all packed anew": ["VACUUM"],
}


def by_sql(statements: Sequence[str], care: Care) -> Callable[[Path, Path], None]:
    def forge(tape: Path, _other: Path) -> None:
        with made_right(tape, care), closing(sqlite3.connect(tape, isolation_level=None)) as db:
            for statement in statements:
                db.execute(statement)

    return forge


def made_right(tape: Path, care: Care) -> AbstractContextManager[None]:
    return nullcontext() if care is Care.NONE else sealed_again(tape)


def bare(tape: Path) -> None:
    """Takes off the seal."""
    os.truncate(tape, seal.read(tape).size)


# By pieces


def by_pieces(change: Callable[[list[Piece]], Sequence[Piece]], care: Care) -> Callable[[Path, Path], None]:
    def forge(tape: Path, _other: Path) -> None:
        with made_right(tape, care):
            overwrite(tape, change(pieces_of(tape)))

    return forge


def _pieces() -> Iterator[tuple[str, Callable[[list[Piece]], Sequence[Piece]]]]:
    for change in test_journal.FORGERIES:
        if change not in (test_journal.duplicated, test_journal.exchanged):  # a table cannot hold these
            yield f"a piece {change.__name__.replace('_', ' ')}", lambda pieces, change=change: change(pieces, 1)


# By records: the answers themselves


def _answers(records: list[AnyRecord]) -> list[int]:
    return [at for at, one in enumerate(records) if isinstance(one, ev.Part) and one.kind == ev.PartKind.CHUNK]


def answer_changed(records: list[AnyRecord]) -> None:
    at = _answers(records)[-1]
    part = records[at]
    assert isinstance(part, ev.Part)
    records[at] = replace(part, data=part.data.replace(b"No, it was too late.", b"Yes, all of it, now!"))


def answers_exchanged(records: list[AnyRecord]) -> None:
    one, two = _answers(records)[1:3]
    first, second = records[one], records[two]
    assert isinstance(first, ev.Part)
    assert isinstance(second, ev.Part)
    records[one], records[two] = replace(first, data=second.data), replace(second, data=first.data)


def events_reordered(records: list[AnyRecord]) -> None:
    """Two requests, each with its answer, change places and numbers."""
    renumbered = {1: 2, 2: 1}
    for at, one in enumerate(records):
        if isinstance(one, ev.Began | ev.Part) and one.event in renumbered:
            records[at] = replace(one, event=renumbered[one.event])
    where = {1: [], 2: []}  # type: dict[int, list[int]]
    for at, one in enumerate(records):
        if isinstance(one, ev.Began | ev.Part) and one.event in where:
            where[one.event].append(at)
    order = [records[at] for number in (1, 2) for at in where[number]]
    for at, one in zip(sorted(where[1] + where[2]), order, strict=True):
        records[at] = one


def event_removed(records: list[AnyRecord]) -> None:
    _keep(records, lambda event: None if event == 2 else event - (event > 2))


def last_event_removed(records: list[AnyRecord]) -> None:
    _keep(records, lambda event: None if event == 3 else event)


def _keep(records: list[AnyRecord], number: Callable[[int], int | None]) -> None:
    kept: list[AnyRecord] = []
    for one in records:
        if isinstance(one, ev.Began | ev.Part):
            event = number(one.event)
            if event is not None:
                kept.append(replace(one, event=event))
        else:
            kept.append(one)
    records[:] = kept


def event_inserted(records: list[AnyRecord]) -> None:
    """A request that was never made, as the last one."""
    at = max(at for at, one in enumerate(records) if isinstance(one, ev.Part)) + 1
    last = next(one for one in reversed(records) if isinstance(one, ev.Began))
    records[at:at] = [
        replace(last, event=4, name="POST https://shop.example/refunds", body=ev.Delta(-1, 0, 0, b"{}")),
        ev.Part(4, ev.PartKind.HEAD, last.at + 9, b'{"status":200,"headers":[]}'),
        ev.Part(4, ev.PartKind.END, last.at + 9, b""),
    ]


def event_duplicated(records: list[AnyRecord]) -> None:
    again = [one for one in records if isinstance(one, ev.Began | ev.Part) and one.event == 1]
    at = max(at for at, one in enumerate(records) if isinstance(one, ev.Part)) + 1
    records[at:at] = [replace(one, event=4) for one in again]


def part_duplicated(records: list[AnyRecord]) -> None:
    at = _answers(records)[-1]
    records.insert(at, records[at])


def command_changed(records: list[AnyRecord]) -> None:
    _manifest(records, b'"desk.py"', b'"evil.py"')


def run_renamed(records: list[AnyRecord]) -> None:
    _manifest(records, RUN.encode(), b"desk-ffff")


def _manifest(records: list[AnyRecord], old: bytes, new: bytes) -> None:
    (at,) = (at for at, one in enumerate(records) if isinstance(one, ev.Start))
    start = records[at]
    assert isinstance(start, ev.Start)
    assert old in start.manifest
    records[at] = ev.Start(start.manifest.replace(old, new))


def exit_status_changed(records: list[AnyRecord]) -> None:
    records[:] = [ev.Exited(1) if isinstance(one, ev.Exited) else one for one in records]


def output_changed(records: list[AnyRecord]) -> None:
    records[:] = [replace(one, data=b"a refund!\n") if isinstance(one, ev.Wrote) else one for one in records]


def clock_changed(records: list[AnyRecord]) -> None:
    records[:] = [replace(one, draws=[(1, 0, [9.5, 9.5])]) if isinstance(one, ev.Draws) else one for one in records]


def file_changed(records: list[AnyRecord]) -> None:
    records[:] = [replace(one, data=b"limit: 999") if isinstance(one, ev.Content) else one for one in records]


def digest_of_a_file_blanked(records: list[AnyRecord]) -> None:
    records[:] = [replace(one, digest=bytes(32)) if isinstance(one, ev.Content) else one for one in records]


def unknown_record(records: list[AnyRecord]) -> None:
    records.insert(-1, _Unknown())  # type: ignore[arg-type]


class _Unknown(msgspec.Struct, frozen=True, array_like=True, tag=9999):
    """A record that this format does not have."""


RECORDS: tuple[Callable[[list[AnyRecord]], None], ...] = (
    answer_changed, answers_exchanged, events_reordered, event_removed, last_event_removed, event_inserted,
    event_duplicated, part_duplicated, command_changed, run_renamed, exit_status_changed, output_changed,
    clock_changed, file_changed, digest_of_a_file_blanked, unknown_record,
)  # fmt: skip


def by_records(change: Callable[[list[AnyRecord]], None], care: Care) -> Callable[[Path, Path], None]:
    def forge(tape: Path, _other: Path) -> None:
        found = records_of(tape)
        before = list(found)
        change(found)
        assert found != before, "that changes nothing"
        if care is Care.ALL:
            anew(tape, found)
            return
        packer = ClosePacker()
        piece = packer.pack(found)
        if care is Care.NONE:
            piece = replace(piece, chain=pieces_of(tape)[-1].chain)
        put(tape, [piece])

    return forge


def anew(tape: Path, records: Sequence[AnyRecord]) -> None:
    """A tape that nobody can tell from one that was recorded."""
    run, name, started = _identity(next(one.manifest for one in records if isinstance(one, ev.Start)))
    tape.unlink()
    writer = TapeWriter.create(tape, run, name, started)
    for record in records:
        writer.add(record)
    writer.close()
    close(tape, 0)


def _identity(manifest: bytes) -> tuple[str, str, int]:
    told = msgspec.json.decode(manifest)
    return told["run_id"], told["name"], told["started"]


# By files


def another_tape(tape: Path, other: Path) -> None:
    shutil.copy(other, tape)


def seal_of_another(tape: Path, other: Path) -> None:
    whole, foreign = tape.read_bytes(), other.read_bytes()
    tape.write_bytes(whole[: seal.read(tape).size] + foreign[seal.read(other).size :])


def seal_cut_off(tape: Path, _other: Path) -> None:
    bare(tape)


def seal_blanked(tape: Path, _other: Path) -> None:
    data = bytearray(tape.read_bytes())
    data[-40:-8] = bytes(32)
    tape.write_bytes(data)


def byte_added(tape: Path, _other: Path) -> None:
    tape.write_bytes(tape.read_bytes() + b"\0")


def byte_removed(tape: Path, _other: Path) -> None:
    tape.write_bytes(tape.read_bytes()[:-1])


def page_added(tape: Path, _other: Path) -> None:
    """Pages that belong to nothing, below a seal that is right."""
    bare(tape)
    tape.write_bytes(tape.read_bytes() + b"hidden!!" * 512)
    seal.put(tape)


def log_beside(tape: Path, _other: Path) -> None:
    """What SQLite takes for the latest changes of the file."""
    work = tape.with_name("work")
    work.write_bytes(tape.read_bytes()[: seal.read(tape).size])
    with closing(sqlite3.connect(work, isolation_level=None)) as db, closing(sqlite3.connect(work)) as holding:
        db.execute("PRAGMA journal_mode = WAL")
        holding.execute("SELECT * FROM run").fetchall()
        db.execute("UPDATE event SET name = 'GET https://other.example/'")
        shutil.copy(work.with_name("work-wal"), tape.with_name(f"{tape.name}-wal"))
    work.unlink()


def rollback_beside(tape: Path, _other: Path) -> None:
    """What SQLite takes for changes that were not finished, and undoes in the file itself."""
    tape.with_name(f"{tape.name}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(2000))


def both_halves(tape: Path, other: Path) -> None:
    """The first half of one tape and the second one of the other."""
    whole, foreign = tape.read_bytes(), other.read_bytes()
    at = len(whole) // 2 // 4096 * 4096
    tape.write_bytes(whole[:at] + foreign[at:])


FILES: tuple[tuple[Callable[[Path, Path], None], Care], ...] = (
    (another_tape, Care.ALL), (seal_of_another, Care.NONE), (seal_cut_off, Care.NONE), (seal_blanked, Care.NONE),
    (byte_added, Care.NONE), (byte_removed, Care.NONE), (page_added, Care.SEAL), (log_beside, Care.NONE),
    (rollback_beside, Care.NONE), (both_halves, Care.NONE),
)  # fmt: skip


def forgeries() -> Iterator[Forgery]:
    """All of them."""
    for name, statements in (SQL | PRAGMAS).items():
        yield Forgery(name, Care.NONE, by_sql(statements, Care.NONE))
    for name, statements in SQL.items():
        yield Forgery(name, Care.SEAL, by_sql(statements, Care.SEAL))
    for name, change in _pieces():
        yield Forgery(name, Care.NONE, by_pieces(change, Care.NONE))
        yield Forgery(name, Care.SEAL, by_pieces(change, Care.SEAL))
    for change in RECORDS:
        for care in (Care.NONE, Care.CHAIN, *([Care.ALL] if change is not unknown_record else [])):
            yield Forgery(change.__name__.replace("_", " "), care, by_records(change, care))
    for forge, care in FILES:
        yield Forgery(forge.__name__.replace("_", " "), care, forge)
