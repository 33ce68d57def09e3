"""Makes the golden tape of the present format: `python -m tests.tapes.make`. Once a format is released, never again.

What is on it is what a recording of `agent.py` holds, but for where it was made: paths and the environment are neutral.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from reenact.launch import manifest as manifests
from reenact.tape import schema
from reenact.tape.close import close
from reenact.tape.event import AnyRecord, Exited, Kind, PartKind, SiteNamed, Start
from reenact.tape.reader import read
from reenact.tape.recording import Event, Recording
from reenact.tape.store import Store
from reenact.tape.writer import TapeWriter
from reenact.testing import Call, Calls, ModelServer, Say, Script
from tests.tape.records import journal

HERE = Path(__file__).parent
NOWHERE = "/nowhere"
POLICY = Script(Calls((Call("weather", {"city": "Oslo"}), Call("weather", {"city": "Rome"}))), Say("Mild in both."))


def golden(version: int) -> Path:
    """The tape of a format."""
    return HERE / f"format-{version}.tape"


def told(recording: Recording) -> dict[str, Any]:
    """What every later version has to read from it."""
    return {
        "digest": recording.digest.hex(),
        "summary": recording.summary,
        "status": recording.status,
        "ticks": len(recording.ticks),
        "output": {str(stream): bytes(data).decode() for stream, data in sorted(recording.wrote.items())},
        "draws": {lane.path: sum(map(len, lane.draws.values())) for lane in recording.lanes.values()},
        "events": [
            {
                "lane": event.lane,
                "kind": Kind(event.kind).name,
                "name": event.name,
                "site": site(event),
                "head": [f"{name}: {value}" for name, value in json.loads(event.head or b"[]")],
                "body": recording.body(event).decode(),
                "parts": [f"{PartKind(part.kind).name} at tick {tick}" for tick, part in event.parts],
                "answer": b"".join(part.data for _, part in event.parts).decode(),
            }
            for event in recording.events
        ],
    }


def site(event: Event) -> str:
    """Where the agent asked."""
    return f"{event.site.place} line {event.site.line}" if event.site is not None else ""


def make(path: Path) -> None:
    """Records the program, and writes the tape at `path` and what is told of it beside it."""
    with tempfile.TemporaryDirectory() as folder, ModelServer(POLICY, chunk_delay=0.005) as server:
        shutil.copy(HERE / "agent.py", folder)
        subprocess.run(
            [sys.executable, "-m", "reenact", "record", "--quiet", "--name", "golden", "agent.py", server.url],
            cwd=folder,
            env={"PATH": os.defpath, "PYTHONHASHSEED": "1"},
            capture_output=True,
            check=False,
        )
        store = Store(Path(folder) / ".reenact")
        records = [neutral(record, folder) for record in journal(store.resolve("last"))]
    path.unlink(missing_ok=True)
    manifest = manifests.decode(next(record.manifest for record in records if isinstance(record, Start)))
    writer = TapeWriter.create(path, manifest.run_id, manifest.name, manifest.started)
    for record in records:
        writer.add(record)
    writer.close()
    close(path, next(record.status for record in records if isinstance(record, Exited)))
    path.with_suffix(".json").write_text(json.dumps(told(read(path)), indent=1) + "\n", encoding="utf-8")


def neutral(record: AnyRecord, folder: str) -> AnyRecord:
    """The record as it would be had it been made nowhere."""
    match record:
        case Start():
            manifest = manifests.decode(record.manifest)
            changed = msgspec.structs.replace(
                manifest,
                executable=f"{NOWHERE}/bin/python",
                cwd=NOWHERE,
                environment={},
                packages={"httpx": manifest.packages["httpx"]},
            )
            return Start(manifests.encode(changed))
        case SiteNamed():
            inside = record.file.replace(folder, "").partition("site-packages")[2] or Path(record.file).name
            return msgspec.structs.replace(record, file=f"{NOWHERE}/{inside.lstrip('/')}")
        case _:
            return record


if __name__ == "__main__":
    make(golden(schema.FORMAT))
