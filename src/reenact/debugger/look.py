"""A look at a run: at one of its events, what its functions and variables hold."""

from __future__ import annotations

from msgspec.structs import replace

from reenact.debugger.process import AskError
from reenact.debugger.timeline import Timeline
from reenact.errors import UsageError
from reenact.probe.messages import Call, Stopped
from reenact.probe.state import ALL, Frame, Limits, State, Strand, Variable
from reenact.tape.recording import Recording
from reenact.tape.whole import whole

ELSEWHERE = "event {event} is in a process that {run} started (lane {lane}); only its first process can be looked at"
NOT_REACHED = (
    "the replay never comes to event {event} of {run}: it ends, or asks for something else before; "
    "`reenact verify {run}` says where and why"
)


def call_of(recording: Recording, event: int, run: str) -> Call:
    """An event by its lane, and its number in that.

    Raises:
        UsageError: it is an event of another process of the run.
    """
    if event < len(recording.events):
        lane = recording.events[event].lane
        return lane, next(at for at, one in enumerate(recording.lanes[lane].events) if one.id == event)
    raise UsageError(ELSEWHERE.format(event=event, run=run, lane=whole(recording).events[event].lane))


def go_to(timeline: Timeline, event: int, run: str) -> Stopped:
    """Goes to where the program is about to make an event.

    Raises:
        UsageError: the replay never gets there.
    """
    told = timeline.seek_call(call_of(timeline.recording, event, run))
    if not isinstance(told, Stopped):
        raise UsageError(NOT_REACHED.format(event=event, run=run))
    return told


def state_of(timeline: Timeline, limits: Limits) -> State:
    """What the program's variables hold in the present."""
    return timeline.ask("state", limits, kind=State)


def narrowed(state: State, lane: str | None, frame: str | None) -> State:
    """The state without other lanes than the one that is named, and without other functions: by number or name.

    Raises:
        UsageError: there is none.
    """
    strands = [one for one in state.lanes if lane in (None, one.lane)]
    if not strands:
        raise UsageError(f"there is no lane {lane!r} here; there are {', '.join(one.lane for one in state.lanes)}")
    if lane is None and frame is None:
        return state
    strand = strands[0]
    if frame is not None:
        own = [one for one in strand.frames if not one.library]
        chosen = [one for one in own if frame in (str(one.number), one.function, one.function.rpartition(":")[2])]
        if not chosen:
            names = ", ".join(f"{one.number} ({one.function.rpartition(':')[2]})" for one in own) or "none"
            raise UsageError(f"there is no function {frame!r} of the program's own in lane {strand.lane}; {names}")
        strand = replace(strand, frames=(_alone(chosen[0]),))
    return replace(state, lanes=(strand,))


def as_narrow(state: State, strand: Strand) -> State:
    """The state without other lanes than this one, and other functions than it has: it may have had none of them."""
    names = {one.function for one in strand.frames}
    lanes = [one for one in state.lanes if one.lane == strand.lane]
    kept = [
        replace(one, frames=tuple(_alone(frame) for frame in one.frames if frame.function in names)) for one in lanes
    ]
    return replace(state, lanes=tuple(kept))


def _alone(frame: Frame) -> Frame:
    """The function without what its variables have in common with others."""
    return replace(frame, variables=tuple(replace(one, same_as="") for one in frame.variables))


def expanded(timeline: Timeline, state: State, texts: tuple[str, ...]) -> tuple[Variable, ...]:
    """What expressions give in the innermost function of the program's own in the first lane.

    Raises:
        UsageError: one of them gives nothing.
    """
    strand = state.lanes[0]
    number = next((one.number for one in strand.frames if not one.library), None)
    if number is None:
        raise UsageError(
            f"lane {strand.lane} is in no function of the program's own, in which {texts[0]!r} means something"
        )
    found = []
    for text in texts:
        try:
            found.append(timeline.ask("look", text, number, strand.lane, ALL, kind=Variable))
        except AskError as error:
            raise UsageError(f"{text!r} gives nothing here: {error}") from error
    return tuple(found)
