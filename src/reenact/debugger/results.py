"""What a debugger's commands give: values, for people and for programs. Part of the JSON of `reenact debug --json`."""

from __future__ import annotations

import msgspec

from reenact.debugger.course import Told
from reenact.debugger.output import Piece
from reenact.debugger.session import Position, Stop
from reenact.probe.answers import Frame, Strand
from reenact.probe.state import Variable
from reenact.probe.values import Shown


class Wrote(msgspec.Struct, frozen=True, tag="output"):
    """What the program has written; `left_out` is how many characters it wrote before that."""

    pieces: list[Piece] = []
    left_out: int = 0


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """A motion has come to its end. `asked` is the expression whose change it looked for, or came to.

    `wrote` is what the program has written since the stop before, where the motion has gone forward.
    """

    stop: Stop
    asked: str = ""
    wrote: Wrote = Wrote()


class Found(msgspec.Struct, frozen=True, tag="found"):
    """The first step in whose request a text is, and the motion there."""

    text: str
    told: Told | None
    stop: Stop | None = None
    wrote: Wrote = Wrote()


class Stack(msgspec.Struct, frozen=True, tag="stack"):
    """The functions that run in a lane, the innermost first, and which of them is selected; `every`: libraries' too."""

    lane: str
    frames: list[Frame]
    selected: int | None
    every: bool = False


class Value(msgspec.Struct, frozen=True, tag="value"):
    """What an expression gives, in a line."""

    expression: str
    text: str


class Whole(msgspec.Struct, frozen=True, tag="whole"):
    """All that an expression gives."""

    variable: Variable


class Variables(msgspec.Struct, frozen=True, tag="variables"):
    """The variables of a function."""

    function: str
    variables: list[Shown]


class Point(msgspec.Struct, frozen=True):
    """A breakpoint or a watch, in words: `kind` is `line`, `function`, `step`, `tool`, `raise`, `uncaught`, `watch`."""

    number: int
    kind: str
    what: str
    condition: str
    due: str
    enabled: bool
    hits: int
    once: bool


class Points(msgspec.Struct, frozen=True, tag="breakpoints"):
    """Breakpoints and watches; `note` says what there is to be said of a new one."""

    points: list[Point]
    note: str = ""


class Lanes(msgspec.Struct, frozen=True, tag="lanes"):
    """The lanes that there are, and which of them is looked at."""

    lanes: list[Strand]
    selected: str


class Brief(msgspec.Struct, frozen=True):
    """A step in a line: what the model was asked for, and what it decided."""

    number: int
    lane: str
    model: str
    decision: str


class Steps(msgspec.Struct, frozen=True, tag="steps"):
    """The steps of a run, or some of them; `here` is the one where one is."""

    steps: list[Brief]
    here: int
    count: int


class Listing(msgspec.Struct, frozen=True, tag="source"):
    """Lines of source from `first` on. `line` is where one is, `stops` are the lines with breakpoints."""

    file: str
    first: int
    lines: list[str]
    line: int = 0
    stops: list[int] = []


class Info(msgspec.Struct, frozen=True, tag="info"):
    """What a run is, and where one is in it."""

    run: str
    command: str
    steps: int
    events: int
    error: str
    position: Position


class Help(msgspec.Struct, frozen=True, tag="help"):
    """Words for a reader: of one command, or of all."""

    topic: str = ""


class Said(msgspec.Struct, frozen=True, tag="said"):
    """A sentence."""

    text: str


class Over(msgspec.Struct, frozen=True, tag="over"):
    """The debugger is to end."""


Result = (
    Moved
    | Found
    | Wrote
    | Stack
    | Value
    | Whole
    | Variables
    | Points
    | Lanes
    | Steps
    | Listing
    | Info
    | Help
    | Said
    | Over
)
