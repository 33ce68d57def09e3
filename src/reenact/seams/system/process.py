"""The seam in the process itself: its number, and the ways in which a program ends it that run no exit handlers."""

from __future__ import annotations

import json
import operator
import os
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from reenact import _real
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import current, get_lane
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system.children import unwatched
from reenact.tape.event import DrawKind, Failed, Kind

_leave = os._exit


def install(patches: Patches, session: Session) -> None:
    """Meets `os.getpid`, and `os._exit`, `os.abort` and `os.exec*`: the session ends before an abrupt end."""
    patches.function(os, "getpid", _getpid)
    patches.function(os, "getppid", _getppid(os.getppid))
    for name in ("fork", "forkpty"):
        patches.function(os, name, _fork(getattr(os, name)))
    patches.function(os, "_exit", _exit(os._exit, session))
    patches.function(os, "abort", _abort(os.abort, session))
    for name in ("execv", "execve"):  # the others of the family are made of these
        patches.function(os, name, _exec(getattr(os, name), session))


def _getpid() -> int:
    lane = get_lane()
    if lane is None or lane.session is None:
        return _real.getpid()
    return lane.session.draw(lane, DrawKind.PID, _real.getpid, _real.getframe(1))  # type: ignore[return-value]


_getpid.__name__ = _getpid.__qualname__ = "getpid"


def _getppid(real: Callable[[], int]) -> Callable[[], int]:
    """Who that was may be anybody by the time of a replay, and gets no signal then."""

    def getppid() -> int:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real()
        pid = lane.session.draw(lane, DrawKind.PID, real, _real.getframe(1))
        assert isinstance(pid, int)  # noqa: S101  a PID draw is a number
        if not lane.session.live:
            lane.session.stand_ins.add(pid)
        return pid

    return getppid


def _fork(real: Callable[[], Any]) -> Callable[[], Any]:
    """What a fork does is no part of the run; in replay it is forked again."""

    def fork() -> Any:
        lane = current()
        if lane is not None and lane.session is not None:
            unwatched(lane, f"os.{real.__name__}")
        if lane is not None and lane.session is not None and lane.session.recording:
            what = (
                f"what os.{real.__name__} starts is not on tape, and happens again in a replay, closed off as that is"
            )
            lane.session.note("child", what, _real.getframe(1))
        return real()

    fork.__name__ = real.__name__
    return fork


def _exit(real: Callable[[int], NoReturn], session: Session) -> Callable[[int], NoReturn]:
    def _exit(status: int) -> NoReturn:
        session.leaving = operator.index(status) & 0xFF  # a wrong argument raises, and ends nothing
        session.finish()
        real(status)

    return _exit


def _abort(real: Callable[[], NoReturn], session: Session) -> Callable[[], NoReturn]:
    def abort() -> NoReturn:
        session.leaving = -signal.SIGABRT
        session.finish()
        real()

    return abort


def _exec(real: Callable[..., NoReturn], session: Session) -> Callable[..., None]:
    """Another program takes the place of this one: what it does cannot be seen, so the tape ends here."""

    def execute(path: Any, argv: Any, *env: Any) -> None:
        lane = current()
        if lane is None or not isinstance(argv, tuple | list):
            real(path, argv, *env)
        words = json.dumps([os.fsdecode(word) for word in argv])
        name = f"exec {path if isinstance(path, int) else os.fsdecode(path)}"

        def perform() -> Answer:
            real(path, argv, *env)

        crossing = Crossing.begin(lane, Call(Kind.EXEC, name, body=words.encode()), _revive)
        session.commit()
        if crossing.served is not None and not crossing.served.parts:
            session.cut = True
            session.finish()
            _leave(0)
        crossing.pull(perform)

    execute.__name__ = execute.__qualname__ = real.__name__
    return execute


def _revive(failed: Failed) -> BaseException:
    return failure.decode(failed, ())
