"""Replays recorded programs in a process of their own."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from reenact import __version__, _real
from reenact.engine.divergence import Divergence, What
from reenact.engine.schedule import Schedule
from reenact.errors import ArgumentError, UsageError
from reenact.launch import entry, interpreter, restored, running, standstill, supervise
from reenact.launch import manifest as manifests
from reenact.launch.command import Command
from reenact.launch.manifest import Manifest
from reenact.launch.settings import Settings
from reenact.launch.spec import CALL, SPEC, Report, Spec
from reenact.launch.standstill import Standstill
from reenact.tape.event import LOCALS_SALT, UNKNOWN_STATUS, VISITED
from reenact.tape.recording import Recording

NO_HOOK = (
    "nothing was run: the tape was recorded with {python}, and there reenact's start-up hook does not run, so that the "
    "program would reach the network. Install reenact {version} into that interpreter."
)
NOT_REPLAYED = "nothing was replayed: the start-up hook failed. {reason}"
NOT_DEEP = (
    "{run} was recorded without --deep: its tape holds nothing of variables. Record it with: reenact record --deep"
)
STANDS_STILL = "it did nothing for {seconds:.0f} s, and was ended: it waits for what is not on tape"
NO_PROGRAM = (
    "{run} was imported ({source}) and names no program: give the one whose HTTP it is to answer, as in "
    "reenact replay {run} -- agent.py"
)
CALL_AGAIN = "from reenact.api import replay_call; replay_call()"
_TAIL = 4096  # bytes of a quiet replay's stderr that are kept


class Manner(msgspec.Struct, frozen=True):
    """How to replay. `observe`: past differences. `deep`: the agent's variables count, too. `quiet`: show no output."""

    observe: bool = False
    deep: bool = False
    quiet: bool = False


PLAINLY = Manner()


class Other(msgspec.Struct, frozen=True):
    """An order other than the tape's. `taken` is called with the tape of it, as long as that is there."""

    schedule: Schedule
    taken: Callable[[Path], None]


class Replayed(msgspec.Struct, frozen=True):
    """A replay that is over. `took` is in ns; `stderr` is the end of what a quiet one wrote there.

    `processes` are those of the processes of the run, and of what they have started, that were started again; and of
    the Pythons that joined it. `why` says why one could not be replayed.
    """

    status: int
    report: Report
    manifest: Manifest
    recording: Recording
    took: int = 0
    stderr: bytes = b""
    observed: bool = False
    processes: tuple[Replayed, ...] = ()
    why: str = ""

    @property
    def name(self) -> str:
        """What a process is called: that of multiprocessing by its name, a program by its command."""
        return self.recording.name if entry.is_process(self.manifest.entry) else self.manifest.command


def replay(
    recording: Recording,
    manner: Manner = PLAINLY,
    *,
    settings: Settings | None = None,
    waiting: supervise.Waiting | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Replayed:
    """Runs the recorded program again on what its tape holds.

    `waiting`, `meanwhile`: as of `supervise.run`.

    Raises:
        UsageError: the program cannot be started, or was recorded without digests of variables.
        KeyboardInterrupt: the user ended it with Ctrl-C.
    """
    supervised = functools.partial(supervise.run, waiting=waiting, meanwhile=meanwhile)
    done = _again(recording, manner, settings, supervised)
    joined = [_joined(each, manner, settings) for each in (done, *done.processes)]
    return msgspec.structs.replace(done, processes=(*done.processes, *itertools.chain(*joined)))


def _joined(done: Replayed, manner: Manner, settings: Settings | None) -> tuple[Replayed, ...]:
    """The Pythons that the replay came to start, each replayed by itself: what it wrote, its program has on tape."""

    def alone(recording: Recording) -> tuple[Replayed, ...]:
        manifest = manifests.decode(recording.manifest)
        why = next((note.text for note, _ in recording.notes if note.slug == VISITED), "")
        try:
            if not why:
                again = _again(
                    recording, msgspec.structs.replace(manner, quiet=True), settings, supervise.run, patient=False
                )
                return again, *again.processes, *_joined(again, manner, settings)
        except UsageError as error:
            why = str(error)
        return (Replayed(0, Report(), manifest, recording, observed=manner.observe, why=why),)

    started = None if not done.report.complete else done.report.joined
    found = [one for one in done.recording.processes if entry.is_program(manifests.decode(one.manifest).entry)]
    found = [one for one in found if started is None or one.main in started]
    if not found:
        return ()
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  few runs have any

    folders = [Path(manifests.decode(one.manifest).cwd) for one in found]
    with _there(folders), ThreadPoolExecutor(os.cpu_count()) as pool:
        return tuple(itertools.chain(*pool.map(alone, found)))


@contextlib.contextmanager
def _there(folders: Iterable[Path]) -> Iterator[None]:
    """Working directories that the run has deleted are there meanwhile, empty: a process cannot be started in none."""
    made: list[Path] = []
    for folder in folders:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            made += missing
    try:
        yield
    finally:
        for path in made:
            with contextlib.suppress(OSError):  # somebody else uses it by now
                path.rmdir()


def reorder(recording: Recording, other: Other, settings: Settings) -> Replayed:
    """As a quiet `replay`, with the tape's outcomes in another order."""
    return _again(recording, Manner(quiet=True), settings, supervise.run, other)


def _again(
    recording: Recording,
    manner: Manner,
    settings: Settings | None,
    supervised: Callable[..., int],
    other: Other | None = None,
    *,
    patient: bool = True,
) -> Replayed:
    """As `replay`. One that is not `patient` ends a process that stands still."""
    manifest = manifests.decode(recording.manifest)
    command = command_of(recording, manifest)
    if manner.deep and LOCALS_SALT not in recording.snapshots:
        raise UsageError(NOT_DEEP.format(run=manifest.run_id))
    with tempfile.TemporaryDirectory(prefix="reenact-") as folder:
        report, errors, onto = (Path(folder) / name for name in ("report.json", "stderr", "order.tape"))
        spec = spec_of(recording, manifest, report, manner, settings)
        if other is not None:
            from reenact.tape.writer import TapeWriter  # noqa: PLC0415  few replays are written

            TapeWriter.create(onto, "", "", 0).close()
            spec = msgspec.structs.replace(spec, mode="explore", schedule=other.schedule, onto=str(onto))
        env = environment_of(manifest, spec)
        still = Standstill(report)
        if not patient:
            supervised = functools.partial(supervised, waiting=still)
        began = _real.monotonic_ns()
        status = _run(supervised, command, env, manifest.cwd, errors if manner.quiet else None)
        processes = _processes(recording, report, observed=manner.observe)
        took = _real.monotonic_ns() - began
        found = running.report_of(report)
        stderr = errors.read_bytes()[-_TAIL:] if manner.quiet else b""
        if other is not None:
            other.taken(onto)
    if still.come:
        notes = (STANDS_STILL.format(seconds=standstill.PATIENCE),)
        found.divergences.append(Divergence(What.STUCK, recording.main, notes=notes))
    if found.unusable:
        raise unusable(found)
    if not found.begun and status == interpreter.HOOK_FAILED:
        raise UsageError(NOT_REPLAYED.format(reason=stderr.decode("utf-8", "replace").rstrip().rpartition("\n")[2]))
    if not found.begun and not interpreter.has_hook(command.python, command.flags):
        raise UsageError(interpreter.HOOK_MISSING.format(python=command.python))
    if status == -signal.SIGINT and recording.status not in (None, status):
        raise KeyboardInterrupt
    return Replayed(status, found, manifest, recording, took, stderr, manner.observe, processes)


def spec_of(recording: Recording, manifest: Manifest, report: Path, manner: Manner, settings: Settings | None) -> Spec:
    """What the process of a replay is asked."""
    return Spec(
        "replay",
        str(recording.path),
        str(report),
        recording.main,
        manner.observe,
        manifest.hash_seed if manifest.hash_seed_set else None,
        settings=msgspec.json.encode(settings.table if settings is not None else {}).decode(),
        project=str(settings.folder or "") if settings is not None else "",
        terminal=manifest.terminal,
        boundaries=manifest.boundaries,
        side_traffic=manifest.side_traffic,
        deep=manner.deep,
    )


def environment_of(manifest: Manifest, spec: Spec) -> dict[str, str]:
    """What the process of a replay finds in its environment, and what it is asked."""
    asked = CALL if manifest.entry else SPEC
    own = {"PYTHONHASHSEED": manifest.hash_seed, asked: msgspec.json.encode(spec).decode()}
    return {**restored.environment_for(manifest), **own}


def _processes(recording: Recording, report: Path, *, observed: bool) -> tuple[Replayed, ...]:
    """The replays of the processes of the run that were started in its replay, when they are over."""
    if not recording.processes:
        return ()
    from reenact.launch import relatives  # noqa: PLC0415  few runs start processes

    found = []
    for process, own, still in relatives.awaited(recording, report):
        manifest = manifests.decode(process.manifest)
        told = running.report_of(own)
        if still:
            told.faults.append(f"{process.name} did not come to its end, and was ended")
        status = told.status if told.status is not None else UNKNOWN_STATUS
        found.append(Replayed(status, told, manifest, process, observed=observed))
    return tuple(found)


def check_program(manifest: Manifest) -> None:
    """Sees that there is one to run.

    Raises:
        UsageError: the run was imported.
    """
    if entry.is_import(manifest.entry):
        source = manifest.entry.partition(":")[2]
        raise UsageError(NO_PROGRAM.format(run=manifest.run_id, source=source))


def command_of(recording: Recording, manifest: Manifest) -> Command:
    """What to run: the program again, or for a recorded function a process that calls it."""
    check_program(manifest)
    if entry.is_process(manifest.entry):
        whole = recording.path.parent.name
        raise UsageError(
            f"{manifest.name} is a process that {whole} started, and is replayed as what {whole} saw of it"
        )
    python, flags = restored.python_for(manifest), tuple(manifest.flags)
    if interpreter.runs_unseen(python, flags) and not interpreter.has_hook(python, flags):
        raise UsageError(NO_HOOK.format(python=python, version=__version__))
    if not entry.is_function(manifest.entry):
        return Command(python, flags, tuple(manifest.target))
    if not manifest.arguments:
        why = next((note.text for note, _ in recording.notes if note.slug == ArgumentError.slug), "nobody knows why")
        raise ArgumentError(f"{manifest.entry} cannot be called again: {why}")
    return Command(python, flags, ("-c", CALL_AGAIN))


def unusable(report: Report) -> UsageError:
    """Why the recorded function could not be called."""
    kinds = (ArgumentError, UsageError)
    return next((kind for kind in kinds if kind.slug == report.slug), UsageError)(report.unusable)


def _run(
    supervised: Callable[..., int], command: Command, env: Mapping[str, str], cwd: str, errors: Path | None
) -> int:
    folder = cwd if Path(cwd).is_dir() else None
    try:
        if errors is None:
            return supervised(command.argv, env, folder, streams=(subprocess.DEVNULL, None, None))
        with errors.open("wb") as file:
            return supervised(command.argv, env, folder, streams=(subprocess.DEVNULL, subprocess.DEVNULL, file))
    except (OSError, ValueError) as error:  # ValueError: a tape may hold what is no command line
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(supervise.NOT_STARTED.format(python=command.python, reason=reason)) from error
