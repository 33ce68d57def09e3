"""The seam in the processes of multiprocessing, and so of pools of them: their start and their end.

A process is on tape as its program sees it: when it was started and how it ended, and (`channels.py`) what came from
it. What its program sends to it is compared with what it sent then. What it does itself is on tape, too, and in replay
it is started again, to do that by itself: nothing passes between it and the program but what is on tape.
"""

from __future__ import annotations

import json
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import msgspec

from reenact import _real
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import Lane, get_lane, muted
from reenact.engine.place import is_bottom
from reenact.engine.session import Birth, Session
from reenact.errors import DivergenceError
from reenact.seams.concurrency.identity import meet_hash
from reenact.seams.concurrency.memory import Memory
from reenact.seams.patch import Patches
from reenact.seams.sockets.watch import letting_local
from reenact.seams.system.children import Children, unwatched
from reenact.tape.event import Failed, Kind, PartKind

STARTERS = tuple(f"multiprocessing.popen_{method}" for method in ("fork", "spawn_posix", "forkserver"))
"""The modules that start processes, one for each way to do it."""

_NAME = "_reenact_name"
_JOINS = "_reenact_joins"

_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(int | None).decode


class Joining(Protocol):
    """What a process gets along when it is started. In a fresh one it is unpickled first, and so begins the session."""

    def begin(self) -> None:
        """This process is a fork, and begins a session of its own. Never raises."""

    def starting(self, descriptors: list[int]) -> AbstractContextManager[None]:
        """It is started inside of this. A fresh process gets `descriptors` along, to which more may be added."""

    def await_end(self) -> None:
        """The process has ended as its program sees it: gives it a moment to come to that end (replay)."""


Offspring = Callable[[Birth], Joining | None]
"""What a process gets along that is started now; None when the tape has nothing of it (replay)."""


class Processes:
    """The processes that one run starts. `offspring` makes what they get along."""

    def __init__(self, session: Session, children: Children, offspring: Offspring | None = None) -> None:
        self._session = session
        self._children = children
        self.offspring = offspring
        self._given: Joining | None = None
        self.memory = Memory(session)

    def lane(self) -> Lane | None:
        """The lane of the calling code, if that is in this run."""
        lane = get_lane()
        return lane if lane is not None and lane.session is self._session else None

    @property
    def replaying(self) -> bool:
        """Whether there is a tape to serve from, and so nobody at the other end."""
        return self._session.plan.prefix is not None

    def ask(self, lane: Lane, kind: Kind, name: str, body: bytes, perform: Callable[[], bytes]) -> tuple[int, bytes]:
        """What `perform` gives now, or what it gave in the recording; and the event's number."""
        crossing = Crossing.begin(lane, Call(kind, name, body=body), _revive)
        return crossing.event, crossing.pull(lambda: Answer(PartKind.VALUE, perform())).data

    def leaves(self) -> None:
        """Something goes to another process, which may be the end of this one: what was before it is on disk."""
        if self._session.recording and self._session.main.path != "0":
            self._session.spill()

    def heard(self, event: int) -> None:
        """Something has come from another process, and it may have changed files before."""
        self._children.heard(event)
        self.memory.heard(event)

    def seams(self) -> dict[str, Callable[[ModuleType, Patches], None]]:
        """What is met in which module."""
        return {
            **dict.fromkeys(STARTERS, self._meet_popen),
            "multiprocessing.process": self._meet_process,
            "multiprocessing.spawn": self._meet_spawn,
            "multiprocessing.util": self._meet_util,
            "multiprocessing.resource_tracker": self._meet_tracker,
        }

    def _meet_process(self, module: ModuleType, patches: Patches) -> None:
        """`multiprocessing.process`: its processes stand in a set, and are asked in that order whether they live."""
        process = module.BaseProcess
        meet_hash(process, patches)
        is_bottom(process._bootstrap.__code__)
        patches.set(process, "_bootstrap", self._beginning(process._bootstrap))

    def _meet_popen(self, module: ModuleType, patches: Patches) -> None:
        """`multiprocessing.popen_fork`, `.popen_spawn_posix` and `.popen_forkserver`."""
        popen = module.Popen
        patches.set(popen, "_launch", self._starting(popen._launch, module.util))
        for name, met in (("poll", self._polling), ("wait", self._waiting)):
            if name in vars(popen):
                patches.set(popen, name, met(getattr(popen, name)))

    def _meet_tracker(self, module: ModuleType, patches: Patches) -> None:
        """`multiprocessing.resource_tracker`: a process that clears up after others, and is none of the program's."""
        tracker = module.ResourceTracker
        patches.set(tracker, "_send", self._below(tracker._send))
        patches.set(tracker, "ensure_running", self._tracking(tracker.ensure_running))

    def _meet_util(self, module: ModuleType, patches: Patches) -> None:
        """`multiprocessing.util`: finalizers ask whether this is their process, by a function that is bound already."""
        call = module.Finalize.__call__
        bound = tuple(os.getpid if each is _real.getpid else each for each in call.__defaults__)
        patches.set(call, "__defaults__", bound)

    def _meet_spawn(self, module: ModuleType, patches: Patches) -> None:
        """`multiprocessing.spawn`: what a fresh process is told first."""
        real = module.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, Any]:
            told: dict[str, Any] = real(name)
            return told if self._given is None else {_JOINS: self._given, **told}

        patches.function(module, "get_preparation_data", get_preparation_data)

    def _starting(self, real: Callable[..., None], util: ModuleType) -> Callable[..., None]:
        def _launch(self_: Any, process: Any) -> None:
            lane = self.lane()
            if lane is None:
                real(self_, process)
                return
            vars(self_)[_NAME] = process.name
            birth = Birth(lane.path_of_child(), process.name, self._session.began)
            if self_.method == "forkserver":
                util.get_temp_dir()  # where the server listens: the program clears it up
            self._children.before()
            crossing = Crossing.begin(
                lane, Call(Kind.PROCESS, f"start {process.name}", body=_about(self_, process)), _revive
            )
            # before anybody else goes on, in a recording as in replay: a fork has all that its program knows by then
            failed = self._launched(real, self_, process, birth) if crossing.served is None else None
            if crossing.served is not None and not crossing.refused:
                self._launched_again(real, self_, process, birth)

            def perform() -> Answer:
                if failed is not None:
                    raise failed
                return Answer(PartKind.VALUE, b"%d" % self_.pid)

            told = crossing.pull(perform).data
            if crossing.served is not None:
                self_.pid = int(told)
                self._session.stand_ins.add(self_.pid)
                if not hasattr(self_, "sentinel"):
                    self_.sentinel, other = os.pipe()
                    self_.finalizer = weakref.finalize(self_, util.close_fds, self_.sentinel, other)

        return _launch

    def _launched(self, real: Callable[..., None], popen: Any, process: Any, birth: Birth) -> BaseException | None:
        """Starts a process; what that raised, if anything."""
        with muted():
            try:
                joining = self._joining(birth)
                with joining.starting(getattr(popen, "_fds", [])) if joining is not None else nullcontext():
                    self._start(real, popen, process, joining)
            except BaseException as error:  # noqa: BLE001  it is the program's, in its turn
                return error
        return None

    def _launched_again(self, real: Callable[..., None], popen: Any, process: Any, birth: Birth) -> None:
        """Starts a process of the recorded run again, if there is anything of it on tape (replay)."""
        with muted():
            joining = self._joining(birth)
            if joining is None:
                return
            try:
                with joining.starting(getattr(popen, "_fds", [])), letting_local():
                    self._start(real, popen, process, joining)
                if popen.method != "forkserver":
                    os.waitpid(popen.pid, 0)  # it has forked, so that its end is no event in the life of the program
                vars(popen)[_JOINS] = joining
            except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
                self._session.fault(error)

    def _joining(self, birth: Birth) -> Joining | None:
        try:
            return self.offspring(birth) if self.offspring is not None else None
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(error)
            return None

    def _start(self, real: Callable[..., None], popen: Any, process: Any, joining: Joining | None) -> None:
        self._given = joining
        try:
            real(popen, process)
        finally:
            self._given = None

    def _polling(self, real: Callable[..., int | None]) -> Callable[..., int | None]:
        def poll(self_: Any, flag: int = os.WNOHANG) -> int | None:
            return self._ended(self_, "ask for the end of", lambda: real(self_, flag))

        return poll

    def _waiting(self, real: Callable[..., int | None]) -> Callable[..., int | None]:
        def wait(self_: Any, timeout: float | None = None) -> int | None:
            return self._ended(self_, "wait for", lambda: real(self_, timeout))

        return wait

    def _ended(self, popen: Any, verb: str, real: Callable[[], int | None]) -> int | None:
        lane = self.lane()
        if lane is None or popen.returncode is not None:
            return None if popen.pid in self._session.stand_ins and popen.returncode is None else real()
        event, told = self.ask(lane, Kind.EXIT, f"{verb} {vars(popen)[_NAME]}", b"", lambda: _encode(real()))
        popen.returncode = _decode(told)
        if popen.returncode is not None:
            if _JOINS in vars(popen):
                with muted():
                    vars(popen).pop(_JOINS).await_end()
            self._children.over(event)
            self.memory.heard(event)
        return popen.returncode  # type: ignore[no-any-return]

    def _below(self, real: Callable[..., None]) -> Callable[..., None]:
        def method(*args: Any) -> None:
            if not self.replaying:
                with muted():
                    real(*args)

        method.__name__ = real.__name__
        return method

    def _tracking(self, real: Callable[..., None]) -> Callable[..., None]:
        def ensure_running(self_: Any) -> None:
            if not self.replaying:
                with muted():
                    real(self_)
            elif self_._fd is None:  # what a fresh process is given to write to
                self_._fd = os.open(os.devnull, os.O_WRONLY)

        return ensure_running

    def _beginning(self, real: Callable[..., int]) -> Callable[..., int]:
        """All that a process does, in that process. A fork begins its session here, a fresh one has begun it."""

        def _bootstrap(self_: Any, *args: Any, **kwargs: Any) -> int:
            if self._given is not None:
                joining, self._given = self._given, None
                joining.begin()
            if self.replaying and (folder := self_._config.get("tempdir")):
                with muted():  # its parent made it, and has it for itself
                    Path(folder).mkdir(mode=0o700, exist_ok=True)
            status = real(self_, *args, **kwargs)
            self._session.leaving = status
            return status

        return _bootstrap


def meet_shared(module: ModuleType, patches: Patches) -> None:
    """Runs in code keep no processes: a recording tells of each, and a replay starts none."""
    real = module.Popen._launch

    def _launch(self: Any, process: Any) -> None:
        lane = get_lane()
        if lane is not None and lane.session is not None and not lane.session.exclusive:
            if not lane.session.recording:
                lane.session.latch(Divergence(What.EXTRA, lane.path, actual=Datum("process", f"start {process.name}")))
                raise DivergenceError("a replay of a run in code starts no process")
            unwatched(lane, process.name)
            what = f"{process.name} of multiprocessing was started; a replay of a run in code does not"
            lane.session.note("child", what, _real.getframe(1))
        real(self, process)

    patches.set(module.Popen, "_launch", _launch)


def _about(popen: Any, process: Any) -> bytes:
    """How a process is started, and what it is to do."""
    target = getattr(process, "_target", None) or type(process)
    name = getattr(target, "__qualname__", type(target).__qualname__)
    return json.dumps({"method": popen.method, "target": name, "daemon": process.daemon}).encode()


def _revive(failed: Failed) -> BaseException:
    modules = [module for name in ("pickle", "_pickle") if (module := sys.modules.get(name)) is not None]
    return failure.decode(failed, modules)
