"""An event as one line of what a person reads, and what went wrong in it.

Values only. Times are ns since the run began, sizes are bytes. They are part of the JSON of `reenact show --json`, so
a field may be added and none renamed.
"""

from __future__ import annotations

import msgspec

from reenact.diff.change import Change
from reenact.providers import Usage


class Place(msgspec.Struct, frozen=True):
    """A line of the agent's own source; `function` is `module:function`."""

    function: str
    file: str
    line: int


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong with an event. `status` is HTTP's where the answer was an error.

    `type` is the provider's word for it, or the class of the exception that the agent got.
    """

    event: int
    status: int | None
    type: str
    message: str


class Rerouted(msgspec.Struct, frozen=True):
    """What was sent in the place of a request: its method and URL, and in what its body is another one."""

    name: str
    changes: tuple[Change, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An event as one line. `kind` is "http", "sleep", "stdin" and so on; `name` is the method and URL of HTTP.

    `sent` and `received` count the bodies as on the wire. `ended` is None where the tape holds no end. `model` and
    `usage` are set where a model was asked. `value` is what was read from standard input, up to 1,000 characters.
    `within` is the event of the exchange that this one is a piece of: HTTP over a connection of the program's own.
    `mark` is the number of the innermost agent or step that the program had marked there, `agent` the innermost agent.
    `sent_as` is what a branch sent in the place of the request; `given` says who answered there in the place of the
    world: a "person", the tape of its "parent", or a "refusal".
    """

    event: int
    lane: str
    kind: str
    name: str
    began: int
    ended: int | None
    status: int | None = None
    sent: int = 0
    received: int = 0
    model: str = ""
    usage: Usage | None = None
    value: str = ""
    trouble: Trouble | None = None
    site: Place | None = None
    within: int | None = None
    agent: str = ""
    mark: int | None = None
    sent_as: Rerouted | None = None
    given: str = ""
