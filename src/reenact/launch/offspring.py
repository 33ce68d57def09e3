"""What the processes of a recorded run do themselves: each writes a tape of its own, in a folder beside the run's tape.

When the run is over, that is folded into the run's (`gathering.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from reenact import _real
from reenact.engine import plan as plans
from reenact.engine.lane import enter, leave, muted
from reenact.engine.session import Birth, Session
from reenact.launch import entry
from reenact.launch import manifest as manifests
from reenact.seams.install import Installed
from reenact.seams.sockets.watch import watch
from reenact.tape.close import faults_beside
from reenact.tape.event import Ended, Start
from reenact.tape.reader import folder_of, read
from reenact.tape.store import SUFFIX, Store
from reenact.tape.writer import TapeWriter


class Offspring:
    """What a process that is started gets along, so that it records itself. It is pickled where that is a fresh one."""

    def __init__(self, folder: Path, manifest: bytes, birth: Birth, installed: Installed) -> None:
        self._folder = folder
        self._manifest = manifest
        self._birth = birth
        self._installed = installed
        self._session: Session | None = None

    @classmethod
    def of(cls, tape: Path, installed: Installed, birth: Birth) -> Offspring:
        """What a process of the run on that tape gets along."""
        return cls(folder_of(tape), manifest_of(tape), birth, installed)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, (str(self._folder), self._manifest, *self._birth)

    def begin(self, *, fresh: bool = False) -> None:
        """Begins the run of this process, which is no fork if `fresh`. What `recorded` encloses is in it."""
        with muted(), self._faults_told():
            if fresh:
                self._installed.install()
            run_id, path = Store(self._folder).new(self._birth.name)
            manifest = msgspec.structs.replace(
                manifests.decode(self._manifest),
                run_id=run_id,
                name=self._birth.name,
                started=_real.time_ns(),
                entry=entry.process(self._birth.name),
            )
            writer = TapeWriter.create(path, run_id, self._birth.name, manifest.started)
            writer.add(Start(manifests.encode(manifest)))
            session = Session(plans.RECORD, writer, exclusive=False, birth=self._birth)
            session.commit()
            self._installed.offspring = partial(Offspring.of, path, self._installed)
            self._installed.join_process(session)
            self._installed.bound(manifest.boundaries, session.note)
            watch(session)
            self._session = session

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """What happens inside is on tape, in the process that has been started."""
        if self._session is None:
            self.begin()
        session = self._session
        if session is None:
            yield
            return
        token = enter(session.main)
        try:
            yield
        finally:
            leave(token)
            self._end(session)

    def _end(self, session: Session) -> None:
        with muted(), self._faults_told():
            session.keep(Ended(session.elapsed(), None))
            session.commit()
            session.dissolve()
            if session.writer is not None:
                session.writer.close()
            if session.faults:
                raise RuntimeError(session.faults[0])

    @contextlib.contextmanager
    def _faults_told(self) -> Iterator[None]:
        """A fault of ours never reaches the agent: the run that started this process tells it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            beside = faults_beside(self._folder.with_suffix(SUFFIX))
            with contextlib.suppress(OSError), beside.open("a", encoding="utf-8") as file:
                file.write(f"{self._birth.name} is not on tape whole: {type(error).__name__}: {error}\n")


def _arrive(folder: str, manifest: bytes, path: str, name: str, began: int) -> Offspring:
    """In a fresh process, before the rest of what it is to do is unpickled."""
    offspring = Offspring(Path(folder), manifest, Birth(path, name, began), Installed())
    offspring.begin(fresh=True)
    return offspring


@cache
def manifest_of(tape: Path) -> bytes:
    """What the run is that is on that tape, which is still being written."""
    return read(tape).manifest
