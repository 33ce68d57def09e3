"""A recorded run, looked at and replayed."""

from __future__ import annotations

from collections.abc import Callable

from reenact.doctor import tape, trials
from reenact.doctor.finding import Diagnosis, Finding, Severity, ranked
from reenact.engine import normalize
from reenact.errors import ReenactError
from reenact.launch import launcher
from reenact.launch import manifest as manifests
from reenact.launch.launcher import Manner, Replayed
from reenact.launch.settings import Settings
from reenact.report.figures import counted
from reenact.tape.event import LOCALS_SALT
from reenact.tape.recording import Recording
from reenact.tape.whole import whole

TRIALS = 2
_UNSEEN = (
    "what C code does by itself and gives nothing back of, and connections of C code that were over before the "
    "program's next call: nothing in the process sees these"
)
_SHALLOW = "variables: the run was recorded without --deep"


def diagnose(recording: Recording, waiting: Callable[[float], None] | None = None) -> Diagnosis:
    """What its tape tells, and what replays of it show."""
    manifest = manifests.decode(recording.manifest)
    launcher.check_program(manifest)
    deep = LOCALS_SALT in recording.snapshots
    together = whole(recording)
    found = tape.findings(together)
    looked_at = [f"the tape: {counted(len(together.events), 'event')}, {counted(len(together.notes), 'note')}"]
    not_looked_at = [_UNSEEN] if deep else [_SHALLOW, _UNSEEN]
    try:
        replayed, shown = _replayed(recording, Manner(observe=True, deep=deep, quiet=True), waiting)
    except ReenactError as error:
        found.append(_unusable(error))
        not_looked_at.insert(0, "replays: none could be made")
    else:
        found = [*shown, *(one for one in found if not _told(one, shown))]
        looked_at.append(f"{counted(len(replayed), 'replay')}, compared with the tape and with each other")
        variables = replayed[0].report.variables
        if variables is not None:
            looked_at.append(f"variables: {counted(variables.values, 'value')} at {counted(variables.events, 'call')}")
    return Diagnosis(subject=manifest.run_id, findings=ranked(found), looked_at=looked_at, not_looked_at=not_looked_at)


def _replayed(
    recording: Recording, manner: Manner, waiting: Callable[[float], None] | None
) -> tuple[list[Replayed], list[Finding]]:
    settings = Settings.of_run(manifests.decode(recording.manifest).cwd)
    with settings.importable():
        rules = normalize.load(settings.table)
        done = [launcher.replay(recording, manner, settings=settings, waiting=waiting) for _ in range(TRIALS)]
        return done, trials.findings(done, rules)


def _unusable(error: ReenactError) -> Finding:
    return Finding(
        severity=Severity.BREAKS,
        slug=error.slug,
        what="The run cannot be replayed at all.",
        seen=str(error),
        why="There is nothing to run, or nothing to run it with.",
        do=f"See docs/errors.md#{error.slug}.",
    )


def _told(guess: Finding, shown: list[Finding]) -> bool:
    """Whether replays have shown already what was guessed from the tape."""
    shown = [one for one in shown if one.slug == guess.slug == "address"]
    return any(guess.where in (None, one.where) for one in shown)
