"""Inside the agent's process: starts the session before the program's first line, and ends it after its last."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from reenact import _real
from reenact.engine import normalize
from reenact.engine import plan as plans
from reenact.engine.boundary import WRITTEN
from reenact.engine.failure import encode
from reenact.engine.lane import MUTED, enter
from reenact.engine.session import Session
from reenact.engine.side.traffic import SideTraffic
from reenact.launch import manifest as manifests
from reenact.launch import running
from reenact.launch.settings import Settings
from reenact.launch.spec import SPEC, Report, Spec
from reenact.launch.workspace import Workspace
from reenact.seams.concurrency.processes import Joining
from reenact.seams.install import Installed
from reenact.seams.sockets.watch import watch
from reenact.seams.system.children import Others
from reenact.seams.system.files import Files, attend
from reenact.seams.system.listings import hide
from reenact.tape.close import faults_beside
from reenact.tape.event import Ended, Failed, Snapshot
from reenact.tape.reader import read
from reenact.tape.redact import secrets_of
from reenact.tape.writer import TapeWriter


def start(text: str) -> None:
    """Starts what `REENACT_SPEC` asks for. Called by the start-up hook, before the program."""
    spec = msgspec.json.decode(text, type=Spec)
    del os.environ[SPEC]
    restore_hash_seed(spec)
    session = session_of(spec)
    tape = session.plan.prefix
    hide(Path(spec.tape).parent)
    workspace = Workspace.enter(tape, Path(spec.report).parent) if tape is not None else None
    served = workspace.served() if workspace is not None else None
    files = Files(session, Path(spec.tape).parent, served) if session.recording else None
    attend(session, files or served)

    def end() -> None:
        if workspace is not None:
            finish_replay(session, spec, last_error(), workspace)
        if files is not None:
            _finish_recording(session, files)

    finish = _once_here(end)
    # Registered first, so called last, after everything that the program registers
    atexit.register(finish)
    others = _Both(session, files, workspace) if files is not None and workspace is not None else files or workspace
    begin(session, spec, finish, others)


_ENTERED: list[Workspace] = []


def prepare(text: str) -> None:
    """Closes the world around a program that is to replay a recorded function or block, before its first line.

    Called by the start-up hook. What comes before the run may not connect either, and what it does to files it does to
    the copies. A process that is started meanwhile is in the same world already.
    """
    watch(closed=True)
    spec = msgspec.json.decode(text, type=Spec)
    report = Path(spec.report).parent
    hide(Path(spec.tape).parent)
    if not Workspace.is_entered(report):
        _ENTERED.append(Workspace.enter(read(Path(spec.tape)), report))


def entered() -> Workspace | None:
    """The workspace that this process was started in."""
    return _ENTERED[0] if _ENTERED else None


def restore_hash_seed(spec: Spec) -> None:
    """Lets the program see PYTHONHASHSEED as its user set it: the parent set it for this process alone."""
    if spec.hash_seed is None:
        os.environ.pop("PYTHONHASHSEED", None)
    else:
        os.environ["PYTHONHASHSEED"] = spec.hash_seed


def session_of(spec: Spec) -> Session:
    """The session that `spec` asks for."""
    session = _session_of(spec)
    session.side = SideTraffic(spec.side_traffic)
    return session


def _session_of(spec: Spec) -> Session:
    if spec.mode == "record":
        session = Session(plans.RECORD, TapeWriter.resume(Path(spec.tape), spec.last_piece))
        if spec.deep:
            from reenact.engine.locals import Keep  # noqa: PLC0415  only when it is asked for

            session.look = Keep(session, secrets_of(os.environ))
        return session
    tape = read(Path(spec.tape))
    settings = Settings(Path(spec.project) if spec.project else None, msgspec.json.decode(spec.settings or "{}"))
    with settings.importable():
        rules = normalize.load(settings.table)
    if spec.schedule is not None:
        writer = TapeWriter.resume(Path(spec.onto), spec.last_piece)
        session = Session(plans.explore(tape, spec.schedule), writer, rules)
    else:
        session = Session(plans.replay(tape, observe=spec.observe), None, rules)
    if spec.deep:
        from reenact.engine.locals import Compare  # noqa: PLC0415  as above

        session.look = Compare(session, tape)
    running.begin(session, Path(spec.report))
    return session


def begin(
    session: Session,
    spec: Spec,
    finish: Callable[[], None],
    others: Others | None = None,
) -> None:
    """Installs every seam; from here on the calling context is in the session's main lane."""
    installed = Installed()
    installed.install()
    installed.bound(spec.boundaries, session.note)
    if session.recording:
        installed.offspring = partial(_offspring, Path(spec.tape), installed)
    installed.take_process(session, spec.terminal, finish, others)
    tape = session.plan.prefix
    where = manifests.decode(tape.manifest).machine if tape is not None else None
    if where is not None:
        installed.become(where.uname, where.processors, where.usable)
    watch(session, closed=tape is not None)
    pid = _real.getpid() if tape is None else int(tape.snapshots.get("pid", b"-1"))
    session.keep(Snapshot("pid", str(pid).encode()))
    session.recorded_pid = pid
    if tape is not None:
        gc.collect()  # what all this has left over is not for the program to find: it may count what it collects
    enter(session.main)


def _offspring(tape: Path, installed: Installed, name: str) -> Joining:
    from reenact.launch.offspring import Offspring  # noqa: PLC0415  few programs start processes

    return Offspring.of(tape, installed, name)


def _once_here(function: Callable[[], None]) -> Callable[[], None]:
    """`function`, called once and in this process only: what it forks runs exit handlers, too."""
    left, owner = [function], _real.getpid()

    def call() -> None:
        if left and _real.getpid() == owner:
            left.pop()()

    return call


def last_error() -> Failed | None:
    """The exception that ended the program, if one did."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return encode(error) if error is not None else None


class _Both:
    """What children change, where a run is replayed and recorded at once: put in place, then seen."""

    def __init__(self, session: Session, files: Files, workspace: Workspace) -> None:
        self._session = session
        self._files = files
        self._workspace = workspace

    def before_child(self) -> None:
        self._files.before_child()

    def after_child(self, event: int) -> None:
        self._workspace.after_child(self._session.answers.get(event, -1))
        self._files.after_child(event)

    def meanwhile(self, event: int) -> None:
        self._workspace.meanwhile(self._session.answers.get(event, -1))
        self._files.meanwhile(event)


def _finish_recording(session: Session, files: Files) -> None:
    enter(MUTED)
    files.end()
    session.look_behind(None)
    if not session.divergences and not session.cut:  # else the tape ends where the run left the one that it came from
        session.keep(Ended(session.elapsed(), last_error()))
    session.commit()
    if session.writer is not None:
        with contextlib.suppress(Exception):  # it is among the faults already
            session.writer.close()
        if session.faults:
            with contextlib.suppress(OSError):
                faults_beside(session.writer.path).write_text("\n".join(session.faults), encoding="utf-8")


def finish_replay(session: Session, spec: Spec, error: Failed | None, workspace: Workspace | None = None) -> None:
    """Ends a replay that `error` ended, if any, and writes its report."""
    enter(MUTED)
    boundary = session.boundary
    divergences = list(session.divergences)
    if not session.cut and (session.plan.observe or not divergences):
        divergences.extend(boundary.left())
        if workspace is not None and (session.plan.observe or not divergences):
            divergences.extend(workspace.differences())
    variables, found = session.look.result() if session.look is not None else (None, [])
    report = Report(
        boundary.asked,
        boundary.compared,
        boundary.counts[WRITTEN],
        [*found, *divergences],  # what a variable holds shows before what is made of it
        session.drifts,
        session.faults,
        begun=True,
        complete=True,
        cut=session.cut,
        error="" if error is None else manifests.describe(error),
        enclosed=workspace is not None and workspace.enclosed,
        unrestored=workspace.unrestored if workspace is not None else [],
        variables=variables,
        choices=session.reordered.chooser.choices if session.reordered is not None else [],
        lost=session.reordered is not None and session.reordered.out_of_reach > 0,
    )
    running.end(Path(spec.report), report)
