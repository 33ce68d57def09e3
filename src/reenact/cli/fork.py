"""`reenact fork`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from reenact.cli import options, show
from reenact.errors import UsageError

if TYPE_CHECKING:
    from reenact.launch.forking import Point
    from reenact.launch.points import Planned
    from reenact.launch.resuming import Resumed
    from reenact.launch.settings import Settings
    from reenact.launch.tail import Tail
    from reenact.launch.together import Together
    from reenact.providers.prices import Price
    from reenact.tape.recording import Recording

    Fork = Callable[[Together | None], Resumed]

_AT_ONCE = 4
NOT_AGREED = (
    "nothing was started: models would be asked, and nobody is here to say yes. Say that they may be, by --live"
)
_OF_STEPS = ("step", "responses", "edits", "results", "contexts")


class _InOrder(click.Command):
    """A command whose options that edit a step belong to the --step before them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As ever, and keeps in which order they were given."""
        _, _, order = self.make_parser(ctx).parse_args([*args])
        ctx.meta[__name__] = [option.name for option in order if option.name in _OF_STEPS]
        return super().parse_args(ctx, args)


@click.command(cls=_InOrder)
@click.argument("run")
@click.option("--step", type=int, multiple=True, help="The step, as `reenact show` numbers it; RUN@N says the same.")
@click.option(
    "--response", "responses", metavar="FILE", multiple=True, help="The model answers this; - is the standard input."
)
@click.option("--edit", "edits", is_flag=True, multiple=True, help="Edit the model's answer in $EDITOR.")
@click.option("--tool-result", "results", metavar="TOOL=FILE", multiple=True, help="A tool of this step gives this.")
@click.option(
    "--context",
    "contexts",
    metavar="FILE",
    multiple=True,
    help="A JSON Patch of what the model is told: /0/content, /system …",
)
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
@click.option(
    "--keep-files",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Put there what it writes to files; else that is gone when it ends.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@options.as_json
@options.store
def command(run: str, store_dir: str | None, **given: Any) -> None:
    """Run on from a step of a run, another way: the steps before cost nothing, what comes is live.

    Without an edit the model is asked again at that step. Several steps may be edited: what is said of each stands
    behind its --step, and the later ones wait until the branch comes to them. The branch is a run of its own, and its
    parent stays as it is. What it would do to the world (tools, child processes, requests that change something) is
    refused, unless it is allowed or answered from the parent's tape; files that it writes are copies, and telemetry is
    not sent.

    \b
    reenact fork last --step 3 --live
    reenact fork last --step 3 --response a.txt --step 5 --tool-result lookup=b.json --live
    reenact fork agent-7f3a@3 --response answer.txt --from-tape 'tool:*'
    reenact fork last --step 3 --n 8 --live-endpoint http://localhost:11434/v1
    reenact fork last --code --live
    """  # noqa: D301  \b tells click not to wrap
    from reenact.launch import forking
    from reenact.launch.points import Planned
    from reenact.launch.settings import Settings
    from reenact.tape.reader import read

    asked = _Asked(order=click.get_current_context().meta[__name__], **given)
    run, at = show.place(run)
    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    settings = Settings.of_run(forking.check(recording).cwd)
    if asked.code and (at is not None or asked.order):
        raise UsageError("--code finds by itself where the program does something else: it takes no step, and no edit")
    tail = _tail(settings.tail, asked)
    plan = Planned(_changed(recording, settings), tail) if asked.code else _plan(recording, at, asked, tail)
    _agree(recording, settings, plan, asked)

    tabled = asked.count > 1 or asked.as_json
    keep = _keep(asked)

    def fork(together: Together | None = None) -> Resumed:
        given = plan.point, plan.tail, asked.name
        return forking.fork(recording, store, settings, *given, keep=keep, quiet=tabled, together=together)

    option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
    if tabled:
        _tell_all(recording, plan, asked, settings.prices, fork)
    _tell(recording, fork(None), option, asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What the command line says."""

    order: list[str]
    step: tuple[int, ...]
    responses: tuple[str, ...]
    edits: tuple[bool, ...]
    results: tuple[str, ...]
    contexts: tuple[str, ...]
    model: str
    code: bool
    live: bool
    endpoint: str
    key_env: str
    allow: tuple[str, ...]
    from_tape: tuple[str, ...]
    count: int
    name: str
    keep_files: Path | None
    quiet: bool
    as_json: bool


def _tail(own: Tail, asked: _Asked) -> Tail:
    """What the branch may do, and whom it asks: by the project's settings, and by the command line."""
    from msgspec.structs import replace

    from reenact.launch import altering
    from reenact.launch.tail import key_of

    tail = replace(
        own,
        allow=[*own.allow, *asked.allow],
        from_tape=[*own.from_tape, *asked.from_tape],
        endpoint=asked.endpoint,
        key_env=asked.key_env,
        model=asked.model,
    )
    altering.policy_of(tail, key_of(tail))  # what does not fit is told before anything is started
    return tail


def _plan(recording: Recording, at: int | None, asked: _Asked, tail: Tail) -> Planned:
    """The branch that the options ask for, each of which belongs to the step before it."""
    from reenact.launch.points import Edits, planned

    groups: list[tuple[int | None, list[tuple[str, Any]]]] = [(at, [])]
    values = {name: iter(getattr(asked, name)) for name in _OF_STEPS}
    for name in asked.order:
        value = next(values[name])
        if name != "step":
            groups[-1][1].append((name, value))
        elif groups[0][0] in (None, value) and len(groups) == 1:
            groups[0] = value, groups[0][1]
        else:
            groups.append((value, []))
    edits = []
    for step, given in groups:
        if step is None:
            raise UsageError("say from which step, by --step N or RUN@N; `reenact show` numbers them")
        answers = [_answer(recording, step, name, value) for name, value in given if name in ("responses", "edits")]
        contexts = [_text(value) for name, value in given if name == "contexts"]
        for what, found in (("answers", answers), ("contexts", contexts)):
            if len(found) > 1:
                raise UsageError(f"step {step} has {len(found)} other {what}: say one")
        results = [_result(value) for name, value in given if name == "results"]
        edits.append(Edits(step, next(iter(answers), None), results, next(iter(contexts), None)))
    return planned(recording, edits, tail)


def _answer(recording: Recording, step: int, way: str, file: Any) -> str:
    """What the model is to have said: the content of a file, or what is left in an editor."""
    from reenact.edits import written
    from reenact.launch.points import decided_at

    if way == "responses":
        return _text(file)
    text = click.edit(written(decided_at(recording, step), helping=True), extension=".txt")
    if text is None:
        raise UsageError("nothing was saved in the editor, and nothing was started")
    return text


def _keep(asked: _Asked) -> Callable[[str], Path] | None:
    """Where the files of a branch are kept: in that folder, and of several in one of their own in it."""
    from reenact.launch import keeping

    folder = asked.keep_files
    if folder is None:
        return None
    keeping.check(folder)
    return lambda run: folder / run if asked.count > 1 else folder


def _result(pair: str) -> tuple[str, str]:
    name, equals, file = pair.partition("=")
    if not equals or not name:
        raise UsageError(f"--tool-result {pair}: say which tool and what it gives, by TOOL=FILE")
    return name, _text(file)


def _text(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}): name a file, or - for standard input") from error
    return data.decode("utf-8", "replace")


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


def _agree(recording: Recording, settings: Settings, plan: Planned, asked: _Asked) -> None:
    """Says what is about to happen, and has the user agree to it.

    Raises:
        UsageError: nobody does.
    """
    from reenact.launch import hazards
    from reenact.report import forked
    from reenact.trajectory import trajectory
    from reenact.trajectory.estimate import estimate

    after = plan.point.event if plan.point.event >= 0 else len(recording.events) - 1
    expected = estimate(trajectory(recording), after, settings.prices, asked.model, plan.given).times(asked.count)
    fates = [(label, hazards.fate(label, one, plan.tail)) for label, one in hazards.expected(recording, after)]
    if not asked.quiet or not asked.live:
        told = forked.plan_text(recording.path.stem, plan.point, asked.count, expected, fates)
        click.echo(told, nl=False, err=True)
    if not asked.live and not sys.stdin.isatty():
        raise UsageError(NOT_AGREED)
    if not asked.live and not click.confirm("Go live?", err=True):
        sys.exit(1)


def _tell(recording: Recording, done: Resumed, option: str, asked: _Asked) -> NoReturn:
    from reenact.launch import supervise
    from reenact.report import forked, recorded

    if done.recording is None:
        click.echo(forked.failed_text(recording, done.report), nl=False, err=True)
        sys.exit(1)
    if not asked.quiet:
        click.echo(forked.text(done, str(asked.keep_files or "")), nl=False, err=True)
    size = done.recording.path.stat().st_size
    click.echo(recorded.text(done.recording, size, option, quiet=asked.quiet), nl=False, err=True)
    supervise.die_as(done.status)
    sys.exit(supervise.mirror(done.status))


def _tell_all(recording: Recording, plan: Planned, asked: _Asked, prices: Mapping[str, Price], fork: Fork) -> NoReturn:
    """Makes the branches side by side, and tells what came of each. Signals are handed on to those under way."""
    from concurrent.futures import ThreadPoolExecutor
    from contextlib import nullcontext

    from reenact.cli.screen import Screen
    from reenact.launch import manifest, supervise
    from reenact.launch.together import Together
    from reenact.report import differences, outcomes
    from reenact.report.document import encode

    of_program = not manifest.decode(recording.manifest).entry
    with (
        supervise.side_by_side() as came,
        Together(came) if asked.count > 1 and of_program else nullcontext() as together,
        ThreadPoolExecutor(min(asked.count, _AT_ONCE)) as pool,
    ):
        begun = [pool.submit(lambda: None if came else fork(together)) for _ in range(asked.count)]
        done = [one.result() for one in begun]
    parent = differences.side(recording.path)
    found = [outcomes.outcome(parent, one, prices, plan.tail.model) for one in done]
    if asked.as_json:
        click.echo(encode(found))
    else:
        screen = Screen()
        screen.write(outcomes.text(found, width=screen.width, paint=screen.paint))
    if came:
        sys.exit(128 + came[0])
    sys.exit(any(not one.run for one in found))
