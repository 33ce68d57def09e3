"""`reenact fork`."""

from __future__ import annotations

import os
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
    from reenact.edits import Decision
    from reenact.launch.forking import Point
    from reenact.launch.resuming import Resumed
    from reenact.launch.settings import Settings
    from reenact.launch.tail import Tail
    from reenact.tape.event import Part
    from reenact.tape.reader import Event, Recording

_AT_ONCE = 4
NOT_AGREED = (
    "nothing was started: models would be asked, and nobody is here to say yes. Say that they may be, by --live"
)


@click.command()
@click.argument("run")
@click.option("--step", type=int, help="The step, as `reenact show` numbers it; RUN@N says the same.")
@click.option("--response", metavar="FILE", help="The model answers this; - is the standard input.")
@click.option("--edit", is_flag=True, help="Edit the model's answer in $EDITOR.")
@click.option("--tool-result", "results", metavar="TOOL=FILE", multiple=True, help="A tool of this step gives this.")
@click.option("--context", metavar="FILE", help="A JSON Patch of what the model is told: /0/content, /system …")
@click.option("--model", metavar="NAME", default="", help="Ask this model, from there on.")
@click.option("--code", is_flag=True, help="Run the program as it is now, live from where it does something else.")
@click.option("--live", is_flag=True, help="Let it ask models without asking you first.")
@click.option(
    "--live-endpoint",
    "--base-url",
    "endpoint",
    metavar="URL",
    default="",
    help="Ask models there: a base URL of the API.",
)
@click.option("--key-env", metavar="VARIABLE", default="", help="Where the key for that place is, in the environment.")
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
    reenact fork agent-7f3a@3 --response answer.txt --from-tape 'tool:*'
    reenact fork last --step 3 --n 8 --live-endpoint http://localhost:11434/v1
    reenact fork last --code --live
    """  # noqa: D301  \b tells click not to wrap
    import msgspec

    from reenact.launch import altering, forking
    from reenact.launch.settings import Settings
    from reenact.tape.reader import read

    asked = _Asked(**given)
    run, step = _place(run, asked.step)
    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    settings = Settings.of_run(forking.check(recording).cwd)
    if asked.code and (step is not None or asked.ways):
        raise UsageError("--code finds by itself where the program does something else: it takes no step, and no edit")
    point, tail = _changed(recording, settings) if asked.code else _point(recording, step, asked)
    own, key = settings.tail, _key(asked.key_env)
    tail = msgspec.structs.replace(
        tail,
        allow=[*own.allow, *asked.allow],
        from_tape=[*own.from_tape, *asked.from_tape],
        endpoint=asked.endpoint,
        key=key,
        model=asked.model,
    )
    altering.rules_of(recording, tail)  # what does not fit is told before anything is started
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
    edit: bool
    results: tuple[str, ...]
    context: str | None
    model: str
    code: bool
    live: bool
    endpoint: str
    key_env: str
    allow: tuple[str, ...]
    from_tape: tuple[str, ...]
    count: int
    name: str
    quiet: bool

    @property
    def ways(self) -> int:
        """In how many ways the step is edited."""
        return sum((self.response is not None, self.edit, bool(self.results), self.context is not None))


def _point(recording: Recording, step: int | None, asked: _Asked) -> tuple[Point, Tail]:
    """Where the branch leaves, and what is other in its requests from there on."""
    from reenact.launch import altering
    from reenact.launch.forking import Point
    from reenact.launch.tail import Tail
    from reenact.trajectory import trajectory

    if step is None:
        raise UsageError("say from which step, by --step N or RUN@N; `reenact show` numbers them")
    steps = trajectory(recording).steps
    if not 1 <= step <= len(steps):
        raise UsageError(f"{recording.path.stem} has no step {step}: it has {len(steps)}")
    one = steps[step - 1]
    event = recording.events[one.attempts[-1]]
    if asked.ways > 1:
        raise UsageError(
            "an answer, results of tools and a context are of different moments: edit one of them in a fork"
        )
    if asked.response is not None or asked.edit:
        decision = _decision(recording, event, asked.response)
        return Point(event.id, altering.answered(recording, event, decision), step, "another answer"), Tail()
    if asked.results:
        later = [recording.events[one.attempts[-1]] for one in steps[step:]]
        return _results(recording, event, [entry.event for entry in one.entries], later, asked.results, step)
    if asked.context is not None:
        patch = _read(asked.context).decode("utf-8", "replace")
        return Point(event.id, (), step, "another context"), Tail(patch=patch, patched=event.id)
    return Point(event.id, (), step, f"asked of {asked.model}" if asked.model else "asked again"), Tail()


def _decision(recording: Recording, event: Event, file: str | None) -> Decision:
    from reenact.edits import parsed, written
    from reenact.launch import altering
    from reenact.launch.served import decision_of

    before = decision_of(altering.exchange_of(recording, event))
    if file is not None:
        return parsed(_read(file).decode("utf-8", "replace"), before)
    text = click.edit(written(before, helping=True), extension=".txt")
    if text is None:
        raise UsageError("nothing was saved in the editor, and nothing was started")
    return parsed(text, before)


def _results(
    recording: Recording, event: Event, entries: list[int], later: list[Event], given: tuple[str, ...], step: int
) -> tuple[Point, Tail]:
    """Tools that are boundaries give another result themselves; of others, the model is told another one."""
    from reenact.launch import altering
    from reenact.launch.forking import Point
    from reenact.launch.served import with_result
    from reenact.launch.tail import Tail

    edits: list[Part] = []
    told, results, last = [], [], -1
    for pair in given:
        name, equals, file = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--tool-result {pair}: say which tool and what it gives, by TOOL=FILE")
        text = _read(file).decode("utf-8", "replace")
        own = altering.tools_of(recording, entries, name.partition("#")[0])
        number = int(name.partition("#")[2] or 1) - 1 if name.partition("#")[2].isdecimal() or "#" not in name else 0
        if own and (len(own) == 1 or "#" in name):
            if number >= len(own):
                raise UsageError(
                    f"the step does not call {name.partition('#')[0]!r} {number + 1} times, but {len(own)}"
                )
            edits += with_result(own[number], text)
            last = max(last, own[number].id)
        elif own:
            raise UsageError(f"the step calls {name!r} {len(own)} times; say which: {name}#1 to {name}#{len(own)}")
        else:
            where, result = altering.results_of(recording, event, later, name, text)
            results.append(result)
            told.append(where.id)
    what = "another result of " + ", ".join(pair.partition("=")[0] for pair in given)
    if edits and results:
        raise UsageError("some of these tools are boundaries and some are not: fork twice, a branch of the branch")
    if results:
        return Point(min(told), (), step, what), Tail(results=results)
    return Point(last, edits, step, what), Tail()


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def _key(variable: str) -> str:
    if variable and variable not in os.environ:
        raise UsageError(f"{variable} is not set: it is to hold the key for --live-endpoint")
    return os.environ.get(variable, "") if variable else ""


def _changed(recording: Recording, settings: Settings) -> tuple[Point, Tail]:
    """Where the program leaves the tape by now; ends the command where it does not."""
    from reenact.launch import forking
    from reenact.launch.tail import Tail
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
    return point, Tail()


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
    expected = estimate(trajectory(recording), after, settings.prices, asked.model, given=bool(point.edits)).times(
        asked.count
    )
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
