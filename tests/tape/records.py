"""Records of every sort for the tests of the tape, and small tapes that are made of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from hypothesis import strategies as st

from reenact.tape import event as ev
from reenact.tape import seal
from reenact.tape.journal import Packer, Piece, fold, unpack
from reenact.tape.writer import TapeWriter

small = st.integers(0, 2**63 - 1)
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=9)
bodies = st.builds(ev.Delta, st.integers(-1, 9), small, small, st.binary(max_size=40))
failures = st.recursive(
    st.builds(
        ev.Failed,
        st.text(max_size=9),
        st.text(max_size=9),
        st.lists(plain, max_size=3),
        st.dictionaries(st.text(max_size=5), plain, max_size=2),
        suppressed=st.booleans(),
    ),
    lambda inner: st.builds(ev.Failed, st.text(max_size=9), st.text(max_size=9), st.just([]), st.just({}), inner),
    max_leaves=3,
)
drawn = (
    st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.binary(max_size=9) | st.lists(small, max_size=3)
)
draws = st.tuples(small, small, st.lists(drawn, max_size=3))
saws = st.builds(
    ev.Saw, st.text(max_size=9), small, small, small, small, st.binary(max_size=9), st.none() | st.lists(st.text())
)
each: dict[type[ev.Record], st.SearchStrategy[ev.AnyRecord]] = {
    ev.Start: st.builds(ev.Start, st.binary(max_size=20)),
    ev.LaneBorn: st.builds(ev.LaneBorn, small, st.text(max_size=9), st.text(max_size=9)),
    ev.SiteNamed: st.builds(ev.SiteNamed, small, st.text(max_size=9), st.text(max_size=9), small),
    ev.Began: st.builds(
        ev.Began, small, small, small, st.text(max_size=9), small, small, st.binary(max_size=20), bodies
    ),
    ev.Part: st.builds(ev.Part, small, small, small, st.binary(max_size=40), st.none() | failures),
    ev.Timer: st.builds(ev.Timer, small, st.floats(allow_nan=False), small),
    ev.Draws: st.builds(ev.Draws, small, st.lists(draws, max_size=3)),
    ev.Wrote: st.builds(ev.Wrote, small, small, st.binary(max_size=20)),
    ev.Signal: st.builds(ev.Signal, small, st.integers(-1, 9), st.integers(-1, 9)),
    ev.Note: st.builds(ev.Note, st.text(max_size=9), st.text(max_size=9), st.integers(-1, 9)),
    ev.Ended: st.builds(ev.Ended, small, st.none() | failures, st.binary(max_size=20)),
    ev.Exited: st.builds(ev.Exited, st.integers(-999, 255)),
    ev.Snapshot: st.builds(ev.Snapshot, st.text(max_size=9), st.binary(max_size=20)),
    ev.Handed: st.just(ev.Handed()),
    ev.Expired: st.builds(ev.Expired, small),
    ev.Spun: st.builds(ev.Spun, small),
    ev.Collected: st.builds(ev.Collected, small, small),
    ev.Saw: saws,
    ev.Locals: st.builds(
        ev.Locals,
        small,
        st.lists(st.tuples(small, st.dictionaries(st.text(max_size=9), st.binary(max_size=8))), max_size=2),
    ),
    ev.Child: st.builds(ev.Child, small, st.text(max_size=9), st.none() | small),
    ev.Changed: st.builds(ev.Changed, small, saws),
    ev.Again: st.builds(ev.Again, small, saws),
    ev.Redacted: st.builds(ev.Redacted, st.lists(st.binary(max_size=9), max_size=2), small),
    ev.Branch: st.builds(
        ev.Branch,
        st.text(max_size=9),
        st.binary(max_size=9),
        small,
        st.lists(st.builds(ev.Part, small, small, small, st.binary(max_size=40)), max_size=2),
        small,
        st.text(max_size=9),
        st.booleans(),
    ),
    ev.Sent: st.builds(ev.Sent, small, st.text(max_size=9), bodies),
    ev.Given: st.builds(ev.Given, small, st.integers(1, 3)),
    ev.Moved: st.builds(ev.Moved, small, st.text(max_size=9), st.binary(max_size=20)),
    ev.Stored: st.builds(ev.Stored, small, st.text(max_size=9), st.binary(max_size=40)),
    ev.Unread: st.builds(ev.Unread, small, small, st.text(max_size=9), small),
    ev.Content: st.builds(ev.Content, st.binary(max_size=9), st.binary(max_size=20)),
    ev.Aside: st.builds(ev.Aside, small, small, st.text(max_size=9)),
    ev.AsidePart: st.builds(ev.AsidePart, small, small, small, st.none() | failures),
    ev.Mark: st.builds(
        ev.Mark,
        small,
        small,
        small,
        st.integers(-1, 9),
        st.integers(-1, 9),
        st.integers(-1, 9),
        st.text(max_size=9),
        st.dictionaries(st.text(max_size=5), plain, max_size=2),
    ),
    ev.Kin: st.builds(
        lambda name, data: next(fold("0.1", name, [[ev.Content(b"", data)]])),
        st.text(max_size=9),
        st.binary(max_size=99),
    ),
    ev.Slice: st.builds(ev.Slice, st.binary(max_size=20)),
    ev.Left: st.builds(ev.Left, st.text(max_size=9), small, small, small, st.binary(max_size=9)),
}
records = st.one_of(*each.values())


def exchange(event: int, body: bytes = b"question", answer: bytes = b"answer", *, lane: int = 0) -> list[ev.AnyRecord]:
    """One request and its whole answer."""
    return [
        ev.Began(event, lane, ev.Kind.HTTP, f"POST http://h/{event}", -1, event * 10, b"[]", ev.Delta(-1, 0, 0, body)),
        ev.Part(event, ev.PartKind.HEAD, event * 10 + 1, b'{"status":200,"headers":[]}'),
        ev.Part(event, ev.PartKind.CHUNK, event * 10 + 2, answer),
        ev.Part(event, ev.PartKind.END, event * 10 + 3, b""),
    ]


def beginning() -> list[ev.AnyRecord]:
    """What every tape begins with."""
    return [ev.Start(b'{"run_id":"run-1","name":"run","started":5,"target":["agent.py"]}'), ev.LaneBorn(0, "0", "main")]


def run(events: int = 3) -> list[list[ev.AnyRecord]]:
    """The commits of a run that came to its end."""
    return [beginning(), *(exchange(event) for event in range(events)), [ev.Ended(events * 10, None)]]


def written(path: Path, commits: Sequence[Sequence[ev.AnyRecord]]) -> Path:
    """A tape that was not closed."""
    writer = TapeWriter.create(path, "run-1", "run", 5)
    for batch in commits:
        for record in batch:
            writer.add(record)
        writer.commit()
    writer.close()
    return path


def packed(commits: Sequence[Sequence[ev.AnyRecord]], kind: type[Packer] = Packer) -> list[Piece]:
    """The pieces of a journal."""
    packer = kind()
    return [packer.pack(batch) for batch in commits]


@contextmanager
def sealed_again(path: Path) -> Iterator[None]:
    """Takes off the seal that a tape has, and seals what it has become: what is found then, is not found by the seal."""
    found = seal.read(path) if seal.is_sealed(path) else None
    if found is not None:
        os.truncate(path, found.size)
    yield
    if found is not None:
        seal.put(path)


def edit(path: Path, *statements: str) -> None:
    """Changes the file behind reenact's back."""
    with sealed_again(path), closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def pieces_of(path: Path) -> list[Piece]:
    """The rows of the journal."""
    with closing(sqlite3.connect(path)) as db:
        return [Piece(*row) for row in db.execute("SELECT id, segment, data, chain FROM piece ORDER BY id")]


LOOSE = (  # SQLite checks what it inserts, and not what it finds
    "PRAGMA writable_schema = ON",
    "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '/**/') WHERE name = 'piece'",
    "PRAGMA writable_schema = RESET",
)
STRICT = (
    "PRAGMA writable_schema = ON",
    "UPDATE sqlite_master SET sql = replace(sql, '/**/', 'NOT NULL') WHERE name = 'piece'",
    "PRAGMA writable_schema = RESET",
)
"""What stands before and after a statement that writes NULL into a piece."""


def overwrite(path: Path, pieces: Sequence[Piece]) -> None:
    """Other rows for the journal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM piece")
        db.executemany(
            "INSERT INTO piece VALUES (?, ?, ?, ?)",
            [(piece.id, piece.segment, piece.data, piece.chain) for piece in pieces],
        )


def put(path: Path, pieces: Sequence[Piece]) -> None:
    """As `overwrite`, and seals the tape again if it was."""
    with sealed_again(path):
        overwrite(path, pieces)


def journal(path: Path) -> list[ev.AnyRecord]:
    """Every record of a tape."""
    return [record for batch in unpack(pieces_of(path)) for record in batch]
