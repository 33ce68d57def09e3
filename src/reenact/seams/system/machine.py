"""The seam in what the machine says of itself: its names and kernel, and how many processors there are.

Programs put these into prompts and headers, and pools take their size from them. They are on tape once for a run, and a
replay sees those of the recording, on whatever machine it is.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from types import ModuleType
from typing import Any

from reenact.engine.lane import get_lane, muted
from reenact.seams.patch import Patches
from reenact.tape.event import Snapshot

_PROCESSOR = "machine.processor"


def become(patches: Patches, uname: Sequence[str], processors: int | None, usable: Collection[int]) -> None:
    """What the agent asks of this machine is answered as the recorded one did (replay).

    `uname` is system, node, release, version and machine; `usable` are the numbers of the processors that the process
    may use. Both are empty where there is no such call.
    """
    platform: Any = sys.modules.get("platform")
    if platform is not None:  # what it has been told already was told by this machine
        platform._uname_cache = None
        platform._platform_cache.clear()
    patches.function(os, "cpu_count", _given(os.cpu_count, lambda: processors))
    if uname and hasattr(os, "uname"):
        patches.function(socket, "gethostname", _given(socket.gethostname, lambda: uname[1]))
        patches.function(os, "uname", _given(os.uname, lambda: os.uname_result(tuple(uname))))
    if usable and hasattr(os, "sched_getaffinity"):
        _become_usable(patches, {*usable, *range(processors or 0)}, set(usable))


def _become_usable(patches: Patches, there: set[int], usable: set[int]) -> None:
    get, put = os.sched_getaffinity, os.sched_setaffinity

    def sched_getaffinity(pid: int, /) -> set[int]:
        return set(usable) if _own(pid) else get(pid)

    def sched_setaffinity(pid: int, mask: Iterable[int], /) -> None:
        if not _own(pid):
            put(pid, mask)
            return
        chosen = there.intersection(mask)
        if not chosen:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        usable.clear()
        usable.update(chosen)

    patches.function(os, "sched_getaffinity", sched_getaffinity)
    patches.function(os, "sched_setaffinity", sched_setaffinity)


def _own(pid: int) -> bool:
    lane = get_lane()
    return lane is not None and lane.session is not None and pid in (0, lane.session.recorded_pid)


def _given(real: Callable[[], Any], given: Callable[[], Any]) -> Callable[[], Any]:
    def fact() -> Any:
        lane = get_lane()
        return real() if lane is None or lane.session is None else given()

    fact.__name__ = fact.__qualname__ = real.__name__
    return fact


def meet_platform(module: ModuleType, patches: Patches) -> None:
    """`platform` starts `uname -p` once, for the name of the processor: a fact too, and no child of the agent's."""
    processor = getattr(module, "_Processor", None)
    if processor is not None:
        patches.set(processor, "from_subprocess", staticmethod(_processor(processor.from_subprocess)))


def _processor(real: Callable[[], str | None]) -> Callable[[], str | None]:
    def from_subprocess() -> str | None:
        lane = get_lane()
        session = lane.session if lane is not None else None
        tape = session.plan.prefix if session is not None else None
        if session is not None and tape is not None:
            recorded = tape.snapshots.get(_PROCESSOR, b"")
            session.keep(Snapshot(_PROCESSOR, recorded))
            return recorded.decode()
        with muted():
            name = real()
        if session is not None:
            session.keep(Snapshot(_PROCESSOR, (name or "").encode("utf-8", "backslashreplace")))
        return name

    return from_subprocess
