"""What a verification found, as a person reads it and as a program reads it."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from reenact.engine.divergence import Divergence, What
from reenact.engine.normalize import SHIPPED, SHIPPED_NAMES, Normalizer
from reenact.launch import world
from reenact.launch.ending import recorded_error, told
from reenact.launch.launcher import Replayed
from reenact.report import divergence as divergences
from reenact.report.divergence import WIDTH, plain
from reenact.report.figures import counted, lasted, seconds
from reenact.report.findings import findings
from reenact.tape.reader import Recording

FORMAT: Final = 1
NETWORK: Final = "closed: an audit hook of Python refuses every connection and name look-up"
MAX_TOLD: Final = 20  # divergences told in full in the text; JSON has all
_GUTTER: Final = 14
_LISTED: Final = 6
_KINDS: Final = {"http": "HTTP exchange", "stdin": "read of stdin", "connect": "connection"}


class Verdict(StrEnum):
    """What a verification says."""

    VERIFIED = "verified"  # everything on tape was asked and answered, byte for byte
    CUT = "verified-until-cut"  # the same, of a recording whose process was killed: up to that moment
    DIVERGED = "diverged"  # there is a difference, or the replay did not come to its end
    UNVERIFIED = "unverified"  # no difference was seen, but a fault in reenact itself may have hidden one


class Boundaries(msgspec.Struct, frozen=True):
    """`recorded` are on tape, by `kinds`; the replay `asked` so many of them, and those `identical` as recorded."""

    recorded: int
    asked: int
    identical: int
    kinds: dict[str, int]


class Bytes(msgspec.Struct, frozen=True):
    """`compared` is what the replay compared or served; the others are what the tape holds."""

    compared: int
    requests: int
    answers: int
    output: int


class Ending(msgspec.Struct, frozen=True):
    """Exit statuses (negative: killed by that signal), and the exceptions that ended the program; empty for none."""

    recorded: int | None
    replayed: int
    recorded_error: str
    replayed_error: str


class Tape(msgspec.Struct, frozen=True):
    """`digest` is the head of the hash chain over all `pieces`, SHA-256 in hex."""

    digest: str
    pieces: int


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """A verification. The fields are the keys of the JSON form; `certificate` is the version of that form.

    `entry` is the recorded function or block of `program`, empty where the program itself was recorded.
    `incomplete` says what may be missing on tape, `not_restored` what of the recorded world is not as it was,
    `placeholders` which environment variables held a stand-in for a credential, `normalizers` which of the project's
    own took part in comparing. `drifts` are reads of clock or randomness that the tape does not hold, with how often;
    `draws` counts those that it does. `observed` is true when
    the replay went on past differences, else `divergences` holds the first, or what was found missing at the end.
    `finished` is false when the replay was gone before it could report: then what it
    counted is not known. `faults` are reenact's own, in the replay. Durations are seconds.
    """

    certificate: int = FORMAT
    verdict: Verdict
    run: str
    entry: str
    program: list[str]
    cwd: str
    python: str
    packages: dict[str, str]
    sources: dict[str, str]
    commit: str
    uncommitted: bool
    boundaries: Boundaries
    bytes: Bytes
    draws: int
    drifts: dict[str, int]
    observed: bool
    finished: bool
    ending: Ending
    tape: Tape
    incomplete: list[str]
    network: str
    placeholders: list[str]
    not_restored: list[str]
    normalizers: list[str]
    faults: list[str]
    recorded_seconds: float
    replayed_seconds: float
    divergences: list[Divergence]


def certify(replayed: Replayed, normalizers: Sequence[Normalizer] = SHIPPED) -> Certificate:
    """The certificate of a replay that compared with these normalizers."""
    manifest, recording, report = replayed.manifest, replayed.recording, replayed.report
    found = findings(replayed, normalizers)
    return Certificate(
        verdict=_verdict(replayed, found),
        run=manifest.run_id,
        entry=manifest.entry,
        program=[Path(manifest.executable).name, *manifest.flags, *manifest.target],
        cwd=manifest.cwd,
        python=manifest.python,
        packages=manifest.packages,
        sources=manifest.sources,
        commit=manifest.git_commit,
        uncommitted=bool(manifest.git_diff),
        boundaries=_boundaries(replayed, found),
        bytes=_bytes(recording, report.compared),
        draws=sum(len(values) for lane in recording.lanes.values() for values in lane.draws.values()),
        drifts=report.drifts,
        ending=Ending(recording.status, replayed.status, recorded_error(recording), report.error),
        observed=replayed.observed,
        finished=report.complete,
        tape=Tape(recording.digest.hex(), recording.pieces),
        incomplete=list(_incomplete(recording)),
        network=NETWORK,
        placeholders=manifest.secrets,
        not_restored=world.cannot_restore(manifest),
        normalizers=[rule.name for rule in normalizers if rule.name not in SHIPPED_NAMES],
        faults=report.faults,
        recorded_seconds=lasted(recording) / 1e9,
        replayed_seconds=replayed.took / 1e9,
        divergences=list(found),
    )


def passed(certificate: Certificate) -> bool:
    """Whether the check is met."""
    return certificate.verdict in (Verdict.VERIFIED, Verdict.CUT)


def _verdict(replayed: Replayed, found: Sequence[Divergence]) -> Verdict:
    if found:
        return Verdict.DIVERGED
    if replayed.report.faults:
        return Verdict.UNVERIFIED
    return Verdict.VERIFIED if replayed.recording.closed_by_itself else Verdict.CUT


def _boundaries(replayed: Replayed, found: Iterable[Divergence]) -> Boundaries:
    recording, asked = replayed.recording, replayed.report.asked
    differing = {one.event for one in found if one.what is What.MISMATCH and one.event is not None}
    kinds = Counter(event.kind.name.lower() for event in recording.events)
    return Boundaries(len(recording.events), asked, max(0, asked - len(differing)), dict(kinds))


def _bytes(recording: Recording, compared: int) -> Bytes:
    requests = sum(len(recording.body(event)) + len(event.name) for event in recording.events)
    answers = sum(len(part.data) for event in recording.events for _, part in event.parts)
    return Bytes(compared, requests, answers, sum(map(len, recording.wrote.values())))


def _incomplete(recording: Recording) -> Iterator[str]:
    if not recording.closed_by_itself:
        yield f"the recorded process was gone before its end ({told(recording.status)}); the tape holds all until then"
    for note, _ in recording.notes:
        if note.slug == "fault":
            yield f"a fault of reenact while recording: {note.text.splitlines()[-1]}"
    unseen = sum(note.slug == "unseen" for note, _ in recording.notes)
    if unseen:
        yield f"{counted(unseen, 'connection')} past every seam, see: reenact show {recording.path.stem}"


# JSON


def json(certificate: Certificate) -> bytes:
    """The certificate as one JSON object: its fields, with `divergences` as `report.divergence.json` has each."""
    document = {name: getattr(certificate, name) for name in certificate.__struct_fields__}
    document["divergences"] = [msgspec.Raw(divergences.json(one)) for one in certificate.divergences]
    return msgspec.json.encode(document)


# Text


def text(certificate: Certificate, *, color: bool = False, verbose: bool = False) -> str:
    """The certificate for a terminal, ending in a line break. A failed one begins with what differs."""
    paint = _Paint(on=color)
    blocks = [_headline(certificate, paint)]
    if certificate.divergences:
        blocks += _told(certificate, color=color)
        facts = [*_about(certificate), *_caveats(certificate)] if verbose else list(_caveats(certificate))
    else:
        facts = [*_about(certificate), *_caveats(certificate)]
    if verbose:
        facts += _details(certificate)
    blocks.append("\n".join(line for label, lines in facts for line in _labelled(label, lines, paint, whole=verbose)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def line(certificate: Certificate) -> str:
    """The certificate of a replay that met no difference, in one line."""
    counts = certificate.boundaries
    cut = ", up to where its recording was cut" if certificate.verdict is Verdict.CUT else ""
    took = f"in {_seconds(certificate.replayed_seconds)} (recorded {_seconds(certificate.recorded_seconds)})"
    seen = f"{counts.identical:,} of {counts.recorded:,} boundaries"
    return f"reenact: replayed {plain(certificate.run)}{cut}: {seen}, offline, {took}"


_HEADLINES: Final = {
    Verdict.VERIFIED: ("VERIFIED", "re-enacted offline, the same to the byte"),
    Verdict.CUT: ("VERIFIED UP TO THE CUT", "the same to the byte up to where its recording ends"),
    Verdict.UNVERIFIED: ("NOT VERIFIED", "no difference was seen, but reenact itself failed and may have missed one"),
}


def _headline(certificate: Certificate, paint: _Paint) -> str:
    if certificate.verdict is Verdict.DIVERGED:
        return f"{paint.bad('DIVERGED')}  {plain(certificate.run)}: {_departure(certificate)}"
    word, what = _HEADLINES[certificate.verdict]
    if certificate.verdict is Verdict.VERIFIED:
        what += f", in {_seconds(certificate.replayed_seconds)} (recorded {_seconds(certificate.recorded_seconds)})"
    return f"{paint.good(word) if passed(certificate) else paint.bad(word)}  {plain(certificate.run)}: {what}"


def _departure(certificate: Certificate) -> str:
    if not certificate.finished:
        return "the replay did not come to its end"
    counts = certificate.boundaries
    seen = f"{counts.identical:,} of {counts.recorded:,} boundaries identical"
    if certificate.observed:
        return f"{seen}, {counted(len(certificate.divergences), 'difference')}"
    return f"{seen} (verify --observe goes on from here)"


def _told(certificate: Certificate, *, color: bool) -> Iterator[str]:
    told_of = MAX_TOLD if certificate.observed else 1
    for one in certificate.divergences[:told_of]:
        yield divergences.text(one, color=color).rstrip("\n")
    more = len(certificate.divergences) - told_of
    if more > 0:
        yield f"… and {counted(more, 'difference')} more" + ("; --json lists them" if certificate.observed else "")


Fact = tuple[str, list[str]]


def _about(certificate: Certificate) -> Iterator[Fact]:
    counts, amounts = certificate.boundaries, certificate.bytes
    kinds = [counted(number, _KINDS.get(kind, kind)) for kind, number in counts.kinds.items()]
    yield (
        "boundaries",
        [": ".join(filter(None, (f"{counts.identical:,} of {counts.recorded:,} identical", _and(kinds))))],
    )
    if certificate.draws:
        yield "draws", [f"{counted(certificate.draws, 'read')} of clock and randomness, answered from the tape"]
    split = f": requests {amounts.requests:,}, answers {amounts.answers:,}, output {amounts.output:,}"
    whole = amounts.compared == amounts.requests + amounts.answers + amounts.output
    yield "compared", [counted(amounts.compared, "byte") + (split if whole else "")]
    if not certificate.divergences and certificate.verdict is not Verdict.CUT:
        yield "ended", [f"{_end(certificate)}, as recorded"]
    if certificate.entry:
        yield "entry", [certificate.entry]
    yield "program", [f"{shlex.join(certificate.program)}   ({_made_with(certificate)})"]
    yield "network", [certificate.network]
    if certificate.placeholders:
        yield "credentials", [f"placeholders for {_some(certificate.placeholders)}"]
    yield "tape", [f"sha256 {certificate.tape.digest}"]


def _end(certificate: Certificate) -> str:
    error = certificate.ending.recorded_error
    if certificate.entry:
        return f"raised {error}" if error else "without an exception"
    return told(certificate.ending.recorded) + (f", {error}" if error else "")


def _made_with(certificate: Certificate) -> str:
    dirty = " with uncommitted changes" if certificate.uncommitted else ""
    commit = f", commit {certificate.commit[:10]}{dirty}" if certificate.commit else ""
    return f"Python {certificate.python}, {counted(len(certificate.packages), 'package')}{commit}"


def _caveats(certificate: Certificate) -> Iterator[Fact]:
    """What a reader should know before relying on it."""
    if certificate.incomplete:
        yield "incomplete", certificate.incomplete
    if certificate.drifts:
        yield "drift", [_times(what, count) for what, count in certificate.drifts.items()]
    if certificate.normalizers:
        yield "normalizers", [f"what these take out was not compared: {_some(certificate.normalizers)}"]
    if certificate.not_restored:
        yield "not restored", certificate.not_restored
    if certificate.faults:
        yield "faults", [fault.splitlines()[-1] for fault in certificate.faults]


def _details(certificate: Certificate) -> Iterator[Fact]:
    yield "cwd", [certificate.cwd]
    if certificate.sources:
        yield "source", [f"{path}  sha256 {digest}" for path, digest in certificate.sources.items()]
    yield "packages", [", ".join(f"{name} {version}" for name, version in certificate.packages.items())]
    yield "not covered", ["files that the program reads and other processes that it starts are as they are now"]


def _labelled(label: str, lines: Sequence[str], paint: _Paint, *, whole: bool) -> Iterator[str]:
    shown = lines if whole else lines[:_LISTED]
    if len(shown) < len(lines):
        shown = [*shown, f"… and {len(lines) - len(shown)} more; -v lists them"]
    room = WIDTH - _GUTTER - 2
    wrapped = [part for one in shown for part in textwrap.wrap(plain(one), room, break_on_hyphens=False)]
    for number, one in enumerate(wrapped):
        yield f"  {paint.bold(label) if number == 0 else ''}{' ' * (_GUTTER - len(label) * (number == 0))}{one}"


def _and(items: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def _some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{what} ({count:,} times)"


def _seconds(value: float) -> str:
    return seconds(round(value * 1e9))


class _Paint:
    """Colours, or none."""

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def bold(self, word: str) -> str:
        """A label."""
        return self._with("1", word)

    def good(self, word: str) -> str:
        """A check that is met."""
        return self._with("1;32", word)

    def bad(self, word: str) -> str:
        """A check that is not met."""
        return self._with("1;31", word)

    def _with(self, code: str, word: str) -> str:
        return f"\x1b[{code}m{word}\x1b[0m" if self._on else word
