"""`reenact state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reenact.cli import options

if TYPE_CHECKING:
    from reenact.debugger.timeline import Timeline
    from reenact.report.since import StateChanges
    from reenact.report.state import StateDocument
    from reenact.tape.recording import Recording
    from reenact.tape.store import Store


class At(NamedTuple):
    """A moment: where the program is about to make an event, which is the first of a step if one was asked for."""

    run: str
    event: int
    step: int | None
    call: str


@click.command()
@click.argument("run")
@click.option(
    "--step", type=int, metavar="N", help="Where it is about to ask the model for step N. RUN@N means the same."
)
@click.option("--event", type=int, metavar="N", help="Where it is about to make event N.")
@click.option("--diff", type=int, metavar="M", help="What has changed since step M; with --event, since event M.")
@click.option("--lane", metavar="LANE", help="One lane only, and not the one that makes the call.")
@click.option("--frame", metavar="F", help="One function only: its number, or its name.")
@click.option("--globals", "modules", is_flag=True, help="The variables of the program's modules, too.")
@click.option("--expand", multiple=True, metavar="EXPR", help="All of one value: messages[3], or any expression.")
@click.option(
    "--all", "everything", is_flag=True, help="Nothing is cut, and what libraries' objects hold is shown, too."
)
@options.as_json
@options.store
def command(run: str, store_dir: str | None, *, as_json: bool, **given: Any) -> None:
    """Show what the functions and variables of a program held at a step of a run.

    The program runs again, offline, up to where it is about to ask the model for that step. There it is looked at, with
    nothing of its own code called for it: what you see is what the recorded run had.

    \b
    reenact state last --step 12
    reenact state support-agent-7f3a@12 --frame triage
    reenact state last --step 12 --expand 'messages[-1]["content"]'
    reenact state last --step 12 --diff 11
    reenact state last --step 12 --json | jq '.lanes[0].frames[] | select(.number == 0) | .variables'

    An expression that is more than the way to a value is evaluated there. What it asks of the outside is refused.
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.rerun import tell_if_from_elsewhere
    from reenact.cli.screen import Screen
    from reenact.debugger.timeline import Timeline
    from reenact.launch import manifest as manifests
    from reenact.launch.settings import Settings
    from reenact.report import since as changes
    from reenact.report.document import encode
    from reenact.report.state import Page, StateDocument

    store = options.open_store(store_dir)
    recording, here, since = _moments(store, run, given["step"], given["event"], given["diff"])
    tell_if_from_elsewhere(recording, store)
    cwd = manifests.decode(recording.manifest).cwd
    with Timeline(recording, Settings.of_run(cwd)) as timeline:
        document = _state(timeline, here, given) if since is None else _changes(timeline, since, here, given)
    if as_json:
        click.echo(encode(document))
        return
    screen = Screen()
    if isinstance(document, StateDocument):
        page = Page(cwd=cwd, width=screen.width, paint=screen.paint, whole=given["everything"])
        screen.write(page.state(document))
    else:
        screen.write(changes.text(document, width=screen.width, paint=screen.paint))


def _moments(
    store: Store, run: str, step: int | None, event: int | None, diff: int | None
) -> tuple[Recording, At, At | None]:
    """The run, the moment of it that is asked for, and the one that it is compared with."""
    from reenact.cli.show import has, place
    from reenact.errors import UsageError
    from reenact.tape.reader import read
    from reenact.tape.whole import whole
    from reenact.trajectory import trajectory

    name, number = place(run)
    step = step if step is not None else number
    if (step is None) == (event is None):
        raise UsageError("say at which moment: --step N or --event N; `reenact show` lists both")
    recording = read(store.resolve(name))
    found, events = trajectory(recording), whole(recording).events

    def at(chosen: int) -> At:
        if event is None and not 1 <= chosen <= len(found.steps):
            raise UsageError(f"there is no step {chosen}: {has(recording, len(found.steps), 'step', 1)}")
        made = found.steps[chosen - 1].attempts[0] if event is None else chosen
        if not 0 <= made < len(events):
            raise UsageError(f"there is no event {made}: {has(recording, len(events), 'event', 0)}")
        run_id = str(recording.summary.get("run_id", recording.path.stem))
        return At(run_id, made, chosen if event is None else None, events[made].name)

    return recording, at(step or 0 if event is None else event), at(diff) if diff is not None else None


def _state(timeline: Timeline, here: At, given: dict[str, Any]) -> StateDocument:
    from msgspec.structs import replace

    from reenact.debugger import look
    from reenact.probe.state import ALL, Limits
    from reenact.report.state import StateDocument

    told = look.go_to(timeline, here.event, here.run)
    limits = replace(ALL if given["everything"] else Limits(), modules=given["modules"])
    state = look.narrowed(look.state_of(timeline, limits), given["lane"], given["frame"])
    return StateDocument(
        run=here.run,
        step=here.step,
        event=here.event,
        call=here.call,
        lane=told.lane,
        moment=told.moment,
        lanes=state.lanes,
        modules=state.modules,
        expanded=look.expanded(timeline, state, given["expand"]) if given["expand"] else (),
    )


def _changes(timeline: Timeline, since: At, here: At, given: dict[str, Any]) -> StateChanges:
    from msgspec.structs import replace

    from reenact.debugger import look
    from reenact.probe.compare import differences
    from reenact.probe.state import ALL
    from reenact.report.since import StateChanges

    limits = replace(ALL, things=False, modules=given["modules"])
    look.go_to(timeline, since.event, since.run)
    before = look.state_of(timeline, limits)
    look.go_to(timeline, here.event, here.run)
    now = look.narrowed(look.state_of(timeline, limits), given["lane"], given["frame"])
    if given["lane"] is not None or given["frame"] is not None:
        before = look.as_narrow(before, now.lanes[0])
    return StateChanges(
        run=here.run,
        step=here.step,
        event=here.event,
        since_step=since.step,
        since=since.event,
        differences=tuple(differences(before, now)),
    )
