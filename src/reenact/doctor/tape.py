"""What a tape itself tells of why its run may not replay: its notes, its world, what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from reenact.doctor.finding import Finding, Severity
from reenact.engine.divergence import Site
from reenact.launch import manifest as manifests
from reenact.launch import restored
from reenact.launch.ending import gone
from reenact.launch.entry import ANSWERED
from reenact.report.note import MEANING, last_line
from reenact.tape.event import Kind, SiteNamed
from reenact.tape.recording import Recording


class _Noted(NamedTuple):
    severity: Severity
    do: str


NOTED: Final = {
    "unseen": _Noted(
        Severity.BREAKS,
        "Use a library that reenact records (httpx, urllib3, requests, aiohttp), or make the function that connects a "
        'tool: boundaries = ["module:function"] in [tool.reenact].',
    ),
    "fault": _Noted(Severity.BREAKS, "Please report it; the whole text is in reenact show."),
    "argument": _Noted(Severity.BREAKS, "Give the function what can be kept: JSON values, dataclasses, models."),
    "native": _Noted(
        Severity.BREAKS,
        'Make the function that talks to it a tool: boundaries = ["module:function"] in [tool.reenact].',
    ),
    "thread": _Noted(Severity.MAY, "Start it with threading.Thread or a pool, so that its turns are on tape."),
    "loop": _Noted(Severity.MAY, "Use asyncio's own loop while recording."),
    "late": _Noted(Severity.MAY, "See that the disk of the store has room."),
    "secrets": _Noted(Severity.MAY, "See what reenact scan finds; reenact scrub makes a copy without it."),
    "child": _Noted(Severity.MAY, "Make the function that starts it a tool, or see what verify says."),
    "visited": _Noted(Severity.BREAKS, "Record the program that connects to it, too, and replay that."),
    "boundary": _Noted(Severity.MAY, "Correct the name in [tool.reenact] boundaries."),
    "tool": _Noted(Severity.MAY, "Have the tool give back what it changes."),
    "mark": _Noted(Severity.NOTE, "Give marks, sessions and tags what may stand there: docs/marks.md."),
    "file": _Noted(Severity.MAY, "Keep the file as it is as long as the tape is used."),
    "process": _Noted(Severity.NOTE, "Nothing, unless you want to see it: each has a tape of its own, to be read."),
}
NEWS: Final = ("explored", "resumed", "import", "edit", ANSWERED)  # tells where a tape comes from: no finding
_ADDRESS: Final = re.compile(rb"(?<= at )0x[0-9a-f]{6,16}\b|\b0x(?:7[0-9a-f]|5[56])[0-9a-f]{10}\b")
_SHOWN: Final = 40  # bytes around an address


def findings(recording: Recording) -> list[Finding]:
    """All of them."""
    return [*_end(recording), *_notes(recording), *_world(recording), *_addresses(recording), *_order(recording)]


def _end(recording: Recording) -> Iterator[Finding]:
    why = gone(recording)
    if why:
        yield Finding(
            severity=Severity.MAY,
            slug="cut",
            what="The tape does not hold the end of the run.",
            seen=why,
            why="A replay goes as far as the tape, and says so.",
            do="Let the program come to its end, or end it by a signal that it handles.",
        )


def _notes(recording: Recording) -> Iterator[Finding]:
    for note, site in recording.notes:
        if note.slug in NEWS:
            continue
        noted = NOTED.get(note.slug, _Noted(Severity.MAY, "See reenact show."))
        yield Finding(
            severity=noted.severity,
            slug=note.slug,
            what=last_line(note.text),
            where=_site(site),
            seen="noted while it was recorded",
            why=f"{MEANING.get(note.slug, note.slug).capitalize()}.",
            do=noted.do,
        )


def _world(recording: Recording) -> Iterator[Finding]:
    manifest = manifests.decode(recording.manifest)
    for what in restored.cannot_restore(manifest):
        yield Finding(
            severity=Severity.MAY,
            slug="world",
            what=f"{what[0].upper()}{what[1:]}.",
            seen="the tape's manifest, compared with what is here",
            why="The program runs in another world than when it was recorded, and may do something else.",
            do="Replay in the environment of the recording, or record again.",
        )
    if manifest.secrets:
        yield Finding(
            severity=Severity.NOTE,
            slug="credentials",
            what=f"{', '.join(manifest.secrets)} had values that are not on tape.",
            seen="the tape's manifest",
            why="A replay has placeholders in their place. A program that looks into one, or signs a body with it, "
            "does something else then.",
            do="Nothing, unless verify fails at such a place.",
        )
    if manifest.entry and not manifest.hash_seed_set:
        yield Finding(
            severity=Severity.NOTE,
            slug="hash-seed",
            what="The order of sets of texts is not known.",
            seen="PYTHONHASHSEED was not set in the process that recorded the function",
            why="A replay has another order, which shows if one is sent or written.",
            do="Start the process with PYTHONHASHSEED=0, or sort what is made from a set.",
        )


def _addresses(recording: Recording) -> Iterator[Finding]:
    """Addresses of objects in what was asked and written; not those that an answer or a file had brought."""
    brought = {match for event in recording.events for _, part in event.parts for match in _ADDRESS.findall(part.data)}
    brought.update(match for data in recording.contents.values() for match in _ADDRESS.findall(data))
    for event in recording.events:
        if event.kind in (Kind.HTTP, Kind.TOOL, Kind.PROCESS, Kind.PIPE):
            found = _first(event.name.encode() + b"\n" + recording.body(event), brought)
            if found:
                yield _address(found, f"event {event.id}, {event.name}", _site(event.site))
    for stream, data in recording.wrote.items():
        found = _first(bytes(data), brought)
        if found:
            yield _address(found, "stdout" if stream == 1 else "stderr", None)


def _first(data: bytes, brought: set[bytes]) -> str:
    """The first address that came from nowhere, with the text around it."""
    match = next((match for match in _ADDRESS.finditer(data) if match[0] not in brought), None)
    if match is None:
        return ""
    around = data[max(match.start() - _SHOWN, 0) : match.end() + _SHOWN // 4]
    return " ".join(around.decode("utf-8", "replace").split())


def _address(around: str, place: str, site: Site | None) -> Finding:
    return Finding(
        severity=Severity.MAY,
        slug="address",
        what=f"The text looks as if it held an object's address: …{around}…",
        where=site,
        place=place,
        seen="a guess, from what stands on tape: nothing that came in had brought it",
        why="Where objects lie is never the same twice, but by luck.",
        do="Give it a stable name in place of repr(obj) or id(obj), or define __repr__ on the class.",
    )


def _order(recording: Recording) -> Iterator[Finding]:
    times = len(recording.forced)
    if times:
        yield Finding(
            severity=Severity.NOTE,
            slug="passed-by",
            what=f"{times:,} times somebody held the others up, and was passed by.",
            seen="the order of the run on tape",
            why="A thread was busy for long, or waited in C code. A replay passes it by at the same place, but what "
            "such C code waits for is in no order.",
            do="Nothing, unless verify is not the same each time.",
        )


def _site(site: SiteNamed | None) -> Site | None:
    return Site(site.file, site.line, site.place.partition(":")[2]) if site is not None else None
