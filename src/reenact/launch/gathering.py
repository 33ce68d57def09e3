"""Takes in what the processes of a run did, when the run is over: each has been writing a tape beside the run's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reenact.errors import TapeError
from reenact.tape.close import being_written, faults_beside
from reenact.tape.event import AnyRecord, Kin, Note
from reenact.tape.journal import fold
from reenact.tape.reader import Recording, folder_of, in_order_of_birth, read, records
from reenact.tape.store import Store


@dataclass(slots=True)
class Gathered:
    """`kin` is what they did, as it goes onto the run's tape; `notes` tell what does not. `taken` are their tapes."""

    kin: list[Kin] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    taken: list[Path] = field(default_factory=list)

    def remove(self) -> None:
        """Their tapes are needed no more: what they hold is on the run's own."""
        for path in self.taken:
            Store(path.parent).remove_file(path)
            with contextlib.suppress(OSError):  # others in it go on
                path.parent.rmdir()


def gathered(tape: Path) -> Gathered:
    """What there is beside a tape whose run is over."""
    found = Gathered()
    store = Store(folder_of(tape))
    over: list[Recording] = []
    for run_id in store.ids():
        path = store.path(run_id)
        if being_written(path):
            found.notes.append(Note("process", f"{run_id} goes on: what it does from now on is its own", -1))
            continue
        found.taken.append(path)
        with contextlib.suppress(TapeError):  # the process was killed while it made the tape
            over.append(read(path))
    for one in sorted((one for one in over if one.lanes), key=in_order_of_birth):
        more = gathered(one.path)
        found.kin += fold(one.main, one.name, _journal(one.path, more))
        found.taken = [*more.taken, *found.taken]
    return found


def _journal(tape: Path, beside: Gathered) -> Iterator[Sequence[AnyRecord]]:
    """All that is on the tape of a process, and beside it: it may have started others, and failed to say something."""
    yield from ([record] for record in records(tape))
    yield beside.kin
    yield beside.notes
    faults = faults_beside(tape)
    if faults.is_file():
        yield [Note("fault", faults.read_text(encoding="utf-8", errors="replace"), -1)]
