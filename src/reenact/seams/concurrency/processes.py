"""The seam in the processes of multiprocessing, and so of pools of them: their start and their end.

A process is on tape as its program sees it: when it was started and how it ended, and (`channels.py`) what came from
it. In replay none is started. What its program sends to it is compared with what it sent then.
"""

from __future__ import annotations

import json
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, Protocol

import msgspec

from reenact import _real
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import Lane, get_lane, muted
from reenact.engine.session import Birth, Session
from reenact.errors import DivergenceError
from reenact.seams.concurrency.identity import meet_hash
from reenact.seams.concurrency.memory import Memory
from reenact.seams.patch import Patches
from reenact.seams.system.children import Children
from reenact.tape.event import Failed, Kind, PartKind

STARTERS = tuple(f"multiprocessing.popen_{method}" for method in ("fork", "spawn_posix", "forkserver"))
"""The modules that start processes, one for each way to do it."""

_NAME = "_reenact_name"
_JOINS = "_reenact_joins"

_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(int | None).decode


class Joining(Protocol):
    """What a process gets along when it is started. It is pickled with what a fresh one is to do, before the rest."""

    def recorded(self) -> AbstractContextManager[None]:
        """What happens inside, in that process, is on a tape of its own. Never raises."""


Offspring = Callable[[Birth], Joining]


class Processes:
    """The processes that one run starts. `offspring` makes what they get along (recording)."""

    def __init__(self, session: Session, children: Children, offspring: Offspring | None = None) -> None:
        self.join(session, children, offspring)

    def join(self, session: Session, children: Children, offspring: Offspring | None) -> None:
        """This is a process that was started, and a run of its own from now on."""
        self._session = session
        self._children = children
        self._offspring = offspring
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

    def heard(self, event: int) -> None:
        """Something has come from another process, and it may have changed files before."""
        self._children.heard(event)
        self.memory.heard(event)

    def clean(self, data: bytes) -> bytes:
        """What may be on tape of it."""
        return self._children.clean(data)

    def blanked(self, message: bytes) -> bytes:
        """What may be on tape of a message that is unpickled again: as long as it is."""
        return self._children.blanked(message)

    def seams(self) -> dict[str, Callable[[ModuleType, Patches], None]]:
        """What is met in which module."""
        return {
            **dict.fromkeys(STARTERS, self._meet_popen),
            "multiprocessing.process": self._meet_process,
            "multiprocessing.resource_tracker": self._meet_tracker,
        }

    def _meet_process(self, module: ModuleType, patches: Patches) -> None:
        """`multiprocessing.process`: its processes stand in a set, and are asked in that order whether they live."""
        process = module.BaseProcess
        meet_hash(process, patches)
        patches.set(process, "_bootstrap", _recorded(process._bootstrap))

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
        for name in ("ensure_running", "_send"):
            patches.set(tracker, name, self._below(getattr(tracker, name)))

    def _starting(self, real: Callable[..., None], util: ModuleType) -> Callable[..., None]:
        def _launch(self_: Any, process: Any) -> None:
            lane = self.lane()
            if lane is None:
                real(self_, process)
                return
            vars(self_)[_NAME] = process.name
            birth = Birth(lane.path_of_child(), process.name, self._session.began)
            started = False

            def perform() -> bytes:
                nonlocal started
                started = True
                self._give_along(process, birth)
                try:
                    real(self_, process)
                finally:
                    vars(process).pop(_JOINS, None)
                return b"%d" % self_.pid

            if self_.method == "forkserver":
                util.get_temp_dir()  # where the server listens: the program clears it up
            self._children.before()
            _, pid = self.ask(lane, Kind.PROCESS, f"start {process.name}", _about(self_, process), perform)
            if not started:
                self_.pid = int(pid)
                self._session.stand_ins.add(self_.pid)
                self_.sentinel, other = os.pipe()
                self_.finalizer = weakref.finalize(self_, util.close_fds, self_.sentinel, other)

        return _launch

    def _give_along(self, process: Any, birth: Birth) -> None:
        if self._offspring is None:
            return
        try:
            joining = self._offspring(birth)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(error)
            return
        state = {_JOINS: joining, **vars(process)}  # what is unpickled first is in place for the rest
        vars(process).clear()
        vars(process).update(state)

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


def _recorded(real: Callable[..., int]) -> Callable[..., int]:
    """All that a process does, in that process."""

    def _bootstrap(self: Any, *args: Any, **kwargs: Any) -> int:
        joining: Joining | None = vars(self).pop(_JOINS, None)
        with joining.recorded() if joining is not None else nullcontext():
            return real(self, *args, **kwargs)

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
