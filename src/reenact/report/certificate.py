"""What a verification found, as a person reads it and as a program reads it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from reenact.engine.divergence import Compared, Divergence, What
from reenact.engine.normalize import SHIPPED, SHIPPED_NAMES, Normalizer
from reenact.launch import entry, restored
from reenact.launch.ending import gone, recorded_error, told
from reenact.launch.launcher import Replayed
from reenact.launch.spec import Report
from reenact.report import document
from reenact.report.figures import counted, lasted, seconds
from reenact.report.findings import contested, findings
from reenact.report.note import side
from reenact.report.terminal import GUTTER, WIDTH, Paint, labelled, plain, wrapped
from reenact.tape.recording import Recording
from reenact.tape.signatures import can_check, signers
from reenact.tape.whole import every, whole

FORMAT: Final = 1
NETWORK: Final = "closed: an audit hook of Python refuses every connection and name look-up"
MAX_TOLD: Final = 20  # divergences told in full in the text; JSON has all
ENCLOSED: Final = "closed: the kernel gives the process no network, and files that are copies"
COPIES: Final = "closed: the kernel gives the process copies, which are gone with it"
REDIRECTED: Final = (
    "redirected in Python to copies: C code that opens paths itself is not led there, and what Python sees of it that "
    "would change a file is refused"
)
REDACTED: Final = (
    "{count} redacted in what the program was given (--redact, --redact-pii): a replay gives it something of the same "
    "length, so it may go another way, and nobody can say that it is bit-exact. The tape is evidence of the rest"
)
_LISTED: Final = 6
_KINDS: Final = {
    "http": "HTTP exchange",
    "stdin": "read of stdin",
    "connect": "connection",
    "process": "child start",
    "exit": "child exit",
    "tool": "tool call",
    "socket": "socket call",
}


class Verdict(StrEnum):
    """What a verification says."""

    VERIFIED = "verified"  # everything on tape was asked and answered, byte for byte
    CUT = "verified-until-cut"  # the same, of a recording whose process was killed: up to that moment
    DIVERGED = "diverged"  # there is a difference, or the replay did not come to its end
    FORENSIC = "forensic-only"  # no difference, but contents were redacted in what the program was given
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


class Processes(msgspec.Struct, frozen=True):
    """Processes that the run has started: those on tape, how many were `replayed`, and `cut` for they were killed."""

    recorded: int
    replayed: int
    cut: int


class Ending(msgspec.Struct, frozen=True):
    """Exit statuses (negative: killed by that signal), and the exceptions that ended the program; empty for none."""

    recorded: int | None
    replayed: int
    recorded_error: str
    replayed_error: str


class Tape(msgspec.Struct, frozen=True):
    """`digest` is the head of the hash chain over all `pieces`, SHA-256 in hex; `signed_by` keys, as was checked."""

    digest: str
    pieces: int
    signed_by: tuple[str, ...] = ()


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """A verification. The fields are the keys of the JSON form; `certificate` is the version of that form.

    `entry` is the recorded function or block of `program`, empty where the program itself was recorded.
    `incomplete` says what may be missing on tape, `not_restored` what of the recorded world is not as it was,
    `not_replayed` which processes could not be and why, `placeholders` which environment variables held a stand-in for
    a credential, `normalizers` which of the project's own took part in comparing. `drifts` are reads of clock or
    randomness that the tape does not hold, and marks that are not as recorded, with how often; `draws` counts the reads
    that it does. `observed` is true when the replay went on past differences, else `divergences` holds the first, or
    what was found missing at the end. `finished` is false when the replay was gone before it could report: then it has
    counted up to that moment, and calls that it did not make are not among the `divergences`. All numbers are of the
    run and of the `processes` that it has started together. `network` and `files` say how these were closed.
    `redacted` are the texts on tape in the place of secrets, which are compared by their length and place;
    `redacted_contents` counts what came to the program and was redacted by a pattern: a replay gives it something else.
    `side_traffic` counts, by host, the recorded requests that are no part of the run. `faults` are reenact's own, in
    the replay. `variables` is what was compared of the variables with --deep, else null. Durations are seconds.
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
    processes: Processes = Processes(0, 0, 0)
    draws: int
    drifts: dict[str, int]
    side_traffic: dict[str, int]
    observed: bool
    finished: bool
    ending: Ending
    tape: Tape
    incomplete: list[str]
    network: str
    files: str = COPIES
    placeholders: list[str]
    not_restored: list[str]
    not_replayed: list[str] = []
    normalizers: list[str]
    faults: list[str]
    variables: Compared | None = None
    redacted: int = 0
    redacted_contents: int = 0
    recorded_seconds: float
    replayed_seconds: float
    divergences: list[Divergence]


def certify(replayed: Replayed, normalizers: Sequence[Normalizer] = SHIPPED) -> Certificate:
    """The certificate of a replay that compared with these normalizers."""
    manifest, recording, report = replayed.manifest, replayed.recording, replayed.report
    found = findings(replayed, normalizers)
    left_out = {one.recording.main: one for one in replayed.processes if one.why}
    parts = [one for one in (replayed, *replayed.processes) if not one.why]
    together, reports = whole(recording, left_out), [one.report for one in parts]
    return Certificate(
        verdict=_verdict(recording, found, reports),
        run=manifest.run_id,
        entry=manifest.entry,
        program=[Path(manifest.executable).name, *manifest.flags, *manifest.target],
        cwd=manifest.cwd,
        python=manifest.python,
        packages=manifest.packages,
        sources={path: digest for each in parts for path, digest in each.manifest.sources.items()},
        commit=manifest.git_commit,
        uncommitted=bool(manifest.git_diff),
        boundaries=_boundaries(together, sum(one.asked for one in reports), found),
        bytes=_bytes(together, sum(one.compared for one in reports)),
        processes=_processes(replayed),
        draws=sum(len(values) for lane in together.lanes.values() for values in lane.draws.values()),
        drifts=dict(sum((Counter(one.drifts) + Counter(one.marks) for one in reports), Counter())),
        side_traffic=together.side_traffic,
        ending=Ending(recording.status, replayed.status, recorded_error(recording), report.error),
        observed=replayed.observed,
        finished=report.complete,
        tape=Tape(recording.digest.hex(), recording.pieces, signers(recording.seal) if can_check() else ()),
        incomplete=list(_incomplete(together)),
        network=ENCLOSED if report.enclosed else NETWORK,
        files=COPIES if report.enclosed else REDIRECTED,
        placeholders=sorted({name for one in parts for name in one.manifest.secrets}),
        not_restored=[*_not_restored(parts), *_contested(replayed)],
        not_replayed=[f"{one.name} (lane {lane}): {one.why}" for lane, one in left_out.items()],
        normalizers=[rule.name for rule in normalizers if rule.name not in SHIPPED_NAMES],
        faults=[fault for one in reports for fault in one.faults],
        variables=report.variables,
        redacted=len({one for each in every(recording) for one in each.placeholders}),
        redacted_contents=sum(each.lost for each in every(recording)),
        recorded_seconds=lasted(recording) / 1e9,
        replayed_seconds=replayed.took / 1e9,
        divergences=list(found),
    )


def passed(certificate: Certificate) -> bool:
    """Whether the check is met."""
    return certificate.verdict in (Verdict.VERIFIED, Verdict.CUT)


def _verdict(recording: Recording, found: Sequence[Divergence], reports: Iterable[Report]) -> Verdict:
    if found:
        return Verdict.DIVERGED
    if any(report.faults for report in reports):
        return Verdict.UNVERIFIED
    if any(each.lost for each in every(recording)):
        return Verdict.FORENSIC
    return Verdict.VERIFIED if recording.closed_by_itself else Verdict.CUT


def _processes(replayed: Replayed) -> Processes:
    recorded = [process for process in every(replayed.recording) if process is not replayed.recording]
    cut = sum(not process.closed_by_itself for process in recorded)
    return Processes(len(recorded), sum(process.report.begun for process in replayed.processes), cut)


def _not_restored(parts: Sequence[Replayed]) -> list[str]:
    """What is not as it was for any of them, each thing once."""
    told = restored.cannot_restore(parts[0].manifest)
    for one in parts[1:]:
        if not entry.is_process(one.manifest.entry):
            told += restored.cannot_restore(one.manifest, _made_again(one))
    return list(dict.fromkeys([*told, *(text for one in parts for text in one.report.unrestored)]))


def _made_again(replayed: Replayed) -> set[str]:
    """The paths that the replay of a process has made again: its folder, and where its world is closed, files."""
    saw = replayed.recording.saw.values() if replayed.report.enclosed else ()
    return {replayed.manifest.cwd, *(one.path for one in saw if one.digest)}


def _boundaries(recording: Recording, asked: int, found: Iterable[Divergence]) -> Boundaries:
    differing = {one.event for one in found if one.what is What.MISMATCH and one.event is not None}
    kinds = Counter(event.kind.name.lower() for event in recording.compared)
    return Boundaries(len(recording.compared), asked, max(0, asked - len(differing)), dict(kinds))


def _bytes(recording: Recording, compared: int) -> Bytes:
    requests = sum(len(recording.body(event)) + len(event.name) for event in recording.compared)
    kept = sum(len(part.data) for event in recording.compared for _, part in event.parts)
    answers = kept + sum(event.left_out for event in recording.compared)
    return Bytes(compared, requests, answers, recording.output)


def _incomplete(recording: Recording) -> Iterator[str]:
    if not recording.closed_by_itself:
        yield gone(recording)
    for note, _ in recording.notes:
        if note.slug == "fault":
            yield f"a fault of reenact while recording: {note.text.splitlines()[-1]}"
    unseen = sum(note.slug in ("unseen", "native") for note, _ in recording.notes)
    if unseen:
        yield f"{counted(unseen, 'connection')} past every seam, see: reenact show {recording.path.stem}"


def _contested(replayed: Replayed) -> Iterator[str]:
    for process in replayed.processes:
        for divergence in process.report.divergences:
            path = contested(divergence, process.recording, replayed.recording)
            if path is not None:
                yield f"{path} was written by several processes: what {process.name} left of it is not compared"


# JSON


def json(certificate: Certificate) -> bytes:
    """The certificate as one JSON object: its fields, with `divergences` as `report.divergence.json` has each."""
    from reenact.report import divergence as divergences  # noqa: PLC0415  most runs have none

    found = {name: getattr(certificate, name) for name in certificate.__struct_fields__}
    found["divergences"] = [divergences.fields(one) for one in certificate.divergences]
    return document.encode(found)


# Text


def text(certificate: Certificate, *, width: int = WIDTH, paint: Paint | None = None, verbose: bool = False) -> str:
    """The certificate for a terminal, ending in a line break. A failed one begins with what differs."""
    page = _Page(certificate, width, paint or Paint())
    found = bool(certificate.divergences)
    facts = [*(_further if found else _about)(certificate), *_caveats(certificate)]
    facts += _details(certificate) if verbose else ()
    blocks = [*(page.differences() if found else [page.headline()]), page.facts(facts, whole=verbose)]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def line(certificate: Certificate) -> str:
    """The certificate of a replay that met no difference, in one line."""
    cut = ", up to where its recording was cut" if certificate.verdict is Verdict.CUT else ""
    took = _seconds(certificate.replayed_seconds)
    told = f"reenact: replayed {plain(certificate.run)} offline{cut}: {_identical(certificate)}, in {took}"
    if certificate.verdict is Verdict.FORENSIC:
        told += f"\nreenact: forensic-only: {REDACTED.format(count=counted(certificate.redacted_contents, 'content'))}"
    return told


_HEADLINES: Final = {
    Verdict.VERIFIED: ("VERIFIED", "run again offline, the same to the byte"),
    Verdict.CUT: ("VERIFIED UP TO THE CUT", "the same to the byte up to where its recording ends"),
    Verdict.UNVERIFIED: ("NOT VERIFIED", "no difference was seen, but reenact itself failed and may have missed one"),
    Verdict.FORENSIC: ("FORENSIC ONLY", "the same as on tape, which is not all that the program was given"),
    Verdict.DIVERGED: ("DIVERGED", ""),
}

Fact = tuple[str, list[str]]


class _Page:
    """What the blocks of one certificate have in common."""

    def __init__(self, certificate: Certificate, width: int, paint: Paint) -> None:
        self._certificate = certificate
        self._width = width
        self._paint = paint

    def headline(self, at: str = "", what: str = "") -> list[str]:
        word, told = _HEADLINES[self._certificate.verdict]
        first, *rest = wrapped(f"{word}  {plain(self._certificate.run)}{at}: {what or told}", self._width)
        strong = self._paint.strong
        painted = strong.good(word) if passed(self._certificate) else strong.bad(word)
        return [painted + first.removeprefix(word), *(f"  {line}" for line in rest)]

    def differences(self) -> Iterator[list[str]]:
        """The first difference, or in a run that was observed many."""
        from reenact.report import divergence as divergences  # noqa: PLC0415  as above

        first, *others = self._certificate.divergences
        if not self._certificate.finished:
            yield self.headline(what="the replay did not come to its end")
            yield from map(self._difference, (first, *others[-1:]))  # how it ended comes last
            return
        if not self._certificate.observed:
            at = f" at step {first.step}" if first.step is not None else ""
            yield self.headline(at, divergences.headline(first))
            yield self._difference(first, headed=False)
            return
        yield self.headline(what=f"{_identical(self._certificate)}, {counted(len(others) + 1, 'difference')}")
        for one in (first, *others[: MAX_TOLD - 1]):
            yield self._difference(one)
        if len(others) >= MAX_TOLD:
            yield [f"… and {counted(len(others) + 1 - MAX_TOLD, 'difference')} more; --json lists them"]

    def _difference(self, one: Divergence, *, headed: bool = True) -> list[str]:
        from reenact.report import divergence as divergences  # noqa: PLC0415  as above

        cwd = self._certificate.cwd
        told = divergences.text(one, width=self._width, paint=self._paint, cwd=cwd, headed=headed)
        return told.rstrip("\n").split("\n")

    def facts(self, facts: Iterable[Fact], *, whole: bool = False) -> list[str]:
        """Facts with their labels; of long lists the beginning, unless `whole`."""
        found: list[str] = []
        for label, items in facts:
            more = 0 if whole else len(items) - _LISTED
            shown = items if more <= 0 else [*items[:_LISTED], f"… and {more} more; -v lists them"]
            rows = [row for one in shown for row in wrapped(one, self._width - GUTTER - 2)]
            found += labelled(label, rows, GUTTER, self._paint.bold)
        return found


def _identical(certificate: Certificate) -> str:
    return f"{certificate.boundaries.identical:,} of {certificate.boundaries.recorded:,} calls as recorded"


def _further(certificate: Certificate) -> Iterator[Fact]:
    """What else there is to see of a run that has left its tape."""
    if not certificate.finished:
        return
    if certificate.observed:
        yield _calls(certificate)
        return
    more = len(certificate.divergences) - 1
    if more:
        yield "more", [f"{counted(more, 'difference')}, which may follow from this one"]
    counts = certificate.boundaries
    yield (
        "calls",
        [f"{counts.identical:,} of {counts.recorded:,} as recorded; verify --observe lists what else differs"],
    )


def _calls(certificate: Certificate) -> Fact:
    counts = certificate.boundaries
    kinds = _and([counted(number, _KINDS.get(kind, kind)) for kind, number in counts.kinds.items()])
    return "calls", [f"{counts.identical:,} of {counts.recorded:,} as recorded" + (f": {kinds}" if kinds else "")]


def _about(certificate: Certificate) -> Iterator[Fact]:
    amounts = certificate.bytes
    yield _calls(certificate)
    split = f": requests {amounts.requests:,}, answers {amounts.answers:,}, output {amounts.output:,}"
    whole = amounts.compared == amounts.requests + amounts.answers + amounts.output
    if certificate.processes.recorded:
        yield "processes", [_replayed_processes(certificate.processes)]
    yield "compared", [counted(amounts.compared, "byte") + (split if whole else "")]
    if certificate.variables is not None:
        yield "variables", list(_variables(certificate.variables))
    took = f"{_seconds(certificate.replayed_seconds)} (recorded in {_seconds(certificate.recorded_seconds)})"
    if certificate.verdict is Verdict.CUT:
        yield "took", [took]
    else:
        yield "ended", [f"{_end(certificate)}, as recorded, after {took}"]
    if certificate.tape.signed_by:
        yield "signed", [f"by {key}" for key in certificate.tape.signed_by]


def _replayed_processes(processes: Processes) -> str:
    killed = f", {processes.cut:,} of them up to where they were killed" if processes.cut else ""
    return f"{processes.replayed:,} of {counted(processes.recorded, 'process')} replayed, each by itself{killed}"


def _variables(compared: Compared) -> Iterator[str]:
    partly = f", {compared.partly:,} of them in part" if compared.partly else ""
    yield f"{counted(compared.values, 'value')} at {counted(compared.events, 'call')} as recorded{partly}"
    if compared.secret:
        yield f"{compared.secret:,} left out for their names, which may be those of secrets"
    if compared.types:
        told = ", ".join(f"{name.removeprefix('builtins:')} ({count})" for name, count in compared.types.items())
        yield f"not compared, for their types: {told}"


def _end(certificate: Certificate) -> str:
    error = certificate.ending.recorded_error
    if certificate.entry:
        return f"raised {error}" if error else "without an exception"
    return told(certificate.ending.recorded) + (f", {error}" if error else "")


def _caveats(certificate: Certificate) -> Iterator[Fact]:
    """What a reader should know before relying on it."""
    if certificate.incomplete:
        yield "incomplete", certificate.incomplete
    if certificate.redacted_contents:
        yield "redacted", [REDACTED.format(count=counted(certificate.redacted_contents, "content"))]
    if certificate.not_replayed:
        yield "not replayed", certificate.not_replayed
    if certificate.drifts:
        yield "drift", [_times(what, count) for what, count in certificate.drifts.items()]
    if certificate.side_traffic:
        yield "side traffic", [*side(certificate.side_traffic)]
    if certificate.normalizers:
        yield "normalizers", [f"what these take out was not compared: {', '.join(certificate.normalizers)}"]
    if certificate.not_restored:
        yield "not as it was", certificate.not_restored
    if certificate.files == REDIRECTED:
        yield "no namespaces", ["files by redirection in Python, network by audit hook: what C code does is not closed"]
    if certificate.faults:
        yield "faults", [fault.splitlines()[-1] for fault in certificate.faults]


def _details(certificate: Certificate) -> Iterator[Fact]:
    """What was run, and with what."""
    if certificate.entry:
        yield "entry", [certificate.entry]
    yield "program", [f"{shlex.join(certificate.program)}   (Python {certificate.python})"]
    yield "cwd", [certificate.cwd]
    if certificate.commit:
        dirty = " with uncommitted changes" if certificate.uncommitted else ""
        yield "commit", [f"{certificate.commit}{dirty}"]
    if certificate.sources:
        yield "source", [f"{path}  sha256 {digest}" for path, digest in certificate.sources.items()]
    if certificate.draws:
        yield "draws", [f"{counted(certificate.draws, 'read')} of clock and randomness, answered from the tape"]
    yield "network", [certificate.network]
    yield "files", [certificate.files]
    yield "packages", [", ".join(f"{name} {version}" for name, version in certificate.packages.items())]
    if certificate.placeholders:
        yield "credentials", [f"placeholders for {', '.join(certificate.placeholders)}"]
    if certificate.redacted:
        yield (
            "secrets",
            [f"{counted(certificate.redacted, 'text')} on tape in their place, compared by length and place"],
        )
    yield "tape", [f"sha256 {certificate.tape.digest}, {counted(certificate.tape.pieces, 'piece')}"]
    yield (
        "not covered",
        [
            "what other programs that it starts do themselves",
            "files that only C code opens, unseen by Python, are as they are now",
        ],
    )


def _and(items: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{what} ({count:,} times)"


def _seconds(value: float) -> str:
    return seconds(round(value * 1e9))
