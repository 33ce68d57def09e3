"""Leaves copies of a held process behind: each holds one moment, and any number of processes go on from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from reenact import _real
from reenact.probe import fork
from reenact.probe.files import Changed, TooMuchError
from reenact.probe.link import Link
from reenact.probe.messages import Answer, Going, Moment, Parked, Question, Wake

if TYPE_CHECKING:
    from reenact.engine.session import Session


MOST = 512
"""So many are kept of a run."""


class Checkpoints:
    """Those of one process. `folders` are what it may change, see `Enclosed`; None where the kernel closes nothing.

    `spent` is the processor time (ns) that the run has taken to come here, whichever processes it was.
    """

    def __init__(self, session: Session, link: Link[Question], folders: dict[str, str] | None) -> None:
        self._session = session
        self._folders = folders
        self._changed: Changed | None = None
        self._spent, self._since, self._last = 0, _real.process_time_ns(), 0
        self.link = link
        self.obstacle = ""

    @property
    def spent(self) -> int:
        """See above."""
        return self._spent + _real.process_time_ns() - self._since

    def due(self, spacing: int) -> bool:
        """Whether the last one is so long ago (ns), and so far that few would have to go if all of the way had such."""
        spent = self.spent
        return spent - self._last >= max(spacing, spent // MOST)

    def begin(self, moment: Moment) -> bool:
        """Leaves the first one: this process stands still, and a copy of it goes on. For the rest, as `leave`.

        So whatever goes on comes from a process that stands, and ends with it.
        """
        return self._leave(moment, lambda parked: self._copied(lambda theirs: self._stays(parked, theirs)))

    def leave(self, moment: Moment) -> bool:
        """Leaves one at this moment, if that can be: a copy, which stands still.

        True in a process that begins at the checkpoint, woken; False in one that goes on its way.
        """
        return self._leave(moment, lambda parked: self._copied(lambda theirs: self._parts(parked, theirs)))

    def become(self, moment: Moment) -> bool:
        """This process is one from here on, if that can be: nobody wants it to go on. For the rest, as `leave`."""
        return self._leave(moment, self._stands)

    def _leave(self, moment: Moment, stands: Callable[[Parked], Link[Question] | None]) -> bool:
        self.obstacle = self._in_the_way()
        if self.obstacle:
            return False
        changed = self._keep()
        if changed is None:
            return False
        with fork.deaf():
            self._last = spent = self.spent
            try:
                own = stands(Parked(moment, _real.getpid(), spent))
            except OSError as error:
                self.obstacle, own = f"the system makes no copy of it: {error}", None
            if own is not None:
                self.link = self._wait(own, changed)
                own.close()
                self._comes_from()
            self._spent, self._since = spent, _real.process_time_ns()
            return own is not None

    def _copied(self, copies: Callable[[int], bool]) -> Link[Question] | None:
        """Makes a copy: the link of its own that what stands still has; None in what goes on."""
        own, theirs = Link[Question].pair(Question)
        stands = False
        try:
            stands = copies(theirs)
        finally:
            fork.close(theirs)
            (self.link if stands else own).close()
        return own if stands else None

    def _stays(self, parked: Parked, theirs: int) -> bool:
        """Has this process stand, and its copy go on."""
        fork.adopt()
        self._tell(parked, theirs)
        if fork.fork():
            return True
        self._comes_from()
        return False

    def _parts(self, parked: Parked, theirs: int) -> bool:
        """Has a copy of this process stand."""
        return fork.fork_apart(lambda pid: self._tell(msgspec.structs.replace(parked, pid=pid), theirs))

    def _stands(self, parked: Parked) -> Link[Question]:
        """Has this process stand, and no other go on."""
        fork.stay_without_parent()  # which may go as soon as it is known that this one is there
        self._tell(parked)
        return self.link

    def aside(self, call: Callable[[], Answer], seconds: int) -> Answer | None:
        """As `fork.aside`. What that writes to files that are open is undone before anybody hears of it."""
        kept = self._keep()
        try:
            return fork.aside(call, seconds)
        finally:
            if kept is not None:
                kept.restore()

    def can_copy(self) -> bool:
        """Whether there can be a copy, and all as it was after it."""
        return not self._in_the_way() and self._keep() is not None

    def _keep(self) -> Changed | None:
        """What the program has changed in files by now; None where that is too much."""
        try:
            self._changed = Changed(self._folders or {}) if self._changed is None else self._changed.again()
        except (TooMuchError, OSError) as error:
            self.obstacle = f"what it has changed in files cannot be kept: {error}"
            return None
        return self._changed

    def _comes_from(self) -> None:
        """This is a copy of a process that stands still, and goes on."""
        fork.leave_with_parent()
        self._session.order.renumber()
        self._tell(Going(_real.getpid()))

    def _tell(self, message: Parked | Going, handed: int = -1) -> None:
        try:
            self.link.send(message, handed)
        except OSError:
            fork.end_at_once()

    def _wait(self, own: Link[Question], changed: Changed) -> Link[Question]:
        """Stands still, and begins processes as often as that is asked. Returns in each of these."""
        while True:
            try:
                message, handed = own.receive()
            except (EOFError, OSError):
                fork.end_at_once()
            if not isinstance(message, Wake):
                continue
            fork.reap()
            try:
                changed.restore()
                if fork.fork() == 0:
                    return Link(handed, Question)
            except OSError:  # what cannot be as it was is not there: the debugger goes to another one
                fork.end_at_once()
            fork.close(handed)

    def _in_the_way(self) -> str:
        if self._folders is None:
            return "none are wanted, or its files are closed in Python and not by the kernel"
        return fork.obstacle(self.link.fileno())
