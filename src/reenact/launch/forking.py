"""Forks a run: what its tape holds up to a step is served, then the run goes on live, on a tape of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from reenact import _real
from reenact.engine.divergence import Divergence
from reenact.errors import UsageError
from reenact.launch import entry, launcher, resuming
from reenact.launch import manifest as manifests
from reenact.launch import tail as tails
from reenact.launch.launcher import Manner
from reenact.launch.manifest import Manifest
from reenact.launch.resuming import Resumed
from reenact.launch.settings import Settings
from reenact.launch.tail import Tail
from reenact.launch.together import Together
from reenact.tape import branching, sealed
from reenact.tape.close import being_written
from reenact.tape.event import Branch, Part, Start
from reenact.tape.labels import rows
from reenact.tape.recording import RECORDING, Recording
from reenact.tape.store import Store
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter

GOES_ON = "{run} is still being recorded: it can be forked when its process is gone"
KILLED = "{run} was killed before its end: go on with it by reenact resume {run}, and fork what comes of that"
BLOCK = (
    "{run} is a block of code (with reenact.record()), and what stood before it in the program is on no tape: it would "
    "happen again, live. Make a function of it, with @reenact.record: that can be forked"
)
PROCESSES = "{run} had started processes by multiprocessing: such a run cannot be forked by now"


class Point(msgspec.Struct, frozen=True):
    """Where a run is forked: at an event of a step (0: of none), and `what` is other there, in a few words.

    `edits` are the parts of answers in the place of those on tape; without one for `event`, that is asked again.
    `before`: it is not even asked as it was; -1 is then where the tape ends.
    """

    event: int
    edits: Sequence[Part] = ()
    step: int = 0
    what: str = "asked again"
    before: bool = False


def check(recording: Recording) -> Manifest:
    """The manifest of a run that can be forked.

    Raises:
        UsageError: it cannot be.
    """
    manifest = manifests.decode(recording.manifest)
    run = manifest.run_id
    launcher.check_program(manifest)
    if recording.summary.get("status") == RECORDING:
        raise UsageError((GOES_ON if being_written(recording.path) else KILLED).format(run=run))
    if not recording.closed_by_itself:
        raise UsageError(KILLED.format(run=run))
    if entry.is_block(manifest.entry):
        raise UsageError(BLOCK.format(run=run))
    if not entry.is_program(manifest.entry):
        launcher.command_of(recording, manifest)  # which says why it cannot be called
    if any(entry.is_process(manifests.decode(one.manifest).entry) for one in recording.processes):
        raise UsageError(PROCESSES.format(run=run))
    return manifest


def fork(  # noqa: PLR0913  all that a branch is from its first moment on
    recording: Recording,
    store: Store,
    settings: Settings,
    point: Point,
    tail: Tail,
    name: str = "",
    *,
    keep: Callable[[str], Path] | None = None,
    quiet: bool = False,
    together: Together | None = None,
) -> Resumed:
    """Runs the program again: on what its tape holds up to that `point`, and then live.

    `keep` says where what the branch of that name writes to files is kept. Branches that begin at that point `together`
    come to it once.

    Raises:
        UsageError: it cannot be forked.
    """
    manifest = check(recording)
    env = resuming.environment_of(manifest)
    vault = Vault(together.key if together is not None else b"")
    vault.learn_environment(env)
    key = tails.key_of(tail)
    vault.learn([key.encode()] if key else [], bool)
    here = point.event, [*point.edits], point.step, point.what, point.before
    branch = Branch(manifest.run_id, recording.digest, *here)
    writer = _begin(recording, manifest, store, branch, tail, name)
    vault.share(sealed.beside(writer.path))
    kept = keep(writer.path.stem) if keep is not None else None
    parent = recording.path
    done = resuming.go_on(
        recording, "fork", writer, env, vault, settings, parent, key, keep=kept, quiet=quiet, together=together
    )
    if not done.report.live:
        store.remove(writer.path)
    if done.report.unusable:
        raise launcher.unusable(done.report)
    return done


def changed(recording: Recording, settings: Settings) -> tuple[Point, Divergence] | None:
    """Where the program as it is now leaves the tape first, and how; None where it does the same.

    Raises:
        UsageError: it cannot be run.
    """
    check(recording)
    done = launcher.replay(recording, Manner(quiet=True), settings=settings)
    found = next(iter(done.report.divergences), None)
    if found is None:
        return None
    at = found.event
    if at is None and found.after is not None:
        lane = recording.events[found.after].lane
        at = next((event.id for event in recording.lanes[lane].events if event.id > found.after), None)
    return Point(-1 if at is None else at, what="today's code", before=True), found


def _begin(recording: Recording, manifest: Manifest, store: Store, branch: Branch, tail: Tail, name: str) -> TapeWriter:
    """The tape of a branch, which begins with where it leaves its parent."""
    run, path = store.new(name or manifest.name)
    own = msgspec.structs.replace(manifest, run_id=run, name=name or manifest.name, started=_real.time_ns())
    first = (Start(branching.news(recording.manifest, manifests.encode(own))), branch, tails.kept(tail))
    labels = rows(own.session, own.tags) | branching.rows(branch)
    try:
        return TapeWriter.create(path, run, own.name, own.started, labels, first)
    except BaseException:
        store.remove(path)
        raise
