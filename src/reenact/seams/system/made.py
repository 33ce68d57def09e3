"""The seam in programs that a run writes and then runs: a script of the moment, say, and what it imports.

Of other programs a replay runs what stands there by then, and compares what it does. These are state of the run: what
stands there by then is what the run left there at last, if anything.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any

from reenact.engine.lane import get_lane, muted
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system.files import Files

_BEHIND_NS = 20_000_000  # file systems read a clock that goes on by ticks
_stat = os.stat


def install(patches: Patches, session: Session, files: Files, since: int, script: str) -> None:
    """Keeps the `script` that this process runs, and what it imports, where that came to be `since` (ns since 1970)."""

    def runs(source: str) -> None:
        try:
            with muted():
                path = os.path.abspath(source)  # noqa: PTH100  text, and quick
                if not files.outside(path) and _stat(path).st_ctime_ns >= since - _BEHIND_NS:
                    files.runs(path)
                    files.runs(importlib.util.cache_from_source(path))
        except OSError:
            pass  # it is not there
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            session.fault(error)

    patches.set(SourceFileLoader, "path_stats", _before(SourceFileLoader.path_stats, session, runs))
    if script.endswith(".py"):
        runs(script)


def _before(real: Callable[..., Any], session: Session, runs: Callable[[str], None]) -> Callable[..., Any]:
    """The import system looks at a source before it runs it."""

    def path_stats(self: Any, path: str) -> Any:
        lane = get_lane()
        if lane is not None and lane.session is session:
            runs(path)
        return real(self, path)

    return path_stats
