"""What passes between a debugger and the process that it holds: one question at a time, one answer to each."""

from __future__ import annotations

from typing import Literal

import msgspec

from reenact.engine.divergence import Divergence


class Moment(msgspec.Struct, frozen=True, order=True):
    """A place in the life of a process: so many calls had been begun, and so many lines of its own run since.

    A replay does all in the order of its tape, so that a moment is the same one in every replay of the run. A call is
    one across the boundary (model, tool, file, child, …), of any lane; a line is one that the interpreter comes to in
    the agent's own code, or an exception that comes through a function of it. Where `line` is 0 the agent is about to
    make its call number `event`, counted from 1; (0, 0) is before its first line.
    """

    event: int = 0
    line: int = 0


Call = tuple[str, int]
"""An event by its lane, and its number in that, from 0."""


class Place(msgspec.Struct, frozen=True):
    """A line of source."""

    file: str
    line: int
    function: str


class Break(msgspec.Struct, frozen=True):
    """Where to stop: at a line of a file (its end is enough), or where `function` begins (by any of its names).

    It is stopped at where `condition` holds, if there is one. `number` is what a debugger calls it, `hits` how often it
    was met going forward, and `due` says which of these stop: `3`, `>= 3`, `% 3`, each where it is empty. So it is
    below.
    """

    file: str = ""
    line: int = 0
    condition: str = ""
    function: str = ""
    number: int = 0
    due: str = ""
    hits: int = 0


class At(msgspec.Struct, frozen=True):
    """The same of a call."""

    call: Call
    condition: str = ""
    number: int = 0
    due: str = ""
    hits: int = 0


class Raised(msgspec.Struct, frozen=True):
    """The same of exceptions as they are raised: of the class `name`, or of one made from it, or any.

    `uncaught`: of those that nobody catches, by which the program ends or one of its threads.
    """

    name: str = ""
    condition: str = ""
    uncaught: bool = False
    number: int = 0
    due: str = ""
    hits: int = 0


class Watch(msgspec.Struct, frozen=True):
    """An expression, and the function (`module:qualified.name`) and the lane in which it means something.

    Of the function `module:<module>` it is about what the module holds, whoever runs.
    """

    text: str
    function: str
    lane: str = "0"
    number: int = 0


class Stops(msgspec.Struct, frozen=True):
    """What ends a motion besides its goal. `motion` is that of a debugger's step, from the frame that it is in.

    `calls` are the events at which it ends.
    """

    motion: Literal["", "into", "over", "out"] = ""
    breaks: list[Break] = []
    watches: list[Watch] = []
    calls: list[At] = []
    raised: list[Raised] = []


class Run(msgspec.Struct, frozen=True, tag="run"):
    """Go on, up to `goal` (None: to the end), or to what `stops`. Stops are met after the present moment.

    With `back`, nothing stops before the goal, and the answer tells the last moment before it at which something would
    have. `spacing` (ns of processor time; 0: none) is how far apart checkpoints are left beyond the event `after`.
    """

    goal: Moment | None = None
    stops: Stops = Stops()
    back: bool = False
    spacing: int = 0
    after: int = 0


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """A question about the moment, by its name and with its arguments: see `Answers` of `probe.stop`."""

    name: str
    args: list[msgspec.Raw] = []


class Hit(msgspec.Struct, frozen=True):
    """What stopped a motion, or would have: `why` is `step`, `break`, `watch`, `call`, `raised`, `hold`.

    `numbers` are those of the breakpoints and watches, `place` is the line that made a change. An exception that nobody
    caught stops where that is known, and `moment` is when it was raised.
    """

    why: str
    moment: Moment
    place: Place | None = None
    text: str = ""
    numbers: list[int] = []


class Stopped(msgspec.Struct, frozen=True, tag="stopped"):
    """The process stands still. `hit` is what stopped it, or, going back, the last that would have; None: its goal.

    `call` is what it is about to make, where it stands at one; `passed` are those that it has come to on its way.
    `faults` are the errors of conditions that could not be told, by number: they are taken not to hold. `hits` are how
    often breakpoints have been met by now, of those that were. `diverged` says how the replay has left its tape, if so,
    or that something of reenact's own has failed, so that this may not be what was recorded.
    `obstacle` says why no checkpoint could be left there when one was to be.
    """

    moment: Moment
    lane: str = ""
    place: Place | None = None
    call: Call | None = None
    hit: Hit | None = None
    passed: list[Call] = []
    faults: dict[int, str] = {}
    hits: dict[int, int] = {}
    diverged: str = ""
    obstacle: str = ""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The program has come to its end. `divergences`: where it left its tape. For the rest, as `Stopped`.

    `written` is how many bytes each lane has written, by its path and the number of the stream.
    """

    moment: Moment
    hit: Hit | None = None
    passed: list[Call] = []
    faults: dict[int, str] = {}
    hits: dict[int, int] = {}
    divergences: list[Divergence] = []
    diverged: str = ""
    written: dict[str, dict[int, int]] = {}


class Hold(msgspec.Struct, frozen=True, tag="hold"):
    """To a process that runs: stand still where you are, which is what answers it. One that stands does nothing."""


class Park(msgspec.Struct, frozen=True, tag="park"):
    """To a process that stands: be a checkpoint, if the last is so far away (ns of processor time), and can be.

    What answers it is `Parked`, without a link, or else `Stopped`.
    """

    near: int


class Wake(msgspec.Struct, frozen=True, tag="wake"):
    """To a checkpoint: begin a process here. Its link comes with the message."""


class Parked(msgspec.Struct, frozen=True, tag="parked"):
    """A checkpoint was left: a process that holds the moment. Its link comes with the message, if that is another.

    `spent` is how much processor time (ns) it takes to come there from the beginning of the run.
    """

    moment: Moment
    pid: int
    spent: int


class Going(msgspec.Struct, frozen=True, tag="going"):
    """A process goes on, or begins at a checkpoint; it has this number."""

    pid: int


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The answer to `Ask`; `error` says why there is none. `spoiled`: to find it may have changed the process."""

    value: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
    spoiled: bool = False


Question = Run | Ask | Hold | Park | Wake
Told = Stopped | Ended | Parked | Going | Answer
