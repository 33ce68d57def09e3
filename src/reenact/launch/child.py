"""Inside the agent's process: starts the session before the program's first line, and ends it after its last."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reenact import _real
from reenact.engine import normalize
from reenact.engine import plan as plans
from reenact.engine.boundary import WRITTEN
from reenact.engine.failure import encode
from reenact.engine.lane import MUTED, enter
from reenact.engine.session import Birth, Session, nobody
from reenact.engine.side.traffic import SideTraffic
from reenact.engine.source import Source
from reenact.launch import entry, running
from reenact.launch import manifest as manifests
from reenact.launch.enclosure import Enclosed, cut_off
from reenact.launch.settings import Settings
from reenact.launch.slip import Slip
from reenact.launch.spec import SPEC, Report, Spec
from reenact.launch.workspace import Workspace
from reenact.seams.concurrency.processes import Joining
from reenact.seams.install import Installed
from reenact.seams.sockets.watch import watch
from reenact.seams.system.children import Others
from reenact.seams.system.files import Files, attend
from reenact.seams.system.joining import Joined, Start
from reenact.seams.system.states import hide
from reenact.tape.event import Ended, Failed, Snapshot
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from reenact.tape.vault import Vault
from reenact.tape.whole import process
from reenact.tape.writer import TapeWriter

if TYPE_CHECKING:
    from reenact.probe.stop import Probe

ANSWERED = "its HTTP was answered by {}, which another tool has recorded"


def start(text: str) -> None:
    """Starts what `REENACT_SPEC` asks for. Called by the start-up hook, before the program."""
    spec = msgspec.json.decode(text, type=Spec)
    del os.environ[SPEC]
    seed = os.environ["PYTHONHASHSEED"]
    restore_hash_seed(spec.hash_seed)
    slip = Slip.given(spec.slip)
    session = session_of(spec)
    if spec.mode == "record" and slip.is_there:
        session.found = slip.add
    begin_program(session, spec, Path(spec.tape).parent, seed)


def begin_program(session: Session, spec: Spec, store: Path, seed: str) -> Files | None:
    """All that this process does from now on is in the session; what sees its files, in a recording.

    `store` holds the tapes, which are no part of a run; `seed` is the hash seed of the process.
    """
    if spec.goes_on:
        from reenact.launch import onward  # noqa: PLC0415  few runs do

        return onward.begin_program(session, spec, store)
    tape = session.plan.prefix
    probe = probe_of(session, spec)
    hide(store)
    workspace = Workspace.enter(tape, Path(spec.report).parent) if tape is not None else None
    served = workspace.served() if workspace is not None else None
    closed = session.source is not None and cut_off()
    files = Files(session, store, served) if session.recording else None
    attend(session, files or served)

    def end() -> None:
        if probe is not None:
            probe.end()
        if workspace is not None:
            finish_replay(session, spec, last_error(), workspace)
        if files is not None:
            finish_recording(session, files)
        if session.source is not None:
            _report_answered(session, spec, closed=closed)

    finish = once_here(end, None if probe is None else lambda: probe.pid)
    # Registered first, so called last, after everything that the program registers
    atexit.register(finish)
    others: Others | None = files or workspace
    if files is not None and workspace is not None:
        others = Both(files, workspace, lambda event: session.answers.get(event, -1))
    installed = begin(session, spec, finish, store, files, others)
    if installed.processes is not None and spec.mode != "explore":
        enclosed = workspace.enclosed if workspace is not None else None
        home = spec, spec.tape, str(store), session.run_id, seed, enclosed
        installed.processes.offspring = partial(_offspring, session, installed, home)
    if probe is not None:
        hold(probe, spec, workspace)
    return files


def probe_of(session: Session, spec: Spec) -> Probe | None:
    """What holds a replay still, if a debugger has asked for it."""
    if spec.probe < 0:
        return None
    from reenact.probe.stop import Probe  # noqa: PLC0415  few replays are held

    return Probe(session, spec.probe)


def hold(probe: Probe, spec: Spec, workspace: Workspace | None) -> None:
    """Holds it still, for the first time; checkpoints need files that the kernel has closed."""
    enclosed = workspace.enclosed if workspace is not None and spec.checkpoints else None
    probe.begin(enclosed.folders if enclosed is not None else None)


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
        store = Path(spec.tape).parent if spec.goes_on else None
        _ENTERED.append(Workspace.enter(process(read(Path(spec.tape)), spec.process), report, store))


def entered() -> Workspace | None:
    """The workspace that this process was started in."""
    return _ENTERED[0] if _ENTERED else None


def restore_hash_seed(given: str | None) -> None:
    """Lets the program see PYTHONHASHSEED as its user set it: the parent set it for this process alone."""
    if given is None:
        os.environ.pop("PYTHONHASHSEED", None)
    else:
        os.environ["PYTHONHASHSEED"] = given


def session_of(spec: Spec) -> Session:
    """The session that `spec` asks for."""
    if spec.mode == "record":
        writer = TapeWriter.resume(Path(spec.tape), spec.last_piece)
        session = Session(plans.RECORD, writer, vault=Vault.handed(spec.vault))
        session.side = SideTraffic(spec.side_traffic)
        session.run_id = Path(spec.tape).stem
        look(session, spec)
        if spec.answers:
            imported = read(Path(spec.answers))
            session.source = Source(imported, _rules(spec), by_url=spec.by_url)
            session.note(entry.ANSWERED, ANSWERED.format(imported.path.stem))
            running.begin(session, Path(spec.report))
        return session
    run = read(Path(spec.tape))
    tape = process(run, spec.process)
    session = replaying(spec, tape, Birth(tape.main, tape.name, _real.monotonic_ns()))
    session.run_id = manifests.decode(run.manifest).run_id
    running.begin(session, Path(spec.report))
    return session


def replaying(spec: Spec, tape: Recording, birth: Birth | None = None) -> Session:
    """A session that replays what is on `tape`, as `spec` asks; `birth` is that of a process of a run."""
    rules = _rules(spec)
    if spec.schedule is not None:
        writer = TapeWriter.resume(Path(spec.onto), spec.last_piece)
        session = Session(plans.explore(tape, spec.schedule), writer, rules)
    elif spec.goes_on:
        session = Session(plans.resume(tape), None, rules, vault=Vault.handed(spec.vault))
    else:
        session = Session(plans.replay(tape, observe=spec.observe), None, rules, birth=birth)
    session.side = SideTraffic(spec.side_traffic)
    look(session, spec)
    return session


def _rules(spec: Spec) -> tuple[normalize.Normalizer, ...]:
    """The normalizers of the project."""
    settings = Settings(Path(spec.project) if spec.project else None, msgspec.json.decode(spec.settings or "{}"))
    with settings.importable():
        return normalize.load(settings.table)


def look(session: Session, spec: Spec) -> None:
    """Has the session look at the agent's variables, if that is asked for."""
    if not spec.deep:
        return
    from reenact.engine.locals import Compare, Keep  # noqa: PLC0415  only when it is asked for

    tape = session.plan.prefix
    session.look = Keep(session) if tape is None else Compare(session, tape)


def begin(
    session: Session,
    spec: Spec,
    finish: Callable[[], None],
    store: Path,
    files: Files | None = None,
    others: Others | None = None,
) -> Installed:
    """Installs every seam; from here on the calling context is in the session's main lane."""
    installed = Installed()
    installed.install()
    installed.bound(spec.boundaries, session.note)
    session.finish = finish
    if session.recording or spec.goes_on:
        installed.join = partial(_join, session, store, spec.deep)
    installed.take_process(session, spec.terminal, files, others)
    tape = session.plan.prefix
    where = manifests.decode(tape.manifest).machine if tape is not None else None
    if where is not None:
        installed.become(where.uname, where.processors, where.usable)
    take_up(session)
    enter(session.main)
    return installed


def take_up(session: Session) -> None:
    """The session has this process from here on."""
    tape = session.plan.prefix
    watch(session, closed=tape is not None or session.source is not None)
    pid = _real.getpid() if tape is None else int(tape.snapshots.get("pid", b"-1"))
    session.keep(Snapshot("pid", str(pid).encode()))
    session.recorded_pid = pid
    if session.writer is not None:
        session.writer.guard()
    if tape is not None:
        # What all this has left over is not for the program to find: it may count what it collects. Where the start-up
        # hook keeps the collector off, all of that is young.
        gc.collect(2 if gc.isenabled() else 0)


def _offspring(
    session: Session, installed: Installed, home: tuple[Spec, str, str, str, str, Enclosed | None], birth: Birth
) -> Joining | None:
    from reenact.launch.offspring import Home, starts  # noqa: PLC0415  few programs start processes

    return starts(session, installed, Home(*home), birth)


def _join(session: Session, store: Path, deep: bool, start: Start, lanes: Iterator[str]) -> Joined:  # noqa: FBT001
    from reenact.launch.joining import Inviting  # noqa: PLC0415  few programs start others

    assert session.writer is not None  # noqa: S101  that makes it a recording
    return Inviting(session.writer.path, store, session.run_id, session.began, session.vault, deep=deep)(start, lanes)


def once_here(function: Callable[[], None], here: Callable[[], int] | None = None) -> Callable[[], None]:
    """`function`, called once and in this process only: what it forks runs exit handlers, too.

    `here` says which process that is by now, where copies of it go on in its place.
    """
    left, began = [function], _real.getpid()

    def call() -> None:
        if left and _real.getpid() == (began if here is None else here()):
            left.pop()()

    return call


def last_error() -> Failed | None:
    """The exception that ended the program, if one did."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return encode(error) if error is not None else None


class Both:
    """What children change, where a run is replayed and recorded at once: put in place, then seen.

    `served` gives the tape's event by that of the tape being written; -1 where it has none.
    """

    def __init__(self, files: Files, workspace: Workspace, served: Callable[[int], int]) -> None:
        self._files = files
        self._workspace = workspace
        self._served = served

    def before_child(self) -> None:
        """As `Others`."""
        self._files.before_child()

    def after_child(self, event: int) -> None:
        """As `Others`."""
        self._workspace.after_child(self._served(event))
        self._files.after_child(event)

    def meanwhile(self, event: int) -> None:
        """As `Others`."""
        self._workspace.meanwhile(self._served(event))
        self._files.meanwhile(event)


def finish_recording(session: Session, files: Files | None, ended: Ended | None = None) -> None:
    """Ends a recording, and its tape. `ended` says how the run did; else that is how the program did."""
    enter(MUTED)
    if files is not None:
        files.end()
    session.look_behind(None)
    if not session.divergences and not session.cut:  # else the tape ends where the run left the one that it came from
        session.keep(ended or Ended(session.elapsed(), last_error()))
    session.commit()
    if session.writer is not None:
        with contextlib.suppress(Exception):  # it is among the faults already
            session.writer.close()
        if session.faults and session.found is nobody:
            from reenact.tape.close import leave_faults  # noqa: PLC0415  a run has none, if we are any good

            with contextlib.suppress(OSError):
                leave_faults(session.writer.path, session.vault.clean_text("\n".join(session.faults)))


def _report_answered(session: Session, spec: Spec, *, closed: bool) -> None:
    """Tells how far imported exchanges have answered what was recorded."""
    source = session.source
    assert source is not None  # noqa: S101  callers have asked
    unasked = [event.id for event in source.unasked()]
    found = Report(source.answered, divergences=list(session.divergences), faults=session.faults, unasked=unasked)
    found.begun = found.complete = True
    found.enclosed = closed
    running.end(Path(spec.report), found)


def finish_replay(session: Session, spec: Spec, error: Failed | None, workspace: Workspace | None = None) -> None:
    """Ends a replay that `error` ended, if any, and writes its report."""
    enter(MUTED)
    boundary = session.boundary
    divergences = list(session.divergences)
    if not session.cut and (session.plan.observe or not divergences):
        divergences.extend(boundary.left())
        if workspace is not None and (session.plan.observe or not divergences):
            divergences.extend(workspace.differences(session.vault.clean_file))
    variables, found = session.look.result() if session.look is not None else (None, [])
    report = Report(
        boundary.asked,
        boundary.compared,
        boundary.counts[WRITTEN],
        [*found, *divergences],  # what a variable holds shows before what is made of it
        session.drifts,
        session.marks.drifts(),
        session.faults,
        begun=True,
        complete=True,
        cut=session.cut,
        error="" if error is None else manifests.describe(error),
        enclosed=workspace is not None and workspace.enclosed is not None,
        unrestored=workspace.unrestored if workspace is not None else [],
        variables=variables,
        choices=session.reordered.chooser.choices if session.reordered is not None else [],
        joined=boundary.joined(),
        status=session.leaving,
        lost=session.reordered is not None and session.reordered.out_of_reach > 0,
    )
    running.end(Path(spec.report), report)
