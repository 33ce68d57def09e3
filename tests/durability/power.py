"""Power that is lost while a program is recorded, or while a writer commits: after any operation, in many ways each."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from reenact.tape.reader import read
from tests.durability import promise
from tests.durability.disk import Disk, picks, put
from tests.durability.programs import Program
from tests.durability.stopped import logged
from tests.durability.watch import Kind, Op, Watch
from trust.tally import Tally

MANY = 40  # ways in which power is lost at an operation
FEW = 2  # in the short tests, and of so many operations
SAMPLE = 40
MEMORY = Path("/dev/shm")  # nothing there is slow to sync
Promised = TypeVar("Promised")


def lose_power(
    disk: Disk,
    ops: Sequence[Op],
    ways: int,
    promised: Callable[[Sequence[Op]], Promised],
    check: Callable[[Path, Promised], None],
) -> Iterator[str]:
    """Loses power after operations, in so many ways each, and checks what the disk holds against what was promised.

    What was wrong, for each state of the disk that was not tried before; empty for nothing.
    """
    tried: set[bytes] = set()
    for at, op in enumerate(ops, 1):
        disk.apply(op)
        if ways == FEW and at % max(len(ops) // SAMPLE, 1):
            continue
        due = promised(ops[:at])
        for number, pick in enumerate(picks(disk, f"{at}", ways)):
            found = disk.found(pick)
            if (state := _digest(found, due)) in tried:
                continue
            tried.add(state)
            with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
                put(found, Path(folder))
                try:
                    check(Path(folder), due)
                except AssertionError as error:
                    yield f"after operation {at} ({op.kind.name} {op.path}), way {number}: {error}"
                else:
                    yield ""


def _digest(found: dict[str, bytes | None], promised: object) -> bytes:
    digest = hashlib.blake2b(repr(promised).encode())
    for name, data in found.items():
        digest.update(f"\n{name} {-1 if data is None else len(data)}\n".encode() + (data or b""))
    return digest.digest()


def recorded(program: Program, watching: Path, folder: Path, ways: int) -> Iterator[str]:
    """Loses power while a program is recorded."""
    whole = logged(program, watching, folder)
    bodies = whole.seen.asked
    return lose_power(
        whole.disk,
        whole.ops,
        ways,
        lambda ops: promise.seen_in(ops, bodies),
        lambda found, seen: promise.check(found / ".reenact", seen),
    )


def tally_of(name: str, tried: Iterator[str], least: int) -> Tally:
    """What came of states, of which there have to be so many."""
    states = list(tried)
    wrong = [problem for problem in states if problem]
    survived = len(states) - len(wrong)
    if len(states) < least:
        wrong.append(f"there were only {len(states)} states")
    return Tally(f"power-loss states: {name}", len(states), survived, "survived", wrong)


# The writer alone: its log is moved into the file and begun anew again and again, also while it is in no hurry

COMMITS = """
import os, sys
from pathlib import Path
from reenact.tape.event import Note, Start
from reenact.tape.writer import TapeWriter

writer = TapeWriter.create(
    Path("run-1.tape").absolute(), "run-1", "run", 5, first=[Start(b'{"run_id":"run-1","name":"run","started":5}')]
)
writer._db.execute("PRAGMA wal_autocheckpoint = 12")
for number in range(24):
    writer.add(Note("n", f"{number} {os.urandom(3000).hex()}", -1))
    if number % 5 in (2, 3):
        with writer.in_no_hurry():
            writer.commit()
    else:
        writer.commit()
        print(number, flush=True)
"""


def committed(ops: Sequence[Op]) -> int:
    """How many commits have returned that were to be durable, or were before one that was."""
    lines = b"".join(op.data for op in ops if op.kind is Kind.SAID).splitlines()
    return int(lines[-1]) + 1 if lines else 0


def has_all(folder: Path, commits: int) -> None:
    found = promise.damage(folder)
    assert not found, found
    notes = [note for path in folder.glob("*.tape") for note, _ in read(path).notes]
    assert [int(note.text.split()[0]) for note in notes] == list(range(len(notes))), "a commit is missing"
    assert len(notes) >= commits, f"{commits} commits had returned, {len(notes)} are on tape"


def committing(watching: Path, folder: Path, ways: int, program: str = COMMITS) -> Iterator[str]:
    """Loses power while a writer commits."""
    project = folder / "project"
    project.mkdir()
    watch, disk = Watch(watching, project, folder), Disk(project)
    environment = {**os.environ, **watch.environment()}
    subprocess.run([sys.executable, "-c", program], cwd=project, env=environment, capture_output=True, check=True)
    return lose_power(disk, watch.ops(), ways, committed, has_all)
