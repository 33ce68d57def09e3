"""Inside a Python that a recorded run has started: begins the recording of this process, which is part of that run."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from reenact import __version__, _real
from reenact.engine import plan as plans
from reenact.engine.session import Birth, Session
from reenact.engine.side.traffic import SideTraffic
from reenact.launch import child, command, page, parent, world
from reenact.launch import manifest as manifests
from reenact.launch.invitation import Invitation
from reenact.launch.joining import NOWHERE, identity
from reenact.launch.spec import Spec
from reenact.seams.patch import Patches
from reenact.seams.system import made
from reenact.tape.event import OUTPUTS, Snapshot, Start
from reenact.tape.reader import folder_of
from reenact.tape.store import Store
from reenact.tape.writer import TapeWriter

GIVEN = "{program} was given the descriptor {descriptor}: what passes through it is not on tape"

SEEDLESS = "{program} ignores its environment, and so its hash seed: sets may have another order in a replay"


def start(text: str) -> None:
    """Begins what an invitation asks for. Called by the start-up hook before the program, whatever comes."""
    try:
        invitation = msgspec.json.decode(text, type=Invitation)
    except (ValueError, RecursionError):
        return  # of another version of reenact, which will tell that this has left nothing
    hash_seed = os.environ.get("PYTHONHASHSEED", "")
    child.restore_hash_seed(invitation.hash_seed)
    if invitation.reenact == __version__:
        with parent.faults_told(Path(invitation.tape), sys.orig_argv[1:2]):
            _begin(invitation, hash_seed)


def _begin(invitation: Invitation, hash_seed: str) -> None:
    vault, run = page.read(invitation.vault), Path(invitation.tape)
    program = command.Command(sys.executable, *command.split(tuple(sys.orig_argv[1:])))
    run_id, tape = Store(folder_of(run)).new(program.name)
    seed_set = invitation.hash_seed is not None
    own = {"run_id": run_id, "name": program.name, "hash_seed": hash_seed, "hash_seed_set": seed_set}
    manifest = world.inherited(parent.manifest_of(run), program, vault, **own)
    if invitation.coerced:
        manifest.environment.pop("LC_CTYPE", None)
    first = [Start(manifests.encode(manifest))]
    writer = TapeWriter.create(tape, run_id, program.name, manifest.started, first=first, encode=vault.encode)
    session = Session(plans.RECORD, writer, birth=Birth(invitation.lane, program.name, invitation.began), vault=vault)
    session.run_id = invitation.run
    session.side = SideTraffic(manifest.side_traffic)
    for descriptor in _inherited():
        session.note("child", GIVEN.format(program=program.name, descriptor=descriptor))
    if sys.flags.ignore_environment:
        session.note("child", SEEDLESS.format(program=program.name))
    session.keep(Snapshot(OUTPUTS, _outputs(invitation.outputs)))
    session.commit()
    spec = Spec(
        "record",
        str(tape),
        terminal=manifest.terminal,
        boundaries=manifest.boundaries,
        side_traffic=manifest.side_traffic,
        deep=invitation.deep,
    )
    child.look(session, spec)
    files = child.begin_program(session, spec, Path(invitation.store), hash_seed)
    if files is not None:
        since = _real.time_ns() - (_real.monotonic_ns() - invitation.began)
        made.install(Patches(), session, files, since, program.target[0])


def _inherited() -> Iterator[int]:
    """The descriptors that the program was given besides the standard ones: what is opened here is not inheritable."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/dev/fd"):  # noqa: PTH208  names are wanted, not paths
            with contextlib.suppress(OSError):
                if int(name) > 2 and os.get_inheritable(int(name)):
                    yield int(name)


def _outputs(parents: list[tuple[int, int]]) -> bytes:
    """See `OUTPUTS`."""
    own = [identity(1), identity(2)]
    # stdout and stderr may be one and the same: then each is its own
    found = [[at for at in (number, 3 - number) if own[number - 1] == parents[at - 1] != NOWHERE] for number in (1, 2)]
    return b"".join(b"%d" % (streams[0] if streams else 0) for streams in found)
