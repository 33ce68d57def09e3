"""The processes that a run starts, each a session of its own: recorded beside the run's tape, replayed from that.

A process is forked, and its parent's session becomes its own, or begins afresh, and is told before all else that is
unpickled in it. In replay it is apart from its parent: what passed between the two comes from the tape of each.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from reenact import _real
from reenact.engine import plan as plans
from reenact.engine.lane import enter, muted
from reenact.engine.session import Birth, Session
from reenact.engine.side.traffic import SideTraffic
from reenact.launch import child, entry, parent, running
from reenact.launch import manifest as manifests
from reenact.launch.apart import apart
from reenact.launch.enclosure import Enclosed
from reenact.launch.lock import Lock
from reenact.launch.spec import CLOSED, Report, Spec
from reenact.launch.workspace import Workspace
from reenact.seams.install import Installed
from reenact.seams.system.files import Files, attend
from reenact.seams.system.states import hide
from reenact.tape.event import Exited, Start
from reenact.tape.reader import folder_of, read
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.tape.vault import Vault
from reenact.tape.whole import every
from reenact.tape.writer import TapeWriter

FAILED = 70  # exit status of a process that could not be replayed (EX_SOFTWARE of sysexits.h)
_MOMENT = 1.5  # seconds; a strand that waits for longer than twice that is passed by


class Home(msgspec.Struct, frozen=True):
    """What a process hands on to those that it starts. `spec` is what the run was asked for.

    `tape` is the one beside which theirs are written, or (replay) from which they are replayed; `store` is the folder
    of the run's, and `run` its id. `seed` is the hash seed of the run, `enclosed` what its replay has closed;
    `vault` is handed on.
    """

    spec: Spec
    tape: str
    store: str
    run: str
    seed: str
    enclosed: Enclosed | None = None
    vault: str = ""

    @property
    def replaying(self) -> bool:
        """Whether there is a tape to serve from."""
        return self.spec.mode == "replay"

    def report(self, birth: Birth) -> Path:
        """Where the replay of a process reports."""
        return running.beside(Path(self.spec.report), birth.path)


class Offspring:
    """What a process gets along when it is started, see `seams.concurrency.processes.Joining`."""

    def __init__(self, home: Home, birth: Birth, installed: Installed, session: Session) -> None:
        self._home = home
        self._birth = birth
        self._installed = installed
        self._session = session
        self._lock = Lock.of(home.report(birth)) if home.replaying else None

    def __reduce__(self) -> tuple[Any, ...]:
        home = msgspec.structs.replace(self._home, vault=self._session.vault.hand_on())
        return _arrive, (msgspec.json.encode(home), *self._birth)

    @contextlib.contextmanager
    def starting(self, descriptors: list[int]) -> Iterator[None]:
        """It is started inside of this. It holds a lock as long as it is there, and has the hash seed of the run."""
        given = {"PYTHONHASHSEED": self._home.seed} | ({CLOSED: "1"} if self._home.replaying else {})
        for name, value in given.items():
            os.putenv(name, value)
        try:
            with self._lock.handed_on(descriptors) if self._lock is not None else contextlib.nullcontext():
                yield
        finally:
            for name in given:  # what the program itself has set stays
                if name in os.environ:
                    os.putenv(name, os.environ[name])
                else:
                    os.unsetenv(name)

    def await_end(self) -> None:
        """Gives it a moment to end, so that what it writes stands where it stood."""
        if self._lock is not None:
            self._lock.await_free(_MOMENT)

    def begin(self) -> None:
        """This process is a fork, and begins a session of its own."""
        with muted():
            begin = self._replay if self._home.replaying else self._record
            begun = _safely(self._home, self._birth, begin)
        if begun:
            enter(self._session.main)

    def _record(self) -> None:
        session, files = self._session, self._installed.recorded
        path, writer = _new_tape(self._home, self._birth)
        session.become(plans.RECORD, writer, self._birth)
        session.side = SideTraffic(self._home.spec.side_traffic)
        session.finish = _ends_recording(session, files)
        child.look(session, self._home.spec)
        self._installed.take_fork(files)
        _begun(self._installed, session, msgspec.structs.replace(self._home, tape=str(path)))
        child.take_up(session)
        session.commit()

    def _replay(self) -> None:
        _orphan(self._home.report(self._birth))
        session, report = self._session, self._home.report(self._birth)
        assert session.plan.prefix is not None  # noqa: S101  it is a replay
        tape = _process_of(session.plan.prefix, self._birth)
        apart(report.parent)
        workspace = Workspace.enter_again(tape, report.parent, self._home.enclosed)
        session.become(plans.replay(tape, observe=self._home.spec.observe), None, self._birth)
        session.side = SideTraffic(self._home.spec.side_traffic)
        child.look(session, self._home.spec)
        running.begin(session, report)
        _ends_replay(session, self._home, self._birth, workspace)
        self._installed.take_fork(workspace)
        attend(session, workspace.served())
        _begun(self._installed, session, msgspec.structs.replace(self._home, enclosed=workspace.enclosed))
        child.take_up(session)


def _arrive(home: bytes, path: str, name: str, began: int) -> None:
    """In a fresh process, before the rest of what it is to do is unpickled."""
    begin = _replay_fresh if (known := msgspec.json.decode(home, type=Home)).replaying else _record_fresh
    birth = Birth(path, name, began)
    child.restore_hash_seed(known.spec.hash_seed)
    os.environ.pop(CLOSED, None)
    _safely(known, birth, partial(begin, known, birth))


def _record_fresh(home: Home, birth: Birth) -> None:
    path, writer = _new_tape(home, birth)
    session = Session(plans.RECORD, writer, birth=birth, vault=Vault.handed(home.vault))
    session.run_id = home.run
    session.side = SideTraffic(home.spec.side_traffic)
    child.look(session, home.spec)
    files = Files(session, Path(home.store))
    files.take()
    hide(Path(home.store))
    atexit.register(finish := _ends_recording(session, files))
    installed = child.begin(session, home.spec, finish, Path(home.store), files, files)
    _begun(installed, session, msgspec.structs.replace(home, tape=str(path)))
    session.commit()


def _replay_fresh(home: Home, birth: Birth) -> None:
    report = home.report(birth)
    _orphan(report)
    session = child.replaying(home.spec, _process_of(read(Path(home.tape)), birth), birth)
    session.run_id = home.run
    running.begin(session, report)
    assert session.plan.prefix is not None  # noqa: S101  it is a replay
    workspace = Workspace.enter_again(session.plan.prefix, report.parent, home.enclosed)
    hide(Path(home.store))
    attend(session, workspace.served())
    _ends_replay(session, home, birth, workspace)
    atexit.register(finish := session.finish)
    installed = child.begin(session, home.spec, finish, Path(home.store), None, workspace)
    _begun(installed, session, msgspec.structs.replace(home, enclosed=workspace.enclosed))


def starts(session: Session, installed: Installed, home: Home, birth: Birth) -> Offspring | None:
    """What a process gets along that is started now; None for one that the tape has nothing of."""
    tape = session.plan.prefix
    if tape is not None and all(each.main != birth.path for each in tape.processes):
        return None
    return Offspring(home, birth, installed, session)


def _begun(installed: Installed, session: Session, home: Home) -> None:
    """What the process starts itself gets along what it has got."""
    if installed.processes is not None:
        installed.processes.offspring = partial(starts, session, installed, home)


def _new_tape(home: Home, birth: Birth) -> tuple[Path, TapeWriter]:
    run_id, path = Store(folder_of(Path(home.tape))).new(birth.name)
    manifest = msgspec.structs.replace(
        parent.manifest_of(Path(home.tape)),
        run_id=run_id,
        name=birth.name,
        started=_real.time_ns(),
        entry=entry.process(birth.name),
        # what is the whole run's stands on its own tape
        environment={},
        packages={},
        sources={},
        git_diff="",
    )
    first = [Start(manifests.encode(manifest))]
    return path, TapeWriter.create(path, run_id, birth.name, manifest.started, first=first)


def _process_of(recording: Recording, birth: Birth) -> Recording:
    return next(each for each in every(recording) if each.main == birth.path)


def _ends_recording(session: Session, files: Files | None) -> Callable[[], None]:
    def end() -> None:
        if session.leaving is not None:
            session.keep(Exited(session.leaving))
        child.finish_recording(session, files)

    return child.once_here(end)


def _ends_replay(session: Session, home: Home, birth: Birth, workspace: Workspace) -> None:
    spec = msgspec.structs.replace(home.spec, report=str(home.report(birth)))
    session.finish = child.once_here(lambda: child.finish_replay(session, spec, None, workspace))

    def cut() -> None:
        session.finish()
        os._exit(0)  # where the recorded process was killed, and did no more either

    session.at_cut = cut


def _orphan(report: Path) -> None:
    """The process that started this one sees it end at once: what it is to see of that is on its tape."""
    if os.fork():
        os._exit(0)
    Lock.of(report).hold()


def _safely(home: Home, birth: Birth, begin: Callable[[], None]) -> bool:
    """A fault of ours never reaches the agent: the run tells it. But in replay nothing happens for real."""
    if not home.replaying:
        with parent.faults_told(Path(home.tape), birth.name):
            begin()
            return True
        return False
    try:
        begin()
    except Exception as error:  # noqa: BLE001
        told = f"{type(error).__name__}: {error}"
        running.end(home.report(birth), Report(faults=[f"{birth.name} could not be replayed: {told}"]))
        os._exit(FAILED)
    return True
