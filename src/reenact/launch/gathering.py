"""Closes the tapes of the processes that a run has started, when the run is over, and tells what is on them."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

from reenact.errors import TapeError
from reenact.launch import closing
from reenact.launch import manifest as manifests
from reenact.tape.close import being_written
from reenact.tape.event import Kind, Note
from reenact.tape.reader import Recording
from reenact.tape.store import Store

_SHOWN = 3
_BETWEEN = (Kind.PIPE, Kind.WAIT, Kind.EXIT, Kind.SLEEP)  # what passes between processes, and time


def folder_of(tape: Path) -> Path:
    """Where the tapes of the processes are that a run has started."""
    return tape.with_suffix("")


def gathered(tape: Path) -> list[Note]:
    """Closes the tapes of a run's processes. What there is on them; those that hold nothing are deleted."""
    store = Store(folder_of(tape))
    notes = []
    for run_id in store.ids():
        path = store.path(run_id)
        if being_written(path):
            notes.append(Note("process", f"{run_id} goes on: what it does from now on is its own", -1))
            continue
        try:
            recording = closing.close(path, None)
        except TapeError:  # the process was killed while it made the tape
            store.remove(path)
            continue
        told = _told(recording)
        if told:
            name = manifests.decode(recording.manifest).name
            notes.append(Note("process", f"{name} {told}: reenact show {run_id}", -1))
        else:
            store.remove(path)
    with contextlib.suppress(OSError):
        store.root.rmdir()
    return notes


def _told(recording: Recording) -> str:
    """What a process did that its program did not see; empty when there is nothing."""
    asked = Counter(event.name for event in recording.events if event.kind not in _BETWEEN)
    told = [f"{name} ({count} times)" if count > 1 else name for name, count in asked.most_common(_SHOWN)]
    if len(asked) > _SHOWN:
        told.append(f"{sum(asked.values()) - sum(asked[name] for name, _ in asked.most_common(_SHOWN))} more")
    written = sum(len(data) for log in recording.lanes.values() for data in log.wrote.values())
    if written:
        told.append(f"wrote {written:,} bytes")
    return ", ".join(told)
