"""`reenact fork`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from reenact.cli import options
from reenact.errors import UsageError

if TYPE_CHECKING:
    from reenact.launch.forking import Point
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
@click.option("--code", is_flag=True, help="Run the program as it is now, live from where it does something else.")
@click.option("--live", is_flag=True, help="Let it ask models without asking you first.")
@click.option("--live-endpoint", "endpoint", metavar="URL", default="", help="Ask models there, not where the run did.")
@click.option("--allow", metavar="HAZARD", multiple=True, help="Let it do that to the world: tool:refund; * matches.")
@click.option("--from-tape", metavar="HAZARD", multiple=True, help="Answer that as it was answered in the parent.")
@click.option("--n", "count", type=click.IntRange(1, 1000), default=1, help="Make so many branches, side by side.")
@click.option("--name", default="", help="What the branch is called.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@options.store
def command(run: str, store_dir: str | None, **given: Any) -> None:
    """Run on from a step of a run, another way: the steps before cost nothing, what comes is live.

    Without an edit the model is asked again at that step. The branch is a run of its own, and its parent stays as it
    is. What it would do to the world (tools, child processes, requests that change something) is refused, unless it is
    allowed or answered from the parent's tape; files that it writes are copies.

    \b
    reenact fork last --step 3 --live
    reenact fork agent-7f3a@3 --response answer.json --from-tape 'tool:*'
    reenact fork last --step 3 --n 8 --live-endpoint http://localhost:11434/v1
    reenact fork last --code --live
    """  # noqa: D301  \b tells click not to wrap
    from reenact.launch import forking
    from reenact.launch.settings import Settings
    from reenact.launch.tail import Tail
    from reenact.tape.reader import read

    asked = _Asked(**given)
    run, step = _place(run, asked.step)
    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    settings = Settings.of_run(forking.check(recording).cwd)
    own = settings.tail
    tail = Tail([*own.allow, *asked.allow], [*own.from_tape, *asked.from_tape], asked.endpoint)
    point = _changed(recording, settings) if asked.code else _point(recording, step, asked)
    _agree(recording, settings, point, tail, asked)

    def fork(_number: int) -> Resumed:
        return forking.fork(recording, store, settings, point, tail, asked.name, quiet=asked.count > 1)

    option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
    if asked.count > 1:
        _tell_all(recording, fork, asked.count)
    _tell(recording, fork(0), option, quiet=asked.quiet)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What the command line says."""

    step: int | None
    response: str | None
    code: bool
    live: bool
    endpoint: str
    allow: tuple[str, ...]
    from_tape: tuple[str, ...]
    count: int
    name: str
    quiet: bool


def _point(recording: Recording, step: int | None, asked: _Asked) -> Point:
    from reenact.launch.fate import Fate, Way, parts_of
    from reenact.launch.forking import Point
    from reenact.trajectory import trajectory

    if step is None:
        raise UsageError("say from which step, by --step N or RUN@N; `reenact show` numbers them")
    steps = trajectory(recording).steps
    if not 1 <= step <= len(steps):
        raise UsageError(f"{recording.path.stem} has no step {step}: it has {len(steps)}")
    event = steps[step - 1].attempts[-1]
    if asked.response is None:
        return Point(event, (), step)
    parts = parts_of(recording, recording.events[event], Fate(Way.ANSWER, Path(asked.response)))
    return Point(event, parts, step, "another answer")


def _changed(recording: Recording, settings: Settings) -> Point:
    """Where the program leaves the tape by now; ends the command where it does not."""
    from reenact.launch import forking
    from reenact.report import divergence

    found = forking.changed(recording, settings)
    if found is None:
        click.echo(
            f"reenact: the program as it is now does all that {recording.path.stem} did: there is nothing to fork"
        )
        sys.exit(0)
    point, how = found
    click.echo("reenact: the program as it is now does something else here:", err=True)
    click.echo(divergence.text(how, width=100), nl=False, err=True)
    return point


def _place(run: str, step: int | None) -> tuple[str, int | None]:
    """The run and the step, which may be said as `RUN@N`."""
    named, at, number = run.rpartition("@")
    if not at or not number.isdigit():
        return run, step
    if step not in (None, int(number)):
        raise UsageError(f"{run} and --step {step} are two different steps")
    return named, int(number)


def _agree(recording: Recording, settings: Settings, point: Point, tail: Tail, asked: _Asked) -> None:
    """Says what is about to happen, and has the user agree to it.

    Raises:
        UsageError: nobody does.
    """
    from reenact.launch import hazards
    from reenact.report import forked
    from reenact.trajectory import trajectory
    from reenact.trajectory.estimate import estimate

    after = point.event if point.event >= 0 else len(recording.events) - 1
    expected = estimate(trajectory(recording), after, settings.prices, given=bool(point.edits)).times(asked.count)
    fates = [(label, hazards.fate(label, one, tail)) for label, one in hazards.expected(recording, after)]
    plan = forked.plan_text(recording.path.stem, point, asked.count, expected, fates)
    if not asked.quiet or not asked.live:
        click.echo(plan, nl=False, err=True)
    if not asked.live and not sys.stdin.isatty():
        raise UsageError(NOT_AGREED)
    if not asked.live and not click.confirm("Go live?", err=True):
        sys.exit(1)


def _tell(recording: Recording, done: Resumed, option: str, *, quiet: bool) -> NoReturn:
    from reenact.launch import supervise
    from reenact.report import forked, recorded

    if done.recording is None:
        click.echo(forked.failed_text(recording, done.report), nl=False, err=True)
        sys.exit(1)
    if not quiet:
        click.echo(forked.text(done), nl=False, err=True)
    size = done.recording.path.stat().st_size
    click.echo(recorded.text(done.recording, size, option, quiet=quiet), nl=False, err=True)
    supervise.die_as(done.status)
    sys.exit(supervise.mirror(done.status))


def _tell_all(recording: Recording, fork: Callable[[int], Resumed], count: int) -> NoReturn:
    from concurrent.futures import ThreadPoolExecutor

    from reenact.report import forked

    with ThreadPoolExecutor(min(count, _AT_ONCE)) as pool:
        done = list(pool.map(fork, range(count)))
    failed = [one for one in done if one.recording is None]
    if failed:
        click.echo(forked.failed_text(recording, failed[0].report), nl=False, err=True)
    click.echo(forked.table(done), nl=False)
    sys.exit(1 if failed else 0)
