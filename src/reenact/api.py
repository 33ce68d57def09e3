"""The library's face: recording a block or a function in code. The one place where all parts are joined."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, overload

import msgspec

from reenact import _real
from reenact.engine import plan as plans
from reenact.engine import values
from reenact.engine.around import around
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.failure import encode
from reenact.engine.lane import enter, get_lane, leave, muted
from reenact.engine.session import Session
from reenact.engine.side.traffic import SideTraffic
from reenact.errors import PAGE, ArgumentError, ReenactError, UsageError
from reenact.launch import child, closing, command, entry, generators, running, world
from reenact.launch import manifest as manifests
from reenact.launch.command import Command
from reenact.launch.labels import Labels
from reenact.launch.manifest import Manifest
from reenact.launch.sampling import is_off
from reenact.launch.settings import Settings
from reenact.launch.spec import CALL, Report, Spec
from reenact.launch.wish import Wish
from reenact.launch.workspace import Workspace
from reenact.seams.concurrency import asyncio as asyncio_seam
from reenact.seams.install import Installed
from reenact.seams.sockets.watch import watch
from reenact.seams.system.files import Files, attend
from reenact.seams.system.states import hide
from reenact.seams.tools import tool
from reenact.tape.event import Ended, Failed, Note, Start
from reenact.tape.labels import rows
from reenact.tape.store import Store
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter

if TYPE_CHECKING:
    from reenact.launch.onward import Called
    from reenact.probe.stop import Probe

__all__ = ["record", "tool"]

F = TypeVar("F", bound=Callable[..., Any])


class _Process:
    """What this process has of reenact: its seams, once, and what it is asked to replay."""

    def __init__(self) -> None:
        self._lock = _real.allocate_lock()
        self._installed: Installed | None = None
        self._survey: Manifest | None = None
        self._settings: Settings | None = None
        self._blocks: Counter[str] = Counter()
        self._warned: set[str] = set()
        self._key = b""
        self.expected = _expected()

    def install(self, boundaries: Sequence[str], session: Session | None = None) -> None:
        """Installs the seams at the first run, and meets what has come since at each further one."""
        with self._lock:
            if self._installed is None:
                installed = Installed()
                installed.install()
                self._installed = installed
            self._installed.bound(boundaries, session.note if session is not None else None)
            self._installed.share_process()

    @property
    def settings(self) -> Settings:
        """Those of the project, as they are at the first run."""
        if self._settings is None:
            self._settings = Settings.near(Path.cwd())
        return self._settings

    def manifest(self, run_id: str, name: str, called: str, given: str) -> Manifest:
        """The manifest of a run of this process, whose own part is surveyed once."""
        with self._lock:
            if self._survey is None:
                listed = (self.settings.boundaries, self.settings.side_traffic)
                self._survey = world.survey(_own_command(), run_id, name, self.vault(), *listed)
        return msgspec.structs.replace(
            self._survey,
            run_id=run_id,
            name=name,
            started=_real.time_ns(),
            entry=called,
            arguments=given,
            main=entry.main_module(),
            import_path=[path for path in sys.path if path and Path(path).exists() and "site-packages" not in path],
        )

    def vault(self) -> Vault:
        """A new one, for one run. All write the same for the same secret, as they have the survey in common."""
        made = Vault(self._key, contents=self.settings.contents)
        self._key = made.key
        return made

    def warn(self, name: str, what: str, error: Exception | str) -> None:
        """Says what is wrong with a run on stderr, once by that name: it will be wrong with each of its calls."""
        if name not in self._warned:
            self._warned.add(name)
            slug = error.slug if isinstance(error, ReenactError) else ""
            head, more = (f"error[{slug}]: ", f"\n  see {PAGE}#{slug}") if slug else ("", "")
            with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stderr any more
                sys.stderr.write(f"reenact: {head}{name} {what}: {error}{more}\n")

    def block(self, name: str) -> str:
        """The entry of the next block of that name."""
        with self._lock:
            self._blocks[name] += 1
            return entry.block(name, self._blocks[name])


def _own_command() -> Command:
    """The command line of this process."""
    words = tuple(sys.orig_argv[1:])
    try:
        return Command(sys.executable, *command.split(words))
    except UsageError:  # a session at the prompt, say
        return Command(sys.executable, words, ())


def _expected() -> tuple[Spec, str] | None:
    text = os.environ.pop(CALL, None)
    if text is None:
        return None
    spec = msgspec.json.decode(text, type=Spec)
    child.restore_hash_seed(spec.hash_seed)
    from reenact.tape.reader import read  # noqa: PLC0415  only in a replay

    return spec, manifests.decode(read(Path(spec.tape)).manifest).entry


_THIS: list[_Process] = []
_MAKING = _real.allocate_lock()


def _process() -> _Process:
    """This process, made when it is first needed: importing reenact changes nothing."""
    with _MAKING:
        if not _THIS:
            _THIS.append(_Process())
        return _THIS[0]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a recorded function."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def kept(self) -> tuple[str, ArgumentError | None]:
        """What it was given, as it stands on tape; or nothing, and why it cannot be kept."""
        try:
            return values.encode(self.function, self.args, self.kwargs), None
        except ArgumentError as error:
            return "", error


class Run:
    """A run of this process while it lasts. `id` is its run id once it has begun; empty when nothing is recorded."""

    def __init__(self, name: str, called: str, wish: Wish, call: Call | None = None) -> None:
        self.id = ""
        self._name = name
        self._entry = called
        self._wish = wish
        self._call = call
        self._sampled = True
        self._session: Session | None = None
        self._path: Path | None = None
        self._spec: Spec | None = None
        self._files: Files | None = None
        self._workspace: Workspace | None = None
        self._probe: Probe | None = None
        self._branch: Called | None = None

    def begin(self) -> None:
        """Starts recording, or the replay that this process was started for. Never raises in recording."""
        if is_off() or get_lane() is not None:
            return
        expected = _process().expected
        if expected is not None:
            if expected[1] == self._entry:
                self._begin_replay(expected[0])
            return
        given = (self._call.args, self._call.kwargs) if self._call is not None else ((), {})
        try:
            granted = self._wish.granted(_process().settings, given)
            if granted is not None:
                labels, self._sampled = granted
                self._begin_recording(labels)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            _process().warn(self._name, "is not recorded", error)

    def end(self, error: BaseException | None, returned: object = None) -> None:
        """Ends the run, whatever of it is still under way."""
        session, self._session = self._session, None
        if session is None:
            return
        leave(self._token)
        with muted():
            result = entry.encode_result(returned) if self._call is not None and error is None else b""
            if self._spec is not None:
                self._end_replay(session, self._spec, error, result)
            else:
                self._end_recording(session, error, result)
        loop = asyncio._get_running_loop()  # noqa: SLF001
        if loop is not None:
            asyncio_seam.detach(loop, session)
        session.dissolve()

    def pause(self) -> None:
        """What the calling context does from now on is not this run's, until `resume`."""
        if self._session is not None:
            leave(self._token)

    def resume(self) -> None:
        """Undoes `pause`, maybe in another context."""
        if self._session is not None:
            self._token = enter(self._session.main)

    def _begin_recording(self, labels: Labels) -> None:
        process = _process()
        with muted():
            given, problem = self._call.kept() if self._call is not None else ("", None)
            self.id, self._path = Store.find(Path.cwd(), self._wish.store).new(self._name)
            vault = process.vault()
            manifest = labels.on(process.manifest(self.id, self._name, self._entry, given), vault)
            told = rows(manifest.session, manifest.tags)
            first = [Start(manifests.encode(manifest))]
            writer = TapeWriter.create(
                self._path, self.id, self._name, manifest.started, told, first, encode=vault.encode
            )
            session = Session(plans.RECORD, writer, exclusive=False, vault=vault)
            if problem is not None:
                writer.add(Note(problem.slug, str(problem), -1))
                process.warn(self._entry, "is recorded, but cannot be replayed", problem)
            session.side = SideTraffic(manifest.side_traffic)
            session.run_id = self.id
            process.install(manifest.boundaries, session)
            watch()
            hide(self._path.parent)
            self._files = Files(session, self._path.parent)
            attend(session, self._files)
        self._enter(session)

    def _begin_replay(self, spec: Spec) -> None:
        process = _process()
        process.expected = None
        self._spec = spec
        with muted():
            session = child.session_of(spec)
            assert session.plan.prefix is not None  # noqa: S101  that is what makes it a replay
            manifest = manifests.decode(session.plan.prefix.manifest)
            self.id = manifest.run_id
            process.install(manifest.boundaries, session)
            watch(session, closed=True)
            self._workspace = child.entered()
            if self._workspace is not None:
                self._workspace.restore()
                attend(session, self._workspace.served())
        session.exclusive = False
        if spec.goes_on and self._workspace is not None:
            from reenact.launch.onward import Called  # noqa: PLC0415  few replays go on

            self._branch = Called(session, spec, self._workspace)
        self._probe = child.probe_of(session, spec)
        self._enter(session)
        if self._probe is not None:
            child.hold(self._probe, spec, self._workspace)

    def _enter(self, session: Session) -> None:
        self._session = session
        loop = asyncio._get_running_loop()  # noqa: SLF001
        if loop is not None:
            asyncio_seam.attach(loop, session)
        self._token = enter(session.main)

    def _end_recording(self, session: Session, error: BaseException | None, result: bytes) -> None:
        try:
            if self._files is not None:
                self._files.end()
            session.keep(Ended(session.elapsed(), encode(error) if error is not None else None, result))
            session.commit()
            if session.writer is not None:
                session.writer.close()
            if self._path is not None and not self._sampled and error is None:
                Store(self._path.parent).remove(self._path)
                self.id = ""
            elif self._path is not None:
                self._close(self._path, session.vault)
        except Exception as fault:  # noqa: BLE001  a fault of ours never reaches the agent
            session.fault(fault)
        if session.faults:
            _process().warn(f"the tape of {self.id}", "is incomplete", session.faults[0])

    def _close(self, path: Path, vault: Vault) -> None:
        """Packs and indexes the tape. All of it is durable already, so the caller of a function need not wait."""

        def close() -> None:
            try:
                closing.close(path, 0, vault=vault)
            except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
                _process().warn(f"the tape of {self.id}", "is not closed", error)

        if entry.is_function(self._entry):
            threading.Thread(target=close, name=f"reenact closes {self.id}").start()
        else:
            close()

    def _end_replay(self, session: Session, spec: Spec, error: BaseException | None, result: bytes) -> None:
        if self._probe is not None:
            self._probe.end()
        if self._branch is not None:
            self._branch.end(error, result)
            return
        failed: Failed | None = encode(error) if error is not None else None
        tape = session.plan.prefix
        ended = tape.ended if tape is not None else None
        if ended is not None and error is None and ended.error is None and ended.result != result:
            wanted, found = Datum("result", self._entry, ended.result), Datum("result", self._entry, result)
            session.latch(Divergence(What.EXIT, "0", expected=wanted, actual=found))
        child.finish_replay(session, spec, failed, self._workspace)

    @property
    def under_way(self) -> bool:
        """Whether it is recorded or replayed, and has not ended."""
        return self._session is not None

    @property
    def replaying(self) -> bool:
        """Whether this run is the replay that the process was started for."""
        return self._spec is not None


class record:  # noqa: N801  used as `with reenact.record():` and `@reenact.record`
    """Records a block or every call of a function, each on a tape of its own.

    `with reenact.record("refund") as run:` records what the block does; `run.id` is the run's id.
    `@reenact.record` and `@reenact.record("refund")` record each call of a function, sync or async, also when many are
    under way at once; of a generator function each generator, while it is asked for its next value. Inside a run that
    is being recorded already it does nothing. REENACT_ENABLED=false turns it off.

    `session` is the conversation that a run belongs to, with others: a text, or a function that is called with the
    arguments of the recorded one. `tags` are there to find it by. `sample` is the share of runs to record, from 0 to 1,
    or such a function of that: all runs of a session are recorded, or none. With `keep_failed` a run that is not in the
    sample is recorded too, and deleted unless it ends by an exception.
    """

    @overload
    def __new__(
        cls,
        name: str | None = None,
        /,
        *,
        store: str | None = None,
        session: str | Callable[..., str | None] | None = None,
        tags: Mapping[str, str | float | bool] | Iterable[str] | None = None,
        sample: float | Callable[..., float] | None = None,
        keep_failed: bool = False,
    ) -> Self: ...
    @overload
    def __new__(cls, function: F, /) -> F: ...  # type: ignore[misc]  # a decorator without brackets is the function
    def __new__(
        cls,
        what: Any = None,
        /,
        *,
        store: str | None = None,
        session: Any = None,
        tags: Any = None,
        sample: Any = None,
        keep_failed: bool = False,
    ) -> Any:
        """`what` is the name of the run, or the function to record.

        Raises:
            UsageError: the session, a tag, or the sample cannot be one.
        """
        self = super().__new__(cls)
        self._name = what if isinstance(what, str) else None
        self._wish = Wish.checked(store, session, tags, sample, keep_failed=keep_failed)
        return self(what) if callable(what) or isinstance(what, classmethod) else self

    _name: str | None
    _wish: Wish
    _run: Run

    def __enter__(self) -> Run:
        """Begins the block's run."""
        name = self._name or "block"
        self._run = Run(name, _process().block(name), self._wish)
        self._run.begin()
        return self._run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the block's run. A replay ends the program here: what comes after was not recorded."""
        self._run.end(error)
        if self._run.replaying and error is None:
            raise SystemExit(0)

    def __call__(self, function: F, /) -> F:
        """The function, recorded at each call."""
        return around(function, self._begin)

    def _begin(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = self._name or getattr(function, "__name__", "call").replace("_", "-")
        run = Run(name, entry.name_of(function), self._wish, Call(function, args, kwargs))
        run.begin()
        if not run.under_way:
            return None
        yields = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        return generators.Recorded(run) if yields else run


def replay_call() -> NoReturn:
    """Calls the recorded function again, in a process that was started for it.

    Raises:
        SystemExit: always; the report has been written by then.
    """
    process = _process()
    if process.expected is None:
        raise UsageError("nothing to replay: this is called by reenact replay")
    spec, _ = process.expected
    process.install(spec.boundaries)
    watch(closed=True)
    if spec.goes_on:
        from reenact.launch.onward import before_call  # noqa: PLC0415  few replays do

        before_call()
    try:
        function, given = _recorded_call(spec)
    except UsageError as error:
        running.end(Path(spec.report), Report(unusable=str(error), slug=error.slug))
        sys.exit(error.exit_status)
    try:
        result = function(*given.args, **given.kwargs)
        if inspect.iscoroutine(result):
            asyncio.run(result)
        elif inspect.isgenerator(result):
            generators.replayed(result, _recorded_result(spec))
        elif inspect.isasyncgen(result):
            asyncio.run(generators.replayed_async(result, _recorded_result(spec)))
    except Exception:  # noqa: BLE001  it is in the report, where it is compared with the recorded one
        sys.exit(0)
    sys.exit(0)


def _recorded_result(spec: Spec) -> bytes:
    from reenact.tape.reader import read  # noqa: PLC0415  only in a replay

    ended = read(Path(spec.parent or spec.tape)).ended  # of a branch, its parent's says how often it was asked
    return ended.result if ended is not None else b""


def _recorded_call(spec: Spec) -> tuple[Callable[..., Any], values.Arguments]:
    from reenact.tape.reader import read  # noqa: PLC0415  only in a replay

    manifest = manifests.decode(read(Path(spec.tape)).manifest)
    sys.argv = entry.argv(manifest)
    with muted():  # what the program does when it is imported was not recorded
        program = entry.Program(manifest)
        return program.function(), values.decode(manifest.arguments, program.module)
