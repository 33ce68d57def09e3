"""Processes that are held still: they are asked, and sent on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from reenact.errors import UsageError
from reenact.launch import launcher, supervise
from reenact.launch import manifest as manifests
from reenact.launch.launcher import PLAINLY
from reenact.launch.settings import Settings
from reenact.probe.link import Link
from reenact.probe.messages import Answer, Ask, Ended, Going, Hold, Park, Parked, Run, Stopped, Told, Wake
from reenact.tape.recording import Recording

_HIGH = 600  # the program gets the low numbers, as without us
_PATIENCE = 60.0  # seconds that a killed process is waited for, which has much to let go of

type_of_answer = TypeVar("type_of_answer")


class GoneError(UsageError):
    """The process is not there any more."""


class AskError(UsageError):
    """What was asked could not be answered."""


class Checkpoint:
    """A process that holds a moment, and from which others go on."""

    def __init__(self, parked: Parked, link: Link[Told]) -> None:
        self.moment = parked.moment
        self.spent = parked.spent
        self.pid = parked.pid
        self._link = link

    def wake(self, left: Callable[[Checkpoint], None]) -> Process:
        """A process that begins here. `left` is called with each checkpoint that it leaves.

        Raises:
            GoneError: it was killed.
        """
        link, theirs = Link[Told].pair(Told)
        try:
            self._link.send(Wake(), theirs)
        except OSError as error:
            link.close()
            raise GoneError("a checkpoint is gone") from error
        finally:
            os.close(theirs)
        return Process(link, left, self)

    def end(self) -> None:
        """Ends it."""
        self._link.close()


class Process:
    """One process, which stands still whenever nobody waits for it. `told` is where it stands.

    `base` is the checkpoint that it comes from: it ends with that. `spoiled`: what it was asked may have changed it.
    """

    def __init__(self, link: Link[Told], left: Callable[[Checkpoint], None], base: Checkpoint | None = None) -> None:
        self._link = link
        self._left = left
        self.base = base
        self.pid = 0
        self.spoiled = False
        try:
            told = self._told()
        except GoneError:
            link.close()
            raise
        assert isinstance(told, Stopped | Ended)  # noqa: S101  it begins by telling where it is
        self.told: Stopped | Ended = told

    def ask(self, name: str, *args: Any, kind: type[type_of_answer]) -> type_of_answer:
        """What it answers to that question, as a `kind`.

        Raises:
            AskError: it says why not.
            GoneError: it is gone.
        """
        if isinstance(self.told, Ended):
            raise AskError("the program has ended: there is nothing to look at")
        self._send(Ask(name, [msgspec.Raw(msgspec.json.encode(arg)) for arg in args]))
        told = self._told()
        assert isinstance(told, Answer)  # noqa: S101  a question has an answer
        self.spoiled |= told.spoiled
        if told.error:
            raise AskError(told.error)
        return msgspec.json.decode(told.value, type=kind)

    def run(self, run: Run) -> Stopped | Ended:
        """Sends it on, and waits until it stands again.

        Raises:
            GoneError: it was killed.
        """
        self._send(run)
        told = self._told()
        assert isinstance(told, Stopped | Ended)  # noqa: S101  whatever it does, it ends so
        self.told = told
        return told

    def hold(self) -> None:
        """Has it stand where it is when it next comes by a call or lines, if it runs. May be called from anywhere."""
        with contextlib.suppress(OSError):
            self._link.send(Hold())

    def park(self, near: int) -> Checkpoint | None:
        """Leaves it: it is a checkpoint from here on, if the last is so far away (ns of processor time), or ends."""
        with contextlib.suppress(GoneError):
            self._send(Park(near))
            told = self._told()
            if isinstance(told, Parked):
                return Checkpoint(told, self._link)
        self.end()
        return None

    def interrupt(self) -> None:
        """Whoever waits for it waits no longer: it is gone for them. May be called at any time, from anywhere."""
        self._link.shutdown()

    def end(self) -> None:
        """Ends it, also when it runs."""
        self._link.close()
        if self.pid and not isinstance(self.told, Ended):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _send(self, question: msgspec.Struct) -> None:
        try:
            self._link.send(question)
        except OSError as error:
            raise _gone() from error

    def _told(self) -> Stopped | Ended | Answer | Parked:
        """What it tells next that is not of checkpoints that it leaves."""
        while True:
            try:
                told, handed = self._link.receive()
            except (EOFError, OSError) as error:
                raise _gone() from error
            match told:
                case Going(pid):
                    self.pid = pid
                case Parked() if handed >= 0:
                    checkpoint = Checkpoint(told, Link(handed, Told))
                    self.base = self.base or checkpoint
                    self._left(checkpoint)
                case _:
                    return told


class Root:
    """A replay from its beginning, which a debugger starts: all other processes come from it."""

    def __init__(
        self,
        recording: Recording,
        settings: Settings | None,
        left: Callable[[Checkpoint], None],
        *,
        checkpoints: bool = True,
    ) -> None:
        manifest = manifests.decode(recording.manifest)
        command = launcher.command_of(recording, manifest)
        self._folder = tempfile.TemporaryDirectory(prefix="reenact-")
        link, theirs = Link[Told].pair(Told)
        high = fcntl.fcntl(theirs, fcntl.F_DUPFD, _HIGH)
        os.close(theirs)
        spec = launcher.spec_of(recording, manifest, Path(self._folder.name) / "report.json", PLAINLY, settings)
        spec = msgspec.structs.replace(spec, probe=high, checkpoints=checkpoints)
        folder = manifest.cwd if Path(manifest.cwd).is_dir() else None
        self._errors = (Path(self._folder.name) / "stderr").open("w+b")
        try:
            self._child = subprocess.Popen(  # noqa: S603
                command.argv,
                env=launcher.environment_of(manifest, spec),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(high,),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(supervise.NOT_STARTED.format(python=command.python, reason=reason)) from error
        finally:
            os.close(high)
        try:
            self.process = Process(link, left)
        except GoneError as error:
            raise UsageError(f"nothing can be held still: {self._last_words()}") from error

    def end(self) -> None:
        """Ends it and all that comes from it, and forgets what they left."""
        self.process.end()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait(_PATIENCE)
        self._errors.close()
        self._folder.cleanup()

    def _last_words(self) -> str:
        self._child.wait(_PATIENCE)
        self._errors.seek(0)
        text = self._errors.read()[-4096:].decode("utf-8", "replace").rstrip()
        return text.rpartition("\n")[2] or f"it ended with status {self._child.returncode}"


def _gone() -> GoneError:
    return GoneError("the replayed process has come to an end that nobody saw coming")
