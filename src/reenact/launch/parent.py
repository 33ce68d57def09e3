"""What a process knows of the run that has started it, whose tape is still being written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from reenact.launch import manifest as manifests
from reenact.launch.manifest import Manifest
from reenact.tape.close import leave_faults
from reenact.tape.event import Start
from reenact.tape.reader import records


@cache
def manifest_of(tape: Path) -> Manifest:
    """What the run is that is on that tape."""
    first = next(records(tape))
    return manifests.decode(first.manifest if isinstance(first, Start) else b"")


@contextlib.contextmanager
def faults_told(tape: Path, name: object) -> Iterator[None]:
    """A fault of ours never reaches the agent: the run tells it, of the process that is called so."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        with contextlib.suppress(OSError):
            leave_faults(tape, f"{name} is not on tape whole: {type(error).__name__}: {error}\n")
