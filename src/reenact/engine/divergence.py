"""What a divergence consists of: what was expected, what was asked, where the two differ, and the likely cause.

Values only. All of them go through `msgspec.json` and back unchanged.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from reenact.diff.change import Change


class Request(msgspec.Struct, frozen=True, tag="request"):
    """What the agent asks at an HTTP-like boundary. Header order is kept; `body` is what goes over the wire."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Datum(msgspec.Struct, frozen=True, tag="datum"):
    """What crosses any other boundary; `kind` is "stdout", "stdin", "exit", "sleep", "draw", "tool" and the like."""

    kind: str
    name: str
    data: bytes = b""


class Site(msgspec.Struct, frozen=True):
    """The agent's own source line from which the call came; `source` is the text of that line."""

    file: str
    line: int
    function: str = ""
    source: str = ""


class What(StrEnum):
    """The ways in which a run leaves its tape."""

    MISMATCH = "mismatch"  # a call is made, and the tape holds another one at that place
    EXTRA = "extra"  # a call is made, and the tape holds no more in this lane
    MISSING = "missing"  # the run ends, and the tape holds a call that was not made
    OUTPUT = "output"  # other bytes on stdout or stderr
    EXIT = "exit"  # another exit status, or another exception
    ORDER = "order"  # the calls are those of the tape, in an order that it does not allow
    STUCK = "stuck"  # every lane waits, and none can go on
    SOCKET = "socket"  # a connection was tried that no seam saw
    FILE = "file"  # the run ends, and leaves another file behind
    LOCAL = "local"  # a variable of the agent's holds something else (verify --deep)


class Cause(msgspec.Struct, frozen=True):
    """The likely reason of a divergence. `advice` is sentences, and after a line break perhaps lines of TOML."""

    slug: str
    text: str
    advice: str


class Compared(msgspec.Struct):
    """What a replay has compared of the agent's variables (verify --deep).

    `events` had digests on tape, `values` were compared there. `partly` of these were so in part: they are large, or
    hold what is no plain data. `secret` were left out for their name, and variables of `types` altogether.
    """

    events: int = 0
    values: int = 0
    partly: int = 0
    secret: int = 0
    types: dict[str, int] = {}


class Marked(msgspec.Struct, frozen=True):
    """An "agent" or a "step" of its own that the program has marked, by its name."""

    kind: str
    name: str


class Divergence(msgspec.Struct, frozen=True):
    """The agent asked something other than the tape holds next in that lane.

    `process` is the name of the process that did, empty for the run's own. `event` is what the tape holds there;
    `after`, where it is no event that differs, the one that the lane met before.
    `step` is counted from 1. `marks` are those that the program was in, the outermost first.
    """

    what: What
    lane: str
    event: int | None = None
    step: int | None = None
    site: Site | None = None
    expected: Request | Datum | None = None
    actual: Request | Datum | None = None
    changes: tuple[Change, ...] = ()
    cause: Cause | None = None
    notes: tuple[str, ...] = ()  # further facts, one line each: what each lane waits for, say
    after: int | None = None
    marks: tuple[Marked, ...] = ()
    process: str = ""
