"""Inside the process of a run that is resumed: a replay of what its tape holds, in the own files of the user."""

from __future__ import annotations

import atexit
from pathlib import Path

import msgspec

from reenact.engine.frontier import Frontier
from reenact.engine.session import Session
from reenact.launch import child, rewinding, running
from reenact.launch.spec import Report, Spec
from reenact.launch.workspace import Workspace
from reenact.seams.sockets.watch import watch
from reenact.seams.system.files import Files, attend
from reenact.seams.system.listings import hide
from reenact.tape.writer import TapeWriter


class _Others:
    """What children change: put in place as long as the tape is served, and seen when the run is live."""

    def __init__(self, session: Session, files: Files, workspace: Workspace) -> None:
        self._session = session
        self._files = files
        self._workspace = workspace

    def before_child(self) -> None:
        self._files.before_child()

    def after_child(self, event: int) -> None:
        if not self._session.live:
            self._workspace.after_child(event)
        self._files.after_child(event)

    def meanwhile(self, event: int) -> None:
        if not self._session.live:
            self._workspace.meanwhile(event)
        self._files.meanwhile(event)


def begin_program(session: Session, spec: Spec, store: Path) -> Files:
    """All that this process does from now on is in the session; what sees its files."""
    tape = session.plan.prefix
    assert tape is not None  # noqa: S101  a run that is resumed has one
    hide(store)
    rewound = rewinding.Rewound(rewinding.folder(Path(spec.tape)))
    workspace = Workspace.rewound(tape, rewound)
    files = Files(session, store, workspace.served())
    attend(session, files)

    def crossed() -> None:
        session.go_live(TapeWriter.resume(Path(spec.tape), spec.last_piece), tape)
        watch(session, closed=False)
        aside = {path: str(copy) for path, copy in rewound.settle(files.changed)}
        boundary = session.boundary
        told = Report(boundary.asked, boundary.compared, drifts=session.drifts, begun=True, live=True, aside=aside)
        running.end(Path(spec.report), msgspec.structs.replace(told, unrestored=workspace.unrestored))

    frontier = Frontier(session, tape, crossed)
    session.resume(frontier)

    def end() -> None:
        frontier.go_live()  # it may have come to its end with nothing to ask any more
        if session.live:
            child.finish_recording(session, files)
        else:
            child.finish_replay(session, spec, child.last_error(), workspace)

    finish = child.once_here(end)
    atexit.register(finish)
    child.begin(session, spec, finish, store, files, _Others(session, files, workspace))
    return files
