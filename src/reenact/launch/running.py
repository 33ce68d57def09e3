"""What a replay has found so far, kept where its parent finds it when the process is gone before it could report.

The counts are memory that is a file's, so that keeping them costs no call of the system. Each finding is a line of
another file: a report of that alone.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reenact import _real
from reenact.engine.boundary import ASKED, COMPARED, DRIFTED, WRITTEN
from reenact.engine.divergence import Divergence
from reenact.launch.spec import Report

if TYPE_CHECKING:
    from reenact.engine.session import Session

_COUNTS = struct.Struct("=5Q")
_PID = 4  # after what is counted, the number of the process
_DRIFTED = "clock or randomness read where the tape holds no more"


def begin(session: Session, report: Path) -> None:
    """What `session` counts and finds is kept beside `report` from now on."""
    counts = _counts(report)
    counts.write_bytes(_COUNTS.pack(0, 0, 0, 0, _real.getpid()))
    with counts.open("r+b") as file:
        session.boundary.counts = _shared(file.fileno()).cast("Q")
    findings = _findings(report)

    def found(finding: Divergence | str) -> None:
        told = Report(faults=[finding]) if isinstance(finding, str) else Report(divergences=[finding])
        with contextlib.suppress(OSError), findings.open("ab") as file:
            file.write(msgspec.json.encode(told) + b"\n")

    session.found = found


def _shared(descriptor: int) -> memoryview:
    """The counts of that file as memory, for as long as this process is there.

    Without a descriptor of its own, which Python's `mmap` has before 3.13: the program would come upon it.
    """
    import ctypes  # noqa: PLC0415  whoever reads the counts needs no memory for them
    import mmap  # noqa: PLC0415  as above

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    both = mmap.PROT_READ | mmap.PROT_WRITE
    address = libc.mmap(None, _COUNTS.size, both, mmap.MAP_SHARED, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return memoryview((ctypes.c_ubyte * _COUNTS.size).from_address(address)).cast("B")


def beside(report: Path, process: str) -> Path:
    """Where a process of the run reports, by the path of its main lane."""
    return report.with_name(f"process-{process}.json")


def end(report: Path, found: Report) -> None:
    """The replay is over, and found this."""
    whole = report.with_suffix(".part")
    whole.write_bytes(msgspec.json.encode(found))
    os.replace(whole, report)  # noqa: PTH105  whoever kills the process meanwhile leaves no half of it


def process_of(report: Path) -> int:
    """The number of the replay's process; 0 where it has not begun."""
    counts = _counts(report).read_bytes() if _counts(report).is_file() else b""
    return int(_COUNTS.unpack(counts)[_PID]) if len(counts) == _COUNTS.size else 0


def signs_of_life(report: Path, pid: int) -> tuple[bytes, str]:
    """What changes while a process replays, or computes (proc(5)); the second is empty where nobody tells."""
    counts = _counts(report).read_bytes() if _counts(report).is_file() else b""
    try:
        return counts, Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii")
    except OSError:
        return counts, ""


def report_of(report: Path) -> Report:
    """What the replay reported at its end, or all that is known of one that did not come to it."""
    if report.is_file():
        return msgspec.json.decode(report.read_bytes(), type=Report)
    if not _counts(report).is_file():
        return Report()
    counts = _COUNTS.unpack(_counts(report).read_bytes())
    drifts = {_DRIFTED: counts[DRIFTED]} if counts[DRIFTED] else {}
    found = Report(counts[ASKED], counts[COMPARED], counts[WRITTEN], drifts=drifts, begun=True)
    for told in _told(_findings(report)):
        found.divergences.extend(told.divergences)
        found.faults.extend(told.faults)
    return found


def _told(findings: Path) -> list[Report]:
    lines = findings.read_bytes().splitlines(keepends=True) if findings.is_file() else []
    return [msgspec.json.decode(line, type=Report) for line in lines if line.endswith(b"\n")]


def _counts(report: Path) -> Path:
    return report.with_suffix(".counts")


def _findings(report: Path) -> Path:
    return report.with_suffix(".findings")
