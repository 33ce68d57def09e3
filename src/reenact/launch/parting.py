"""Inside a process that has come to where a fork leaves its run: it stands there, and copies of it go on as branches.

So what lies before is served once for all of them. A copy is no child of the process that it comes from, but of the
command, as a branch that is started by itself is.
"""

from __future__ import annotations

import _socket
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from reenact import _real
from reenact.engine.boundary import ASKED, COMPARED, DRIFTED, WRITTEN
from reenact.engine.session import Session
from reenact.launch import opened, running
from reenact.launch.enclosure import SHARED_MEMORY
from reenact.launch.spec import Begun, Spec, Stands
from reenact.launch.workspace import Workspace
from reenact.probe import fork
from reenact.probe.link import Link
from reenact.seams.sockets.watch import letting_local

if TYPE_CHECKING:
    from reenact.engine.frontier import Frontier

IN_PYTHON = "its files are closed in Python and not by the kernel"
HAS_MEMORY = f"it has put something into {SHARED_MEMORY}, which its copies would share"
_listdir = os.listdir  # before a seam meets it


class Parting:
    """Of one process. `spec` is what it was asked at first, and `pid` the process that this is by now."""

    def __init__(self, session: Session, workspace: Workspace, spec: Spec, store: Path) -> None:
        self._session = session
        self._workspace = workspace
        self._door = spec.door
        self._kept = [Path(spec.report).parent, store]
        self.pid = _real.getpid()

    def part(self, frontier: Frontier) -> Spec:
        """Stands here, where the run goes live. Returns in each branch, with what that is asked."""
        link = Link[Spec](_connected(self._door), Spec)
        since = _real.monotonic()
        with fork.deaf():
            obstacle = self._obstacle(link.fileno())
            files = [] if obstacle else opened.files(link.fileno())
            asked, answers = _stand(link, obstacle)
            link.close()
            try:
                if not obstacle:
                    frontier.stood(_real.monotonic() - since)
                    self._go_on(asked, files)
                self._become(asked)
            except Exception as error:  # noqa: BLE001  whatever it is, the branch begins without a copy then
                _tell(answers, "".join(traceback.format_exception_only(error)).strip())
                fork.end_at_once(1)
            _tell(answers, "")
        return asked

    def _obstacle(self, ours: int) -> str:
        """Why this process cannot be copied; "" where it can."""
        if self._workspace.enclosed is None:
            return IN_PYTHON
        shared = Path(SHARED_MEMORY).is_dir() and _listdir(SHARED_MEMORY)
        return fork.obstacle(ours) or (HAS_MEMORY if shared else "") or opened.obstacle(ours)

    def _go_on(self, asked: Spec, files: list[opened.File]) -> None:
        """This is a copy: what it had in common with the others becomes its own."""
        self.pid = _real.getpid()
        self._session.order.renumber()
        self._workspace.part(Path(asked.report).parent, self._kept)
        for file in files:
            file.open_again()

    def _become(self, asked: Spec) -> None:
        """This process is that branch."""
        session = self._session
        session.run_id = Path(asked.tape).stem
        session.vault.go_on_as(asked.vault)
        counts = session.boundary.counts
        running.begin(session, Path(asked.report))
        for at in (ASKED, COMPARED, WRITTEN, DRIFTED):
            session.boundary.counts[at] = counts[at]


def _stand(link: Link[Spec], obstacle: str) -> tuple[Spec, int]:
    """Waits, and returns in each copy that is asked for; with an obstacle, in this process. Ends with the command."""
    try:
        while True:
            link.send(Stands(obstacle))
            asked, answers = link.receive()
            if obstacle or _copied():
                return asked, answers
            fork.close(answers)
    except (EOFError, OSError):
        fork.end_at_once()


def _copied() -> bool:
    """Makes a copy that is no child of this process. True in the copy; where there can be none, nobody is there."""
    try:
        return fork.fork_apart(lambda _pid: None)
    except OSError:  # the command sees it by that nobody answers
        return False


def _connected(door: str) -> int:
    end = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    with letting_local():
        end.connect(door)
    return end.detach()


def _tell(answers: int, why: str) -> None:
    link = Link[Spec](answers, Spec)
    link.send(Begun(_real.getpid(), why))
    link.close()
