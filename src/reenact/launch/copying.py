"""Makes a clean copy of a tape, to share."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from reenact import _real
from reenact.launch import closing
from reenact.launch import manifest as manifests
from reenact.tape import scan
from reenact.tape.contents import Contents
from reenact.tape.event import Start
from reenact.tape.journal import assembled
from reenact.tape.reader import read, records
from reenact.tape.recording import Recording
from reenact.tape.scrub import scrubbed as without_secrets
from reenact.tape.store import Store
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter


def scrubbed(store: Store, path: Path, contents: Contents | None, name: str | None) -> tuple[Recording, int]:
    """The copy of a tape that is closed, in the store, and how many values were taken out."""
    recording = read(path)
    vault = Vault(contents=contents)
    vault.learn_environment(os.environ)
    vault.learn((one.value for one in scan.find(path)), bool)
    journal = without_secrets([*assembled(records(path))], vault)
    manifest = manifests.decode(next(one.manifest for one in journal if isinstance(one, Start)))
    run_id, copy = store.new(vault.clean_text(name or f"{manifest.name}-clean"))
    manifest = msgspec.structs.replace(manifest, run_id=run_id, started=_real.time_ns())
    writer = TapeWriter.create(copy, run_id, manifest.name, manifest.started)
    for record in journal:
        writer.add(Start(manifests.encode(manifest)) if isinstance(record, Start) else record)
    writer.close()
    return closing.close(copy, recording.status), len(vault.taken)
