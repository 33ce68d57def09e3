"""A journal without secrets that were written before anybody knew them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

import msgspec

from reenact.tape.allowance import Allowance
from reenact.tape.answer import is_seen_whole
from reenact.tape.delta import Bodies
from reenact.tape.event import LAST, AnyRecord, Began, Kin, Part, PartKind, Redacted
from reenact.tape.journal import Packer, Piece, assembled, encode, fold, sliced, stretches, unfold, unpack
from reenact.tape.reader import inherited
from reenact.tape.reader import records as stored
from reenact.tape.streams import Streams, rewritten
from reenact.tape.vault import Vault


def scrub(path: Path, vault: Vault) -> None:
    """Writes the journal of a tape that is not closed anew, without what the vault knows by now."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as db:
        db.execute("PRAGMA secure_delete = ON")
        db.execute("BEGIN IMMEDIATE")
        old = [Piece(*row) for row in db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")]
        own = [*assembled(record for batch in unpack(old) for record in batch)]
        news = scrubbed(own, vault, [record for record in inherited(path) if isinstance(record, Began)])
        db.execute("DELETE FROM piece")
        packer = Packer()
        for records in stretches(sliced(news)):
            piece = packer.pack(records)
            db.execute("INSERT INTO piece VALUES (?, ?, ?, ?)", (piece.id, piece.segment, piece.data, piece.chain))
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def is_cut(path: Path) -> bool:
    """Whether there is an answer without an end on a tape in which secrets are seen only when it is whole."""
    open_: set[int] = set()
    for record in stored(path):
        if isinstance(record, Part) and record.kind == PartKind.HEAD and is_seen_whole(record.data):
            open_.add(record.event)
        elif isinstance(record, Part) and record.kind in LAST:
            open_.discard(record.event)
    return bool(open_)


def scrubbed(records: Sequence[AnyRecord], vault: Vault, before: Sequence[Began] = ()) -> list[AnyRecord]:
    """The records without secrets: those that the vault knows, and those that it comes to know by looking at these.

    `before` are requests of other tapes, whose bodies these build on.
    """
    for record in records:
        if isinstance(record, Redacted):
            vault.leave(record.placeholders)
    known, news = -1, [*records]
    while known != vault.count:  # what is found in one place may stand in another
        known, vault.spoiled = vault.count, 0
        news = _once(records, vault, before)
    return [*(one for one in news if not isinstance(one, Redacted)), vault.told(news)]


def scrubbed_kin(kin: Iterable[Kin], vault: Vault) -> list[Kin]:
    """The journals of processes, without them."""
    found: list[Kin] = []
    for (lane, name), group in groupby(kin, lambda one: (one.lane, one.name)):
        found += fold(lane, name, [scrubbed([record for one in group for record in unfold(one, Allowance())], vault)])
    return found


def _once(records: Sequence[AnyRecord], vault: Vault, before: Sequence[Began]) -> list[AnyRecord]:
    for stretch in stretches([record] for record in records):
        vault.look_through(stretch, encode(stretch))
    digests: dict[bytes, bytes] = {}
    joined = Streams(over=True).cleaned(_bodies(records, vault, before), vault)
    news: list[AnyRecord] = []
    for is_kin, group in groupby(joined, lambda record: isinstance(record, Kin)):
        if is_kin:
            news += scrubbed_kin((one for one in group if isinstance(one, Kin)), vault)
        else:
            news += [rewritten(record, vault.clean, digests) for record in group]
    return news


def _bodies(records: Iterable[AnyRecord], vault: Vault, before: Sequence[Began]) -> list[AnyRecord]:
    """The records with the bodies of requests cleaned whole, which on tape are differences to others."""
    old, new = Bodies(), Bodies()
    for one in before:
        old.restore(one.event, one.body)
        new.restore(one.event, one.body)
    found: list[AnyRecord] = []
    for record in records:
        if isinstance(record, Began):
            body = vault.clean(old.restore(record.event, record.body))
            found.append(msgspec.structs.replace(record, body=new.shrink(record.event, body, record.body.base)))
        else:
            found.append(record)
    return found
