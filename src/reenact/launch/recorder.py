"""Records programs in a process of their own."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import NoReturn

import msgspec

from reenact.errors import TapeError, TapeUnwrittenError, UsageError
from reenact.launch import interpreter, supervise, world
from reenact.launch import manifest as manifests
from reenact.launch.command import Command
from reenact.launch.labels import Labels
from reenact.launch.manifest import Manifest
from reenact.launch.page import Page
from reenact.launch.settings import Settings
from reenact.launch.slip import Slip
from reenact.launch.spec import SPEC, Spec
from reenact.tape import sealed
from reenact.tape.contents import Contents
from reenact.tape.event import Note, Start
from reenact.tape.labels import rows
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter

NOT_RECORDED = "nothing was recorded: the start-up hook failed, for the reason above"
NO_TAPE = "cannot make a tape in {store}: {reason}. Choose another folder with --store."


class Answers(msgspec.Struct, frozen=True):
    """Where the answers to a program's HTTP come from, see `Spec`, and where to report."""

    tape: Path
    report: Path
    by_url: bool = False


def record(  # noqa: PLR0913  all that a recording may be
    command: Command,
    store: Store,
    name: str | None = None,
    *,
    deep: bool = False,
    labels: Labels | None = None,
    answers: Answers | None = None,
    contents: Contents | None = None,
) -> tuple[int, Recording]:
    """Runs a program and records it; `deep` with digests of its variables. Its exit status, and its tape, closed.

    `labels` are those that it begins with, if any; `answers` answer its HTTP in the place of the network; `contents`
    finds what is to be redacted besides credentials.

    Raises:
        UsageError: it could not be recorded.
        TapeUnwrittenError: it has run, and its tape could not be closed.
    """
    vault = Vault(contents=contents)
    vault.learn_environment(os.environ)
    name = vault.clean_text(name or command.name)
    settings = Settings.near(Path.cwd())
    boundaries, side_traffic = settings.boundaries, settings.side_traffic
    run_id, path = store.new(name)
    vault.share(sealed.beside(path))
    manifest = world.survey(command, run_id, name, vault, boundaries, side_traffic)
    manifest = (labels or Labels()).on(manifest, vault)
    writer = _begun(store, path, manifest, vault)
    slip, page = Slip.made(), Page(vault)
    user_seed = os.environ.get("PYTHONHASHSEED")
    spec = Spec(
        "record",
        str(path),
        hash_seed=user_seed,
        last_piece=writer.first,
        terminal=manifest.terminal,
        boundaries=boundaries,
        side_traffic=side_traffic,
        deep=deep,
        slip=slip.path,
        vault=vault.hand_on(),
    )
    if answers is not None:
        spec = msgspec.structs.replace(
            spec,
            answers=str(answers.tape),
            report=str(answers.report),
            by_url=answers.by_url,
            settings=msgspec.json.encode(settings.table).decode(),
            project=str(settings.folder or ""),
        )
    env = {**os.environ, "PYTHONHASHSEED": manifest.hash_seed, SPEC: msgspec.json.encode(spec).decode()}
    env.pop("REENACT_RECORD", None)
    try:
        status = supervise.run(command.argv, env, meanwhile=_load_closing)
    except OSError as error:
        store.remove(path)
        raise UsageError(supervise.NOT_STARTED.format(python=command.python, reason=error.strerror)) from error
    finally:
        with contextlib.suppress(sqlite3.Error):
            writer.close()  # held until now, so that the tape is seen to be written throughout
        untold = slip.texts
        slip.close()
        page.close()
    from reenact.launch import closing  # noqa: PLC0415  see `_load_closing`

    try:
        recording = closing.close(path, status, [Note("fault", text, -1) for text in untold], vault)
    except TapeError as error:
        told = (text.rpartition("\n")[2] for text in untold)
        raise TapeUnwrittenError(". ".join((*told, str(error))), status) from error
    if not recording.lanes and (
        status == interpreter.HOOK_FAILED or not interpreter.has_hook(command.python, command.flags)
    ):
        store.remove(path)
        missing = interpreter.HOOK_MISSING.format(python=command.python)
        raise UsageError(NOT_RECORDED if status == interpreter.HOOK_FAILED else missing)
    return status, recording


def _load_closing() -> None:
    """It takes a while, in which the program that is recorded can be on its way."""
    import reenact.launch.closing  # noqa: F401, PLC0415


def _begun(store: Store, path: Path, manifest: Manifest, vault: Vault) -> TapeWriter:
    """The tape of a run that begins, which says what is run."""
    labels, first = rows(manifest.session, manifest.tags), [Start(manifests.encode(manifest))]
    try:
        return TapeWriter.create(
            path, manifest.run_id, manifest.name, manifest.started, labels, first, encode=vault.encode
        )
    except (sqlite3.Error, OSError) as error:
        with contextlib.suppress(OSError):
            store.remove(path)
        raise UsageError(NO_TAPE.format(store=store.root, reason=error)) from error


def bare(command: Command) -> NoReturn:
    """Becomes the program, without recording it.

    Raises:
        UsageError: it could not be started.
    """
    try:
        os.execvp(command.python, command.argv)  # noqa: S606  what the user has asked to run
    except OSError as error:
        raise UsageError(supervise.NOT_STARTED.format(python=command.python, reason=error.strerror)) from error
