"""What a program puts into a store whose history is the tape. In a replay it is there already, and the store in memory.

It is no event: nothing waits for it, and it rides along with the next commit.
"""

from __future__ import annotations

from functools import partial

from reenact.engine.lane import Lane
from reenact.engine.session import Session
from reenact.tape.event import Stored


def keep(lane: Lane, store: str, data: bytes) -> None:
    """Keeps it on the tape that is being written. Never raises."""
    session = lane.session
    if session is None:
        return
    number, lane.stored = lane.stored, lane.stored + 1
    if session.recording:
        _keep(session, lane, store, data)
    elif session.frontier is not None:
        log = session.frontier.tape.lanes.get(lane.path)
        if log is None or number >= log.stored:  # the killed process had not come to that, or not on tape
            session.at_live.append(partial(_keep, session, lane, store, data))


def _keep(session: Session, lane: Lane, store: str, data: bytes) -> None:
    session.keep(Stored(lane.index, store, data), len(data))
