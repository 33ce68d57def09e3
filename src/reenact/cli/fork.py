"""`reenact fork`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reenact.cli import options
from reenact.errors import UsageError

if TYPE_CHECKING:
    from reenact.launch.resuming import Resumed
    from reenact.launch.settings import Settings
    from reenact.launch.tail import Tail
    from reenact.tape.reader import Recording

_AT_ONCE = 4
NOT_AGREED = (
    "nothing was started: models would be asked, and nobody is here to say yes. Say that they may be, by --live"
)


@click.command()
@click.argument("run")
@click.option("--step", type=int, help="The step, as `reenact show` numbers it; RUN@N says the same.")
@click.option("--response", metavar="FILE", help="The model answers this; - is the standard input.")
@click.option("--live", is_flag=True, help="Let it ask models without asking you first.")
@click.option("--live-endpoint", "endpoint", metavar="URL", default="", help="Ask models there, not where the run did.")
@click.option("--allow", metavar="HAZARD", multiple=True, help="Let it do that to the world: tool:refund; * matches.")
@click.option("--from-tape", metavar="HAZARD", multiple=True, help="Answer that as it was answered in the parent.")
@click.option("--n", "count", type=click.IntRange(1, 1000), default=1, help="Make so many branches, side by side.")
@click.option("--name", help="What the branch is called.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@options.store
def command(
    run: str,
    step: int | None,
    response: str | None,
    endpoint: str,
    allow: tuple[str, ...],
    from_tape: tuple[str, ...],
    count: int,
    name: str | None,
    store_dir: str | None,
    *,
    live: bool,
    quiet: bool,
) -> None:
    """Run on from a step of a run, another way: the steps before cost nothing, what comes is live.

    Without an edit the model is asked again at that step. The branch is a run of its own, and its parent stays as it
    is. What it would do to the world (tools, child processes, requests that change something) is refused, unless it is
    allowed or answered from the parent's tape; files that it writes are copies.

    \b
    reenact fork last --step 3 --live
    reenact fork agent-7f3a@3 --response answer.json --from-tape 'tool:*'
    reenact fork last --step 3 --n 8 --live-endpoint http://localhost:11434/v1
    """  # noqa: D301  \b tells click not to wrap
    from reenact.launch import forking
    from reenact.launch.fate import Fate, Way, parts_of
    from reenact.launch.settings import Settings
    from reenact.launch.tail import Tail
    from reenact.tape.reader import read
    from reenact.trajectory import trajectory

    run, step = _place(run, step)
    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    manifest = forking.check(recording)
    found = trajectory(recording)
    if not 1 <= step <= len(found.steps):
        raise UsageError(f"{recording.path.stem} has no step {step}: it has {len(found.steps)}")
    event = found.steps[step - 1].attempts[-1]
    edits = parts_of(recording, recording.events[event], Fate(Way.ANSWER, Path(response))) if response else []
    point = forking.Point(event, edits, step, "another answer" if edits else "asked again")
    settings = Settings.of_run(manifest.cwd)
    own = settings.tail
    tail = Tail([*own.allow, *allow], [*own.from_tape, *from_tape], endpoint)
    _agree(recording, tail, step, event, count, settings, again=not edits, live=live, quiet=quiet)
    many = count > 1

    def fork(_number: int) -> Resumed:
        return forking.fork(recording, store, settings, point, tail, name or "", quiet=many)

    if not many:
        _tell(recording, fork(0), step, f" --store {shlex.quote(store_dir)}" if store_dir else "", quiet=quiet)
    from concurrent.futures import ThreadPoolExecutor

    from reenact.report import forked

    with ThreadPoolExecutor(min(count, _AT_ONCE)) as pool:
        done = list(pool.map(fork, range(count)))
    failed = [one for one in done if one.recording is None]
    if failed:
        click.echo(forked.failed_text(recording, failed[0].report, step), nl=False, err=True)
    click.echo(forked.table(done), nl=False)
    sys.exit(1 if failed else 0)


def _place(run: str, step: int | None) -> tuple[str, int]:
    """The run and the step, which may be said as `RUN@N`."""
    named, at, number = run.rpartition("@")
    if at and number.isdigit():
        if step is not None and step != int(number):
            raise UsageError(f"{run} and --step {step} are two different steps")
        return named, int(number)
    if step is None:
        raise UsageError("say from which step, by --step N or RUN@N; `reenact show` numbers them")
    return run, step


def _agree(
    recording: Recording,
    tail: Tail,
    step: int,
    event: int,
    count: int,
    settings: Settings,
    *,
    again: bool,
    live: bool,
    quiet: bool,
) -> None:
    """Says what is about to happen, and has the user agree to it.

    Raises:
        UsageError: nobody does.
    """
    from reenact.launch import hazards
    from reenact.report import forked
    from reenact.trajectory import trajectory
    from reenact.trajectory.estimate import estimate

    expected = estimate(trajectory(recording), step if again else step + 1, settings.prices).times(count)
    fates = [(label, hazards.fate(label, one, tail)) for label, one in hazards.expected(recording, event)]
    plan = forked.plan_text(recording.path.stem, step, count, expected, fates)
    if not quiet or not live:
        click.echo(plan, nl=False, err=True)
    if not live and not sys.stdin.isatty():
        raise UsageError(NOT_AGREED)
    if not live and not click.confirm("Go live?", err=True):
        sys.exit(1)


def _tell(recording: Recording, done: Resumed, step: int, option: str, *, quiet: bool) -> None:
    from reenact.launch import supervise
    from reenact.report import forked, recorded

    if done.recording is None:
        click.echo(forked.failed_text(recording, done.report, step), nl=False, err=True)
        sys.exit(1)
    if not quiet:
        click.echo(forked.text(done), nl=False, err=True)
    size = done.recording.path.stat().st_size
    click.echo(recorded.text(done.recording, size, option, quiet=quiet), nl=False, err=True)
    supervise.die_as(done.status)
    sys.exit(supervise.mirror(done.status))
