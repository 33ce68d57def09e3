"""What a crash may leave in a store beside its tapes: what each is, and which of it is needed by nobody any more.

Only that is swept which no process writes, and of which nothing is lost: it is on a tape, or was never anything.
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from reenact import _real
from reenact.errors import TapeError
from reenact.launch import rewinding
from reenact.launch.gathering import gathered
from reenact.tape import replacing, sealed
from reenact.tape.close import being_written, faults_beside
from reenact.tape.reader import outline, summary
from reenact.tape.recording import RECORDING
from reenact.tape.store import SUFFIX, Store, being_made

GRACE: Final = 600.0  # seconds for which a file in the making may be just that

MAKING = "a tape in the making, of a program that was never started"
CLOSING = "the copy that a closing was to put in the place of the tape, which is whole"
YOUNG = "it may be in the making: the tape is open, or it has changed in the last ten minutes"
FOLDED = "the tape of a process, which is on the tape of its run as well"
OWN = "the tape of a process that went on after its run, or is not on the tape of its run: fsck and show take it"
ORPHAN = "it belongs to a tape that is gone"
BOOK = "what processes told each other of secrets, whose key is gone with them"
TO_PUT_BACK = "copies of files that a resumption which was killed has not put back: the next `reenact resume` does that"
ASIDE = "copies of files that looked otherwise when the run was gone on with: yours; `reenact rm {run}` deletes them"
_BESIDE: Final = re.compile(rf"(?P<run>.+){re.escape(SUFFIX)}-(wal|shm|journal|faults|secrets)")


class Leftover(msgspec.Struct, frozen=True):
    """A file, or a folder, and what it is. `swept`: it is gone now; else `why` it is not may be told."""

    path: Path
    what: str
    swept: bool = False
    why: str = ""


def sweep(store: Store, run: str = "") -> Iterator[Leftover]:
    """Names what there is in a store, or of one run, and deletes what nobody needs."""
    if not store.root.is_dir():
        return
    which = glob.escape(run) if run else "*"
    for look in (_making, _beside, _processes, _copies):
        yield from look(store, which)


def _making(store: Store, which: str) -> Iterator[Leftover]:
    made = f"{SUFFIX}{replacing.SUFFIX}*"
    for path in sorted([*store.root.glob(f"{which}{made}"), *store.root.glob(f"{which}/*{made}")]):
        tape = path.with_name(path.name.partition(replacing.SUFFIX)[0])
        what = CLOSING if tape.is_file() else MAKING
        with contextlib.suppress(OSError):
            if _real.time() - path.stat().st_mtime < GRACE or _is_written(tape):
                yield Leftover(path, what, why=YOUNG)
            else:
                yield _deleted(path, what)
                if path.parent != store.root:
                    path.parent.rmdir()  # of processes: with nothing in it any more, or it stays


def _beside(store: Store, which: str) -> Iterator[Leftover]:
    for path in sorted(store.root.glob(f"{which}{SUFFIX}-*")):
        named = _BESIDE.fullmatch(path.name)
        if named is None:
            continue
        tape = store.path(named["run"])
        if not tape.exists() and not being_made(tape).exists():
            yield _deleted(path, ORPHAN)
        elif path in (sealed.beside(tape), faults_beside(tape)) and _is_closed(tape) and not gathered(tape).go_on:
            yield _deleted(path, BOOK if path == sealed.beside(tape) else ORPHAN)


def _processes(store: Store, which: str) -> Iterator[Leftover]:
    """Tapes of processes, beside those of runs that are closed: `fsck` closes one that is not, which takes them in."""
    for tape in sorted(store.root.glob(f"{which}{SUFFIX}")):
        with contextlib.suppress(TapeError, OSError):
            if not tape.with_suffix("").is_dir() or not _is_closed(tape):
                continue
            found, run = gathered(tape), outline(tape)
            on_tape = all(stretch in run.kin.get(stretch.lane, ()) for stretch in found.kin)
            for path in [*found.taken, *found.refusals]:
                yield Leftover(path, FOLDED if on_tape else OWN, swept=on_tape)
            if on_tape:
                found.remove()


def _copies(store: Store, which: str) -> Iterator[Leftover]:
    for folder in sorted(store.root.glob(f"{which}.before")):
        tape = store.path(folder.stem)
        if not rewinding.is_ours(folder) or _is_written(tape):
            continue
        yield Leftover(folder, TO_PUT_BACK if rewinding.is_interrupted(folder) else ASIDE.format(run=folder.stem))


def _is_written(tape: Path) -> bool:
    return tape.is_file() and being_written(tape)


def _is_closed(tape: Path) -> bool:
    try:
        return tape.is_file() and summary(tape).get("status") != RECORDING
    except TapeError:
        return False


def _deleted(path: Path, what: str) -> Leftover:
    try:
        path.unlink()
    except OSError as error:
        return Leftover(path, what, why=error.strerror or str(error))
    return Leftover(path, what, swept=True)
