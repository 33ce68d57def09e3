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
from reenact.tape.reader import folder_of, read, records
from reenact.tape.recording import Recording, in_order_of_birth
from reenact.tape.store import DECLINED, Store

NOT_RECORDED = "`{name}` is not recorded itself: {why}"
NOTHING = "it was gone before reenact began in it, or could not write its tape"


def decline(tape: Path, lane: str, why: str) -> None:
    """Leaves word beside a tape why nobody records himself on that lane; an empty one, that it was for no Python."""
    told = folder_of(tape) / f"{lane}{DECLINED}"
    told.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    told.write_text(why, encoding="utf-8")


@dataclass(slots=True)
class Gathered:
    """`kin` is what they did, as it goes onto the run's tape; `notes` tell what does not. `taken` are their tapes.

    `declined` says, by lane, why one does not record itself, and `refusals` are the files with that. Some `go_on` after
    the run.
    """

    kin: list[Kin] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    taken: list[Path] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    refusals: list[Path] = field(default_factory=list)
    go_on: bool = False

    def missing(self, recording: Recording) -> Iterator[Note]:
        """Tells of the Pythons that were to record themselves, as the recording has it, and left nothing."""
        there = {one.lane for one in self.kin}
        for event, children in recording.joined.items() if not self.go_on else ():
            for child in children:
                why = self.declined.get(child.lane, NOTHING)
                if child.lane not in there and why:
                    name = recording.events[event].name.partition("`")[2].rstrip("`")
                    yield Note("child", NOT_RECORDED.format(name=name, why=why), -1)

    def remove(self) -> None:
        """Their tapes are needed no more: what they hold is on the run's own."""
        for path in self.refusals:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # there is more in it
                path.parent.rmdir()
        for path in self.taken:
            Store(path.parent).remove_file(path)
            with contextlib.suppress(OSError):  # others in it go on
                path.parent.rmdir()


def gathered(tape: Path) -> Gathered:
    """What there is beside a tape whose run is over."""
    found = Gathered()
    store = Store(folder_of(tape))
    over: list[Recording] = []
    found.refusals = sorted(store.root.glob(f"*{DECLINED}"))
    found.declined = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in found.refusals}
    for run_id in store.ids():
        path = store.path(run_id)
        if being_written(path):
            found.go_on = True
            found.notes.append(Note("process", f"{run_id} goes on: what it does from now on is its own", -1))
            continue
        found.taken.append(path)
        with contextlib.suppress(TapeError):  # the process was killed while it made the tape
            over.append(read(path))
    for one in sorted((one for one in over if one.lanes), key=in_order_of_birth):
        more = gathered(one.path)
        found.kin += fold(one.main, one.name, _journal(one, more))
        found.taken = [*more.taken, *found.taken]
        found.refusals += more.refusals
    return found


def _journal(process: Recording, beside: Gathered) -> Iterator[Sequence[AnyRecord]]:
    """All that is on the tape of a process, and beside it: it may have started others, and failed to say something."""
    yield from ([record] for record in records(process.path))
    yield beside.kin
    yield [*beside.notes, *beside.missing(process)]
    faults = faults_beside(process.path)
    if faults.is_file():
        yield [Note("fault", faults.read_text(encoding="utf-8", errors="replace"), -1)]
