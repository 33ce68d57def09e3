"""Resumes a run that was killed: what is on its tape is served, and then it goes on, on a tape of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from reenact import _real
from reenact.errors import UsageError
from reenact.launch import closing, entry, keeping, launcher, restored, rewinding, running, supervise
from reenact.launch import manifest as manifests
from reenact.launch import tail as tails
from reenact.launch.fate import Fate, parts_of
from reenact.launch.manifest import Manifest
from reenact.launch.page import Page
from reenact.launch.settings import Settings
from reenact.launch.spec import CALL, SPEC, Report, Spec
from reenact.launch.together import Started, Together
from reenact.tape import sealed
from reenact.tape.close import being_written
from reenact.tape.continuing import continued
from reenact.tape.event import Note, Start
from reenact.tape.journal import sliced
from reenact.tape.labels import rows
from reenact.tape.reader import records
from reenact.tape.recording import RECORDING, Recording
from reenact.tape.store import SUFFIX, Store
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter

ENDED = "{run} came to its end by itself ({how}): there is nothing to resume. Run it again with: reenact record"
NOTHING = "{run} was killed before it began: nothing of it is on tape. Run it again with: reenact record"
GOES_ON = "{run} is still being recorded: it can be resumed when its process is gone"
NO_PROGRAM = "{run} is {what}: only whole programs can be resumed by now"
PROCESSES = "{run} had started processes by multiprocessing: such a run cannot be resumed by now"
NO_SECRETS = (
    "{run} had {names} in its environment, whose values are on no tape: set {them}, or the run cannot go on as it was"
)


class Resumed(msgspec.Struct, frozen=True):
    """What came of it. `recording` is the tape of the run that went on; None where it did not come to that.

    `kept` are the files that a branch has written, by their paths, with where they are now. `alone` says why the steps
    before were not served once for it and for others that it was to begin together with.
    """

    status: int
    report: Report
    recording: Recording | None
    kept: dict[str, str] = {}
    alone: str = ""


def check(recording: Recording) -> Manifest:
    """The manifest of a run that can be resumed.

    Raises:
        UsageError: it cannot be.
    """
    manifest = manifests.decode(recording.manifest)
    run = manifest.run_id
    if recording.summary.get("status") == RECORDING and being_written(recording.path):
        raise UsageError(GOES_ON.format(run=run))
    if recording.closed_by_itself:
        raise UsageError(ENDED.format(run=run, how=recording.summary.get("status")))
    if not recording.lanes:
        raise UsageError(NOTHING.format(run=run))
    if not entry.is_program(manifest.entry):
        raise UsageError(NO_PROGRAM.format(run=run, what=manifest.entry))
    if any(entry.is_process(manifests.decode(one.manifest).entry) for one in recording.processes):
        raise UsageError(PROCESSES.format(run=run))
    return manifest


def resume(recording: Recording, store: Store, settings: Settings, fates: Mapping[int, Fate]) -> Resumed:
    """Runs the program again: on what its tape holds, and then live.

    `fates` are of the events that are not certain, see `tape.continuing.uncertain`; those without one are asked again.

    Raises:
        UsageError: it cannot be resumed.
    """
    manifest = check(recording)
    env = environment_of(manifest)
    for left in rewinding.interrupted(store):
        rewinding.undo(left)
    vault = Vault()
    vault.learn_environment(env)
    key = tails.key_of(tails.tail_of(recording))
    vault.learn([key.encode()] if key else [], bool)
    writer = _begin(recording, manifest, store, fates)
    path = writer.path
    vault.share(sealed.beside(path))
    if recording.branch is None:
        done = go_on(recording, "resume", writer, env, vault, settings)
    else:  # it has no files but copies, and is edited, sent and allowed as it was
        parent = recording.path.with_name(f"{recording.branch.parent}{SUFFIX}")
        done = go_on(recording, "fork", writer, env, vault, settings, parent, key)
    if not done.report.live:
        rewinding.undo(rewinding.folder(path))
        store.remove(path)
    return done


def go_on(  # noqa: PLR0913, PLR0917  all that it takes
    recording: Recording,
    mode: Literal["resume", "fork"],
    writer: TapeWriter,
    env: dict[str, str],
    vault: Vault,
    settings: Settings,
    parent: Path | None = None,
    key: str = "",
    *,
    keep: Path | None = None,
    quiet: bool = False,
    together: Together | None = None,
) -> Resumed:
    """Runs the program of a recording on the tape that a writer has just begun, and then live.

    Where it did not come to be live, the tape is as it was. When `quiet`, or `together` with others, nobody sees what
    it writes; what a branch writes to files is put into the folder `keep`.

    Raises:
        UsageError: it cannot be started; the tape is removed.
    """
    manifest, path, page = manifests.decode(recording.manifest), writer.path, Page(vault)
    alone = ""
    with tempfile.TemporaryDirectory(prefix="reenact-") if together is None else together.folder() as folder:
        report = Path(folder) / "report.json"
        spec = Spec(
            mode,
            str(path),
            str(report),
            hash_seed=manifest.hash_seed if manifest.hash_seed_set else None,
            last_piece=writer.first,
            settings=msgspec.json.encode(settings.table).decode(),
            project=str(settings.folder or ""),
            terminal=manifest.terminal,
            boundaries=manifest.boundaries,
            side_traffic=manifest.side_traffic,
            vault=vault.hand_on(),
            parent=str(parent or ""),
            key=key,
            keep_files=keep is not None,
        )
        asked = CALL if manifest.entry else SPEC
        env |= {"PYTHONHASHSEED": manifest.hash_seed, asked: msgspec.json.encode(spec).decode()}
        command = launcher.command_of(recording, manifest)
        try:
            if together is not None:
                status, alone = together.run(Started(command.argv, env, manifest.cwd, spec))
            else:
                streams = (subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL) if quiet else (None, None, None)
                status = supervise.run(command.argv, env, manifest.cwd, streams=streams)
        except OSError as error:
            Store(path.parent).remove(path)
            reason = f"{manifest.cwd} is not there" if not Path(manifest.cwd).is_dir() else error.strerror
            raise UsageError(supervise.NOT_STARTED.format(python=command.python, reason=reason)) from error
        finally:
            page.close()
            with contextlib.suppress(sqlite3.Error):
                writer.close()  # held until now, so that the tape is seen to be written throughout
        found = running.report_of(report)
        kept = keeping.put(found.taken, report, keep, manifest.cwd) if keep is not None else {}
    return Resumed(status, found, closing.close(path, status, vault=vault) if found.live else None, kept, alone)


def _begin(recording: Recording, manifest: Manifest, store: Store, fates: Mapping[int, Fate]) -> TapeWriter:
    """A tape that begins with what is certain: it is there with all of that, or not at all."""
    answers = {event: parts_of(recording, recording.events[event], fate) for event, fate in fates.items()}
    run, path = store.new(manifest.name)
    told = f"this run goes on with {manifest.run_id}, which was killed, by reenact resume"
    manifest = msgspec.structs.replace(
        manifest, run_id=run, started=_real.time_ns(), tags={**manifest.tags, "resumed": manifest.run_id}
    )
    begin = (Start(manifests.encode(manifest)), Note("resumed", told, -1))
    certain = continued(records(recording.path), recording, answers)
    rest = (record for record in certain if not isinstance(record, Start))
    labels = rows(manifest.session, manifest.tags)
    try:
        first = itertools.chain.from_iterable(sliced(itertools.chain(begin, rest)))
        return TapeWriter.create(path, run, manifest.name, manifest.started, labels, first)
    except BaseException:
        store.remove(path)
        raise


def environment_of(manifest: Manifest) -> dict[str, str]:
    """That of the run, with the secrets of today.

    Raises:
        UsageError: one of them is not set.
    """
    missing = [name for name in manifest.secrets if name not in os.environ]
    if missing:
        them = "them" if len(missing) > 1 else "it"
        raise UsageError(NO_SECRETS.format(run=manifest.run_id, names=", ".join(missing), them=them))
    return {**restored.environment_for(manifest), **{name: os.environ[name] for name in manifest.secrets}}
