"""Inside the process of a run that goes on from the end of its tape: a replay of what that holds, and then live.

A run that is resumed does so in the user's own files, one that was forked in copies of them.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from reenact import _real
from reenact.engine.call import Outgoing
from reenact.engine.failure import encode
from reenact.engine.frontier import Frontier
from reenact.engine.lane import get_lane
from reenact.engine.session import Session, nobody
from reenact.launch import child, keeping, rewinding, running, supervise
from reenact.launch.altering import edits_of, policy_of
from reenact.launch.hazards import Hazards
from reenact.launch.later import SLUG, Edited
from reenact.launch.rerouting import Reroute
from reenact.launch.spec import Report, Spec
from reenact.launch.tail import Tail, tail_of
from reenact.launch.workspace import Workspace
from reenact.probe.fork import end_at_once
from reenact.seams.sockets.watch import watch
from reenact.seams.system.files import Files, attend
from reenact.seams.system.states import hide
from reenact.tape.delta import Bodies
from reenact.tape.event import Ended, Sent
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from reenact.tape.redact import redact_url
from reenact.tape.writer import TapeWriter

if TYPE_CHECKING:
    from reenact.launch.parting import Parting


def begin_program(session: Session, spec: Spec, store: Path) -> Files:
    """All that this process does from now on is in the session; what sees its files."""
    tape = session.plan.prefix
    assert tape is not None  # noqa: S101  a run that goes on has one
    report = Path(spec.report).parent
    for ours in (store, report):
        hide(ours)
    rewound = rewinding.Rewound(rewinding.folder(Path(spec.tape))) if spec.mode == "resume" else None
    workspace = Workspace.rewound(tape, rewound) if rewound is not None else Workspace.enter(tape, report, store)
    files = Files(session, store, workspace.served())
    attend(session, files)

    care = _Care(session, tape, spec) if spec.mode == "fork" else None
    parting = _parting(session, workspace, spec, store)
    told = Report()

    def crossed() -> None:
        nonlocal told, spec
        if parting is not None:
            spec = parting.part(frontier)
        copies = rewound.put_back(files.changed) if rewound is not None else {}
        writer = TapeWriter.resume(Path(spec.tape), spec.last_piece)
        session.go_live(writer, tape)
        writer.guard()
        if rewound is not None:
            rewound.settle(copies)  # at the end: what fails before this leaves all that it takes to put the files back
        told = _told_live(session, workspace)
        told.aside = {path: str(copy) for path, copy in copies.items()}
        running.end(Path(spec.report), told)
        watch(session, closed=False)

    frontier = Frontier(session, tape, crossed)
    session.resume(frontier)

    def end() -> None:
        if not session.live and not session.divergences:
            for missing in session.boundary.missing()[:1]:
                session.latch(missing)
            frontier.go_live()  # unless that: it has come to its end with nothing to ask any more
        if session.live:
            _finish(session, spec, files, care, told)
        else:
            child.finish_replay(session, spec, child.last_error(), workspace)

    finish = child.once_here(end, None if parting is None else lambda: parting.pid)
    atexit.register(finish)
    both = child.Both(files, workspace, lambda event: -1 if session.live else event)
    child.begin(session, spec, finish, store, files, both)
    return files


def _finish(
    session: Session, spec: Spec, files: Files, care: _Care | None, told: Report, ended: Ended | None = None
) -> None:
    """Ends a run that is live, or its call, which has `ended`; of a branch, what it did is `told`, too."""
    if care is not None:
        care.edited.end()
    child.finish_recording(session, files, ended)
    if care is not None:
        told.hazards, told.withheld = care.hazards.met, care.hazards.withheld
        told.taken = keeping.take(files, Path(spec.report)) if spec.keep_files else {}
        running.end(Path(spec.report), told)


def _parting(session: Session, workspace: Workspace, spec: Spec, store: Path) -> Parting | None:
    """What has it stand where it goes live, if several branches begin there."""
    if not spec.door:
        return None
    from reenact.launch.parting import Parting  # noqa: PLC0415  few branches have others beside them

    return Parting(session, workspace, spec, store)


def _told_live(session: Session, workspace: Workspace) -> Report:
    """What there is to be said of a run that goes live."""
    session.found = nobody  # who looks for findings of a replay has the report
    boundary = session.boundary
    told = Report(boundary.asked, boundary.compared, drifts=session.drifts, begun=True, live=True)
    told.unrestored = workspace.unrestored
    return told


class _Starts:
    """Refuses processes that a branch of a function would start outside of it, where no guard is asked about them.

    So it is when its modules are imported, in threads that these have left behind, and when the process ends.
    """

    def __init__(self) -> None:
        self.under_way = False

    def __call__(self, event: str, _args: tuple[object, ...]) -> None:
        if event in _STARTING and not (self.under_way and get_lane() is not None):
            raise PermissionError(errno.EPERM, "reenact starts no process outside of the function that is forked")


_STARTING = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")
_starts = _Starts()


def before_call() -> None:
    """This process is to call the function of a branch; what it does by then is no part of that."""
    sys.addaudithook(_starts)


class Called:
    """The branch of one call of a recorded function: it begins and ends with that, in a process that is its own."""

    def __init__(self, session: Session, spec: Spec, workspace: Workspace) -> None:
        tape = session.plan.prefix
        assert tape is not None  # noqa: S101  a run that goes on has one
        self._session, self._spec, self._workspace, self._tape = session, spec, workspace, tape
        self._files = Files(session, Path(spec.tape).parent, workspace.served())
        attend(session, self._files)
        self._care = _Care(session, tape, spec)
        self._told = Report()
        self._frontier = Frontier(session, tape, self._crossed)
        session.resume(self._frontier)
        _starts.under_way = True

    def _crossed(self) -> None:
        session, spec = self._session, self._spec
        session.go_live(TapeWriter.resume(Path(spec.tape), spec.last_piece), self._tape)
        self._told = _told_live(session, self._workspace)
        running.end(Path(spec.report), self._told)
        watch(closed=False)

    def end(self, error: BaseException | None, result: bytes) -> None:
        """The function has ended, and when that was live, so does the process.

        Tasks and threads that it has left behind would go on with nobody to guard them, over connections that are open.
        """
        session, spec = self._session, self._spec
        if not session.live and not session.divergences:
            for missing in session.boundary.missing()[:1]:
                session.latch(missing)
            self._frontier.go_live()
        watch(closed=True)
        _starts.under_way = False
        failed = encode(error) if error is not None else None
        if not session.live:
            child.finish_replay(session, spec, failed, self._workspace)
            return
        _finish(session, spec, self._files, self._care, self._told, Ended(session.elapsed(), failed, result))
        _end_process(error)


def _end_process(error: BaseException | None) -> NoReturn:
    """As the interpreter does, but with nothing of the program's called any more. An exception is on tape and told."""
    status = 0
    if isinstance(error, SystemExit) and error.code is not None:
        status = error.code if isinstance(error.code, int) else 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    if isinstance(error, KeyboardInterrupt):
        supervise.die_as(-signal.SIGINT)
    end_at_once(status & 0xFF)


class _Care:
    """Has the live calls of a branch looked at, and sent as it asks for."""

    def __init__(self, session: Session, tape: Recording, spec: Spec) -> None:
        tail, parent = tail_of(tape) or Tail(), read(Path(spec.parent))
        self.hazards = Hazards(parent, tail)
        self.edited = Edited(parent, tape, tail.later, self.hazards, lambda text: session.note(SLUG, text))
        session.guard, session.withholds = self.edited, self.hazards.withholds
        if tail.reroutes:
            told = _Sent(session, len(tape.sent))
            edits = [*edits_of(parent, tail), *self.edited.rules]
            session.reroute = Reroute(edits, self.edited.bind, policy_of(tail, spec.key), told)


class _Sent:
    """Keeps what has gone out in the place of requests. `number` is that of the next one on the tape."""

    def __init__(self, session: Session, number: int) -> None:
        self._session = session
        self._number = number
        self._bodies = Bodies()
        self._lock = _real.allocate_lock()

    def __call__(self, event: int, sent: Outgoing) -> None:
        vault = self._session.vault
        vault.learn_headers(sent.headers)
        with self._lock:
            delta = self._bodies.shrink(self._number, sent.body, self._number - 1, vault)
            self._number += 1
            self._session.keep(Sent(event, f"{sent.method} {redact_url(sent.url)}", delta), len(delta.middle))
        self._session.commit()
