"""How large a tape is, next to what was on the wire, and to the best that zstd makes of all of that at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import zstandard

from bench.agents.pace import UNLED
from bench.figure import AtMostTimes, Figure, Quantity, Unit
from bench.launch import agent, recorded, run
from bench.scale import Scale
from reenact.tape.reader import read
from reenact.tape.recording import Recording

LIMIT = AtMostTimes(1.5)
LINEAR = AtMostTimes(1.1)
_JUDGED = 200
_VCR_UP_TO = 200


@dataclass(frozen=True, slots=True)
class Tape:
    """A recorded run: sizes in bytes."""

    steps: int
    path: Path
    size: int
    raw: int
    best: int


def measure(scale: Scale, url: str, folder: Path) -> tuple[list[Figure], list[str]]:
    """The figures, and where the bytes of the tape of 200 steps are."""
    tapes = [_record(steps, url, folder / f"tape{steps}") for steps in scale.tapes]
    figures: list[Figure] = []
    for tape in tapes:
        what = f"tape of {tape.steps:,} steps"
        figures.append(
            _figure(
                what,
                tape.size,
                f"zstd -19 --long=27 {_bytes(tape.best)}",
                tape.size / tape.best,
                LIMIT if tape.steps == _JUDGED else None,
            )
        )
        figures.append(_figure(what, tape.size, f"raw {_bytes(tape.raw)}", tape.size / tape.raw, None))
    figures += _growth(tapes)
    compared = max((tape for tape in tapes if tape.steps <= _VCR_UP_TO), key=lambda tape: tape.steps)
    return [*figures, _vcr(compared, url, folder)], _where(compared)


def _figure(what: str, size: float, reference: str, ratio: float, target: AtMostTimes | None) -> Figure:
    return Figure("A tape", what, Quantity(size, Unit.BYTES), reference, ratio, target)


def _bytes(size: float) -> Quantity:
    return Quantity(size, Unit.BYTES)


def _record(steps: int, url: str, folder: Path) -> Tape:
    folder.mkdir()
    run(recorded(folder / "store", "growing", UNLED, f"{url}/json-{folder.name}/v1", str(steps), "json"), folder)
    (path,) = (folder / "store").glob("*.tape")
    raw, best = 0, 0
    compressor = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(19, window_log=27, enable_ldm=True)
    ).compressobj()
    for data in _wire(read(path)):
        raw += len(data)
        best += len(compressor.compress(data))
    return Tape(steps, path, path.stat().st_size, raw, best + len(compressor.flush()))


def _wire(recording: Recording) -> Iterator[bytes]:
    """What was sent and received: method, address, headers and bodies, in order."""
    for event in recording.events:
        yield event.name.encode()
        yield event.head
        yield recording.body(event)
        for _tick, part in event.parts:
            yield part.data


def _growth(tapes: list[Tape]) -> list[Figure]:
    """Bytes of each further step, late in a run as compared with early."""
    found = []
    for early, middle, late in zip(tapes, tapes[1:], tapes[2:], strict=False):
        before = (middle.size - early.size) / (middle.steps - early.steps)
        now = (late.size - middle.size) / (late.steps - middle.steps)
        what = f"each step from {middle.steps:,} to {late.steps:,}"
        reference = f"from {early.steps:,} to {middle.steps:,}: {_bytes(before)}"
        last = late is tapes[-1]
        found.append(_figure(what, now, reference, now / before, LINEAR if last else None))
    return found[-1:]


def _vcr(tape: Tape, url: str, folder: Path) -> Figure:
    cassette = folder / "cassette.yaml"
    words = (str(cassette), UNLED, f"{url}/json-vcr-size/v1", str(tape.steps), "json")
    run(agent("under_vcr", *words), folder)
    size = cassette.stat().st_size
    what = f"vcrpy, cassette of {tape.steps:,} steps"
    return _figure(what, size, f"zstd -19 --long=27 {_bytes(tape.best)}", size / tape.best, None)


def _where(tape: Tape) -> list[str]:
    with closing(sqlite3.connect(tape.path)) as db:
        count, data = db.execute("SELECT count(*), sum(length(data)) FROM piece").fetchone()
        pages = db.execute(
            "SELECT name, sum(pgsize), sum(payload) FROM dbstat GROUP BY name ORDER BY 2 DESC"
        ).fetchall()
    lines = [f"the journal, compressed: {data:,} bytes in {count:,} pieces"]
    lines += [f"table `{name}`: {size:,} bytes of pages, {payload:,} of them rows" for name, size, payload in pages]
    return lines
